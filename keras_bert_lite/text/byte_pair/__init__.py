"""Byte-level BPE, as in RoBERTa, ModernBERT and EuroBERT: from bytes to ids.

`tokenizer` has the layer; `BytePairModel.split` (`model`) does its work:
`WordFinder` (`words`) finds the words of a text and looks each up in the vocabulary,
and `Merger.split` (`merger`) splits the words that are not one piece: SentencePiece's
BPE op merges their bytes and returns the pieces' ids.

The other modules support these: `merges` and `vocabulary` (the files), `byte_level`
(bytes as the printable characters that vocabularies are written in), `patterns` (of
words) and `alphabet` (what they are written in), `token_finder` (added and special
tokens, cut out before), and `spans` (offsets).
"""
