"""Pretraining data from text files."""

import os
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.load import load_preprocessor
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.data.write import write_shards
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.readers.lines import Paths, as_paths

SEQUENCE_LENGTH = 128


def write_pretraining_data(
    text: Paths,
    directory: str | os.PathLike,
    preprocessor: Preprocessor | str | os.PathLike,
    workers: int | None = None,
    show_progress: bool = True,
    *,
    sequence_length: int | None = None,
    objective: str = "next_sentence",
    sentences: str = "lines",
    short_share: float = 0.1,
    pack: bool = False,
    repeats: int = 1,
    masking: dict[str, Any] | None = None,
    chunk_bytes: int = 4 << 20,
    seed: int = 0,
) -> dict[str, int]:
    """Writes pretraining data: shards of rows for `pretraining_dataset`.

    The text is streamed in chunks, and each chunk becomes a shard. The shards
    depend only on the text, the recipe and the seed, not on the number of workers.
    Called again after an interruption, it writes only the shards that are missing
    or corrupt. When the data are complete, it only verifies the shards and the
    content of the text files.

    Pairs longer than a row are truncated, as in Google's tool. Much text is lost if
    sentences are about as long as a row or longer. `objective="none"` loses none.

    Args:
        text: Text files in UTF-8, `.gz` or `.xz` if compressed. They have one
            sentence per line and a blank line between documents; with
            `sentences="split"`, one paragraph per line.
        directory: Where the shards are written.
        preprocessor: Gives the tokenizer, the row length and the format of pairs; a
            `Preprocessor`, or a checkpoint or directory that has one's files.
        workers: Number of threads; `None`: one per core. Most of the work is in
            TensorFlow ops, which run in parallel.
        show_progress: Whether to show a progress bar.
        sequence_length: The length of rows (S). `None`: the preprocessor's own, or 128
            if the preprocessor is loaded.
        objective: The objective in addition to masked language modeling: BERT's
            `"next_sentence"`, ALBERT's `"sentence_order"`, or `"none"`
            (RoBERTa's full sentences).
        sentences: `"lines"`: each line is a sentence; `"split"`: each line is a
            paragraph, which is split into sentences.
        short_share: Share of the rows whose target length is random.
        pack: Whether rows hold segments of several documents, which do not
            attend to each other; only for the objective `"none"`. Sentences are
            cut where a row is full, which leaves very little padding.
        repeats: How often each document is used, in different rows each time.
        masking: The options of `Masking` that mask tokens once, for all epochs;
            `None`: `pretraining_dataset` masks them anew in each epoch.
        chunk_bytes: The minimum size of a shard's text.
        seed: Seed for all random choices.

    Returns:
        The counts of `shards`, `rows` and `tokens`.

    Raises:
        FileNotFoundError: If a text file does not exist.
        ValueError: If an argument is out of range, `directory` holds data of
            another recipe or text or damaged settings, or the text is empty or not
            UTF-8.
        OSError: If a shard cannot be written.

    Example:

    >>> with open("books.txt", "w") as file:
    ...     print("It rains.\\nIt pours.\\n\\nA fine day.\\nLovely.", file=file)
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> done = kbl.pretraining.write_pretraining_data(
    ...     "books.txt", "data", preprocessor, seed=1, show_progress=False
    ... )
    >>> sorted(done)
    ['rows', 'shards', 'tokens']

    Reference: `create_pretraining_data.py` in google-research/bert.
    """
    paths = as_paths(text, "text")
    recipe = Recipe(
        _of_length(preprocessor, sequence_length),
        objective=objective,
        sentences=sentences,
        short_share=short_share,
        pack=pack,
        repeats=repeats,
        masking=masking,
        chunk_bytes=chunk_bytes,
        seed=seed,
    )
    return write_shards(paths, Path(directory), recipe, workers, show_progress)


def _of_length(
    preprocessor: Preprocessor | str | os.PathLike, length: int | None
) -> Preprocessor:
    if isinstance(preprocessor, str | os.PathLike):
        length = SEQUENCE_LENGTH if length is None else length
        return load_preprocessor(preprocessor, sequence_length=length)
    if length is None:
        return preprocessor
    config = {**preprocessor.get_config(), "sequence_length": length}
    return Preprocessor.from_config(config)
