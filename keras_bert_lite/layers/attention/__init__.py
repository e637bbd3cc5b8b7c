"""Attention, and its positions: rotary, relative, relative biases."""
