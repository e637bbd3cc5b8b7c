"""Byte-level BPE, as RoBERTa has it: from bytes to ids.

`tokenizer` is the layer. A string goes through `words` (cut at the reference's
pattern), `byte_level` (bytes as printable characters), `merger` (the op that merges
them) and `vocabulary`; `spans` finds where each token stands.
"""
