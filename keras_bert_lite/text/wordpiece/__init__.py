"""WordPiece, as BERT has it: from bytes to ids.

`tokenizer` is the layer. `cleaning` says what takes the place of each character,
`character_map` compiles that for the op, and `training` learns a vocabulary.
"""
