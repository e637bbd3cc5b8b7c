"""Layers that convert strings to ids with TensorFlow ops."""
