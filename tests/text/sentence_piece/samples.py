"""A small SentencePiece vocabulary."""

VOCABULARY = ["<pad>", "<unk>", "[CLS]", "[SEP]", "▁", "▁a", "fin", "e"]
SCORES = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -4.0, -3.0]
