"""How long rows are, in tokens, and how much of them a model reads."""

import dataclasses
import re
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.spec import Spec
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.row_formats import Rows

AROUND = 2  # special tokens in a row, beside those between two texts
CHUNK = 1024  # rows tokenized at once
CHARACTERS = 8  # of a beginning for each token that is read; words have fewer


@dataclasses.dataclass(frozen=True)
class Lengths:
    """The lengths of rows in tokens, special tokens included.

    Args:
        median, highest: Of all rows.
        limit: The tokens in a row of the model.
        cut: The rows that are longer, of which the model reads only the beginning,
            or several windows where its task has them.
    """

    median: int
    highest: int
    limit: int | None
    cut: int


def count_tokens(rows: Rows, spec: Spec, preprocessor: Preprocessor) -> np.ndarray:
    """Returns the number of tokens of each row, `(N,)`."""
    names = spec.text_names
    counts = np.zeros((len(names), len(rows)), int)
    for column, name in zip(counts, names, strict=True):
        texts = [spec.format.as_text(row, name) for row in rows]
        for start in range(0, len(texts), CHUNK):
            part = tf.constant(texts[start : start + CHUNK])
            lengths = preprocessor.tokenizer(part).row_lengths()
            column[start : start + CHUNK] = lengths.numpy()
    prompted = counts if spec.apart else counts[:1]
    for column, name in zip(prompted, spec.prompt_names(preprocessor), strict=False):
        prompt = preprocessor.prompts[name] if name else preprocessor.prompt
        column += _size(prompt, preprocessor)
    if spec.apart or len(counts) == 1:  # each text has a row
        return AROUND + counts.max(0)
    return AROUND + preprocessor.num_separators + counts.sum(0)


def _size(prompt: str, preprocessor: Preprocessor) -> int:
    return int(tf.size(preprocessor.tokenizer(prompt))) if prompt else 0


def limit_for(counts: np.ndarray, most: int | None) -> int:
    """Returns a length that cuts hardly any row, of these and of those to come.

    Rows are padded to the longest of their batch, so that a larger limit costs nothing
    where they are short.
    """
    few = len(counts) < RECIPE.lengths_few
    needed = 2 * counts.max() if few else np.quantile(counts, RECIPE.lengths_cover)
    fitting = [length for length in RECIPE.lengths if length >= needed]
    longest = RECIPE.lengths[-1]
    return min((*fitting, most or longest, longest))


def lengths_of(counts: np.ndarray, limit: int | None) -> Lengths:
    cut = 0 if limit is None else int((counts > limit).sum())
    return Lengths(int(np.median(counts)), int(counts.max()), limit, cut)


def shorten(rows: Rows, spec: Spec, preprocessor: Preprocessor) -> Rows:
    """Replaces long texts by their beginnings, as far as the model reads the same.

    Training tokenizes each row in every pass, which would take long for books. Texts
    that are read in windows remain whole.
    """
    size = CHARACTERS * (preprocessor.sequence_length or 0)
    names = spec.text_names
    if not size or spec.task.windowed:
        return rows
    rows = list(rows)
    long = [
        i
        for i, row in enumerate(rows)
        if all(isinstance(row[x], str) for x in names)
        and spec.format.length(row) > 4 * size
    ]
    for start in range(0, len(long), CHUNK):
        numbers = long[start : start + CHUNK]
        texts = [rows[i] for i in numbers]
        beginnings = [_beginning(row, names, size) for row in texts]
        ids = _ids([*texts, *beginnings], spec, preprocessor)
        same = (ids[: len(texts)] == ids[len(texts) :]).all(1)
        for i, beginning, is_same in zip(numbers, beginnings, same, strict=True):
            if is_same:
                rows[i] = beginning
    return rows


def _beginning(row: Record, names: list[str], size: int) -> Record:
    """Cuts the texts of a row before white space.

    Of two texts the longer one remains the longer, as truncation depends on that.
    """
    longest = max(names, key=lambda name: len(row[name]))
    cut = {}
    for name in names:
        space = re.compile(r"\s").search(row[name], size * (1 + (name == longest)))
        cut[name] = row[name][: space.start() if space else None]
    return {**row, **cut}


def _ids(rows: Rows, spec: Spec, preprocessor: Preprocessor) -> np.ndarray:
    """Returns all token ids that the model reads of each row."""
    if spec.apart:
        inputs: list[Any] = [[row[name] for row in rows] for name in spec.text_names]
    else:
        inputs = [spec.texts(rows)]
    ids = [preprocessor(x)["token_ids"].numpy() for x in inputs]
    return np.concatenate([x.reshape(len(rows), -1) for x in ids], axis=1)
