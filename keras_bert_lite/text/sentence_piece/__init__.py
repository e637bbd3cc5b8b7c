"""SentencePiece as in ALBERT, XLM-R and DeBERTa: from bytes to ids.

`tokenizer` is the layer. Most strings are normalized by `paths`, the others by
`text/normalization`, which keeps each character's origin. `words` cuts text into words,
and `kernel` (the op of a `kernel_model`) splits these into pieces.
"""
