"""Training of WordPiece vocabularies."""

import io
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_bert_lite.checks import check_installed, check_positive
from keras_bert_lite.text.text_files import opened
from keras_bert_lite.text.wordpiece.tokenizer import MOST_BYTES

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Characters that end a word whatever the options: some white space, and punctuation.
ENDS = r"\t\n\r !-/:-@\[-`{-~"
IDEOGRAPHS = "\u4e00-\u9fff"  # words of their own with `split_cjk`
DECOMPOSED = 4  # the most characters that normalization makes of one


def train_wordpiece(
    texts: Any,
    vocabulary_size: int,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    split_cjk: bool = True,
    num_unused: int = 0,
    min_frequency: int = 2,
    special_tokens: Sequence[str] = SPECIAL_TOKENS,
    show_progress: bool = True,
    max_characters_per_word: int = 100,
) -> list[str]:
    """Learns a WordPiece vocabulary from text.

    Uses the trainer of Hugging Face's `tokenizers`. Text is cleaned and split as
    in `WordPieceTokenizer` with the same options.

    Args:
        texts: Paths of UTF-8 text files (`pathlib.Path`s, `.gz` or `.xz` if
            compressed), an iterable of strings, or a `tf.data.Dataset` of strings,
            batched or not. The texts are read twice; an iterator is first copied
            to memory.
        vocabulary_size: The maximum number of pieces, including special and
            unused tokens.
        lowercase, strip_accents, split_cjk: See `WordPieceTokenizer`.
        num_unused: How many tokens `[unused0]`, `[unused1]`, ... to put after the
            special tokens, for later additions.
        min_frequency: How often a pair of pieces must occur to be merged.
        special_tokens: The first pieces.
        show_progress: Whether to draw a progress bar.
        max_characters_per_word: See `WordPieceTokenizer`, which reads longer words as
            unknown. They are left out.

    Returns:
        The pieces in the order of their ids. The result is deterministic.

    Raises:
        ImportError: If tokenizers is not installed.
        ValueError: If `texts` has no text, `vocabulary_size` is too small for the
            special tokens and the characters, or `max_characters_per_word` is not
            positive.

    Warns:
        UserWarning: If words were left out.

    Reference: `tokenizers.trainers.WordPieceTrainer`.
    """
    check_installed("tokenizers", extra="vocabulary")
    import tokenizers  # imported only when used

    check_positive("max_characters_per_word", max_characters_per_word)
    reserved = [*special_tokens, *(f"[unused{i}]" for i in range(num_unused))]
    if isinstance(texts, Iterator):
        texts = list(texts)

    normalizer = tokenizers.normalizers.BertNormalizer(
        handle_chinese_chars=split_cjk,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    splitter = tokenizers.pre_tokenizers.BertPreTokenizer()
    words = _ShortWords(normalizer, splitter, max_characters_per_word, split_cjk)

    def train(first: list[str], size: int, progress: bool) -> list[str]:
        model = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
        model.normalizer, model.pre_tokenizer = normalizer, splitter
        trainer = tokenizers.trainers.WordPieceTrainer(
            vocab_size=size,
            min_frequency=min_frequency,
            special_tokens=first,
            show_progress=progress,
        )
        model.train_from_iterator(words.of(_strings(texts)), trainer)
        ids = model.get_vocab()
        return sorted(ids, key=ids.__getitem__)

    # The trainer numbers the characters in random order, and its result depends
    # on it. The first round finds the characters; the second gets them sorted.
    characters = sorted(set(train(reserved, len(reserved), False)) - set(reserved))
    if words.left_out:
        warnings.warn(
            f"Words of more than {max_characters_per_word} characters, which a "
            f"tokenizer reads as unknown, were left out: {words.left_out}",
            stacklevel=2,
        )
    if not characters:
        raise ValueError(f"`texts` must hold some text. Received: {texts!r}")
    needed = len(reserved) + len(characters)
    if vocabulary_size < needed:
        raise ValueError(
            f"`vocabulary_size` must be at least {needed}: the special and unused "
            f"tokens and every character of the texts. Received: {vocabulary_size}"
        )
    pieces = train([*reserved, *characters], vocabulary_size, show_progress)
    return [x for x in pieces if len(x.removeprefix("##").encode()) <= MOST_BYTES]


class _ShortWords:
    """Texts without the words that are longer than a tokenizer reads.

    The trainer's time grows with the square of a word's length.

    Attributes:
        left_out: How many words of the last texts were too long.
    """

    def __init__(
        self, normalizer: Any, splitter: Any, max_characters: int, split_cjk: bool
    ) -> None:
        # Not those of the tokenizer in training, which is locked meanwhile.
        self._normalizer, self._splitter = normalizer, splitter
        self._max_characters, self.left_out = max_characters, 0
        ends = ENDS + IDEOGRAPHS * split_cjk
        # Only a text with such a run can have a word that is too long.
        self._run = re.compile(f"[^{ends}]{{{max_characters // DECOMPOSED + 1},}}")

    def of(self, texts: Iterable[str]) -> Iterator[str]:
        self.left_out = 0
        for text in texts:
            yield self._shortened(text) if self._run.search(text) else text

    def _shortened(self, text: str) -> str:
        normal = self._normalizer.normalize_str(text)
        words = [word for word, _ in self._splitter.pre_tokenize_str(normal)]
        short = [word for word in words if len(word) <= self._max_characters]
        self.left_out += len(words) - len(short)
        return text if len(short) == len(words) else " ".join(short)


def _strings(texts: Any) -> Iterator[str]:
    if isinstance(texts, (str, bytes)):
        raise TypeError(
            "`texts` must be paths, an iterable of strings or a dataset. "
            f"Received: a single {type(texts).__name__}"
        )
    items: Iterable = [texts] if isinstance(texts, os.PathLike) else texts
    if hasattr(items, "as_numpy_iterator"):
        items = items.as_numpy_iterator()
    for item in items:
        if isinstance(item, os.PathLike):
            with io.TextIOWrapper(opened(Path(item)), encoding="utf-8") as file:
                yield from file
        else:
            yield from _flat(item)


def _flat(item: Any) -> Iterator[str]:
    if isinstance(item, bytes):
        yield item.decode("utf-8", "ignore")
    elif isinstance(item, str):
        yield item
    elif hasattr(item, "reshape"):
        for element in item.reshape(-1):
            yield from _flat(element)
    else:
        raise TypeError(f"`texts` must hold strings. Received: {item!r}")
