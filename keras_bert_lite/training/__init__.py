"""Data, losses, metrics, optimizers and evaluation: what training needs."""
