"""Byte-level BPE, as in RoBERTa: from bytes to ids.

`tokenizer` has the layer; `BytePairModel.split` (`model`) does its work:
`WordFinder` (`words`) finds the words of a text and looks each up in the vocabulary,
and `Merger.split` (`merger`) splits the words that are not one piece: SentencePiece's
BPE op merges their bytes and returns the pieces' ids.

The other modules support these: `merges` and `vocabulary` (the files), `byte_level`
(bytes as the printable characters that vocabularies are written in), `alphabet` (the
pattern of words), `special_tokens`, and `spans` (offsets).
"""
