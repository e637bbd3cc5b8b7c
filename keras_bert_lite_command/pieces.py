"""The pieces of a text, for `keras-bert-lite tokenize`."""


def tokenize(source: str, text: str) -> list[tuple[str, int, int, int]]:
    """Shows the pieces of a text, their ids and where they are.

    Args:
        source: A checkpoint or a folder with a tokenizer.
        text: The text.

    Returns:
        The piece, its id, and where it begins and ends in the text, for each piece.
    """
    import keras_bert_lite as kbl

    tokenizer = kbl.load_tokenizer(source)
    pieces = tokenizer.get_vocabulary()
    ids, starts, ends = (x.numpy() for x in tokenizer.tokenize_with_offsets(text))
    return [(pieces[i], i, a, b) for i, a, b in zip(ids, starts, ends, strict=True)]
