"""WordPiece as in BERT: from bytes to ids.

`WordPieceTokenizer` (`tokenizer`) is the layer; tensorflow-text's `FastWordpiece`
op turns cleaned text into ids. `cleaning` defines the replacement of each character,
`character_map` compiles them for the op, and `training` learns a vocabulary.
"""
