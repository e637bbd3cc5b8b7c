"""Layouts of a batch during execution: padded, packed, or without padding.

A layout knows where the tokens of a batch are. It gives attention their masks and
positions, and calls the function that computes attention on whole rows, on groups of
rows of similar length, or on blocks. Layouts know nothing of layers and weights.

Each has the `mask` of the batch, the `lengths` of its groups of rows and their
`rotations`, and `without_padding`, `with_padding` and `attend`. Layouts of padded
rows also have `whole` and `join`, for attention weights; `PaddedRows` alone knows
packed sequences.
"""
