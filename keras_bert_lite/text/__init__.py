"""Layers that turn strings into ids, on TensorFlow ops."""
