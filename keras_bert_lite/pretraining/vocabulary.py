"""A vocabulary from text files."""

import os
from collections.abc import Iterator
from pathlib import Path

import keras

from keras_bert_lite._files import check_replaceable, replaced_directory
from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer
from keras_bert_lite.checkpoints.tokenizers.tokenizer_config import (
    CONFIG,
    SPECIAL_TOKENS_MAP,
)
from keras_bert_lite.checkpoints.tokenizers.wordpiece import JSON, VOCABULARY
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer
from keras_bert_lite.text.wordpiece.training import train_wordpiece
from keras_bert_lite.training.data.readers.lines import Paths, as_paths, read_lines
from keras_bert_lite.training.progress import text_bar

READINGS = 2  # the first, of `train_wordpiece`, finds the characters
OFTEN = 1000  # lines between updates of the bar
FILES = (VOCABULARY, JSON, CONFIG, SPECIAL_TOKENS_MAP)
FAMILY_OF = "bert_tiny_uncased"  # its files are BERT's, whatever the encoder's size


def write_vocabulary(
    text: Paths,
    directory: str | os.PathLike,
    size: int = 8192,
    cased: bool = False,
    show_progress: bool = True,
) -> int:
    """Learns a WordPiece vocabulary from text files and writes a tokenizer's files.

    See `train_wordpiece`, which returns the pieces and has more options. Words of more
    than 100 characters, which the tokenizer reads as unknown, are left out.

    Args:
        text: Text files in UTF-8, `.gz` or `.xz` if compressed.
        directory: Where vocab.txt, tokenizer.json and the other files of a BERT
            tokenizer are written, all of them or none, for `load_tokenizer`,
            `load_preprocessor` and transformers. An older tokenizer is replaced.
        size: The maximum number of pieces.
        cased: Whether case and accents are kept. If not, text is lower-cased and its
            accents are removed.
        show_progress: Whether to draw a progress bar.

    Returns:
        The number of pieces.

    Raises:
        FileNotFoundError: If a text file does not exist.
        ValueError: If `directory` is a file or holds other files, there is no text, a
            line is not UTF-8, or `size` is too small for the characters.

    Warns:
        UserWarning: If words were left out.

    Example:

    >>> with open("fine.txt", "w") as file:
    ...     print("a fine day, a fine night", file=file)
    >>> kbl.pretraining.write_vocabulary("fine.txt", "pieces", 40, show_progress=False)
    27
    >>> kbl.load_tokenizer("pieces").id_to_token(0)
    '[PAD]'
    """
    paths, folder = as_paths(text, "text"), Path(directory)
    check_replaceable(folder, VOCABULARY, FILES)
    lines = _Lines(paths, text_bar(paths, READINGS) if show_progress else None)
    pieces = train_wordpiece(lines, size, lowercase=not cased, show_progress=False)
    lines.end()
    tokenizer = WordPieceTokenizer(pieces, lowercase=not cased)
    config = EncoderConfig.named(FAMILY_OF, vocabulary_size=len(pieces))
    with replaced_directory(folder, VOCABULARY, FILES) as draft:
        write_tokenizer(Preprocessor(tokenizer), config, draft)
    return len(pieces)


class _Lines:
    """The lines of text files, which can be read again; draws a bar."""

    def __init__(self, paths: list[Path], bar: keras.utils.Progbar | None) -> None:
        self._paths, self._bar, self._bytes = paths, bar, 0

    def __iter__(self) -> Iterator[str]:
        for path in self._paths:
            for line in read_lines(path):
                self._bytes += len(line.text.encode()) + 1
                if self._bar is not None and line.number % OFTEN == 0:
                    self._bar.update(self._bytes / 1e3, finalize=False)
                yield line.text

    def end(self) -> None:
        if self._bar is not None:
            self._bar.update(self._bytes / 1e3, finalize=True)

    def __repr__(self) -> str:  # in errors
        return str([str(path) for path in self._paths])
