"""Training a small encoder to reproduce the vectors of a larger one."""
