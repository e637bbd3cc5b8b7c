"""What every format of checkpoints shares: names, tensors, sizes, assignment."""
