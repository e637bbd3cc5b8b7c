"""Layouts of a batch during execution: padded, packed, or without padding.

Only this folder uses TensorFlow ops; all other layers use `keras.ops` alone.
"""
