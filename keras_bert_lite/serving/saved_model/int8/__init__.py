"""SavedModels whose encoder multiplies in int8.

`encoder.py` makes another encoder out of the same parts: `calibration.py` records the
ranges that dense layers read on calibration texts, `block.py` is the int8 form of a
block, `product.py` the operation that its dense layers become, and `parts.py` computes
parts of the rows in parallel. A projection before the blocks stays in float32, and the
tables of the embeddings are stored in int8.
"""
