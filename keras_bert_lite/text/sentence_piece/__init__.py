"""SentencePiece, as ALBERT, XLM-R and DeBERTa have it: from bytes to ids.

`tokenizer` is the layer. A string goes through `normalizer` (its rules are `steps`)
and `kernel` (the op, which holds its `kernel_model`); `clusters` and `paths` find where each
token stands in the original.
"""
