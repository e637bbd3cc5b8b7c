"""How a batch lies in memory while it is computed: padded, packed or without padding.

The layers of this folder use TensorFlow ops where Keras has none; all others are
written on `keras.ops` alone.
"""
