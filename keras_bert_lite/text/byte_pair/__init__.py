"""Byte-level BPE as in RoBERTa: from bytes to ids.

`tokenizer` is the layer. `words` cuts a string by the reference's pattern and looks
its words up; `merger` builds the others from bytes, in an op. `byte_level` writes
bytes as printable characters, `vocabulary` reads files, and `spans` finds the
position of each token.
"""
