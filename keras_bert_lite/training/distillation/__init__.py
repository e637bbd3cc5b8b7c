"""Training a small encoder to give the vectors of a larger one."""
