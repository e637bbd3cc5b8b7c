"""WordPiece as in BERT: from bytes to ids.

`tokenizer` is the layer. `cleaning` defines the replacement of each character,
`character_map` compiles them for the op, and `training` learns a vocabulary.
"""
