"""A vocabulary from text files."""

import os
from collections.abc import Iterator
from pathlib import Path

from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer
from keras_bert_lite.text.wordpiece.training import train_wordpiece
from keras_bert_lite.training.data.readers.lines import Paths, as_paths, read_lines

FAMILY_OF = "bert_tiny_uncased"  # its files are BERT's, whatever the encoder's size


def write_vocabulary(
    text: Paths,
    directory: str | os.PathLike,
    size: int = 8192,
    cased: bool = False,
    show_progress: bool = True,
) -> int:
    """Learns a WordPiece vocabulary from text files and writes a tokenizer's files.

    See `train_wordpiece`, which returns the pieces and has more options.

    Args:
        text: Text files in UTF-8, `.gz` or `.xz` if compressed.
        directory: Where vocab.txt, tokenizer.json and the other files of a BERT
            tokenizer are written, for `load_tokenizer`, `load_preprocessor` and
            transformers.
        size: The maximum number of pieces.
        cased: Whether case and accents are kept. If not, text is lower-cased and its
            accents are removed.
        show_progress: Whether to draw a progress bar.

    Returns:
        The number of pieces.

    Raises:
        FileNotFoundError: If a text file does not exist.
        ValueError: If there is no text, a line is not UTF-8, or `size` is too small
            for the characters.

    Example:

    >>> with open("fine.txt", "w") as file:
    ...     print("a fine day, a fine night", file=file)
    >>> kbl.pretraining.write_vocabulary("fine.txt", directory="pieces", size=40)
    31
    >>> kbl.load_tokenizer("pieces").tokenize("fine").shape
    TensorShape([1])
    """
    paths, folder = as_paths(text, "text"), Path(directory)
    lines = _Lines(paths)
    pieces = train_wordpiece(
        lines, size, lowercase=not cased, show_progress=show_progress
    )
    tokenizer = WordPieceTokenizer(pieces, lowercase=not cased)
    folder.mkdir(parents=True, exist_ok=True)
    config = EncoderConfig.named(FAMILY_OF, vocabulary_size=len(pieces))
    write_tokenizer(Preprocessor(tokenizer), config, folder)
    return len(pieces)


class _Lines:
    """The lines of text files, which can be read again."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __iter__(self) -> Iterator[str]:
        return (line.text for path in self._paths for line in read_lines(path))

    def __repr__(self) -> str:  # in errors
        return str([str(path) for path in self._paths])
