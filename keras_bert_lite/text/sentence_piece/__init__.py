"""SentencePiece as in ALBERT, XLM-R and DeBERTa: from bytes to ids.

`tokenizer` is the layer. Most strings are normalized by `paths`, the others by
`normalizer` and `clusters`, which keep each character's origin; `steps` has the rules.
`words` cuts text into words, and `kernel` (the op of a `kernel_model`) splits these
into pieces.
"""
