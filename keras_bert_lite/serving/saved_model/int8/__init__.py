"""SavedModels whose encoder multiplies in int8.

`calibration.py` sees what an encoder's dense layers read on calibration texts,
`dense_layers.py` replaces them while the signatures are traced, `product.py` is the
operation that they become, and `parts.py` computes parts of the rows at once.
"""
