"""From a model's values to what a client wants to read."""
