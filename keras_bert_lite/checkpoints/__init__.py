"""Loading and saving checkpoints."""
