"""Data, losses, metrics, optimizers and evaluation for training."""
