"""WordPiece as in BERT: from bytes to ids.

`WordPieceTokenizer` (`tokenizer`) is the layer. In its `_tokenize`, tensorflow-text's
`FastBertNormalizer` cleans a text and its `FastWordpieceTokenizer` returns the ids.
`cleaning` defines the replacement of each character, `character_map` compiles them for
the normalizer, and `training` learns a vocabulary.
"""
