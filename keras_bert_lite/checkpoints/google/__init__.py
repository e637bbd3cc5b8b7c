"""Google's TF1 checkpoints."""
