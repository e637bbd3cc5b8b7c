"""Builders of functional Keras models."""
