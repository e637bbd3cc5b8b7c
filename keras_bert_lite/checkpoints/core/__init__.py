"""Code that all checkpoint formats share: names, tensors, sizes, assignment."""
