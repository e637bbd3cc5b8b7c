"""From text files to pretraining data, on all cores."""

import collections
import concurrent.futures
import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite.config import check_positive
from keras_bert_lite.text.corpus import Chunk, read_chunks
from keras_bert_lite.text.packing import Preprocessor
from keras_bert_lite.training.data.lines import Paths, as_paths
from keras_bert_lite.training.pretraining.recipe import Recipe
from keras_bert_lite.training.pretraining.rows import make_rows
from keras_bert_lite.training.pretraining.shards import (
    INDEX,
    SETTINGS,
    Shard,
    find_shard,
    read_index,
    write_index,
    write_shard,
    write_text,
)

AHEAD = 2  # chunks that wait for each worker


def write_pretraining_data(
    path: Paths,
    directory: str | os.PathLike,
    preprocessor: Preprocessor,
    workers: int | None = None,
    show_progress: bool = True,
    **recipe: Any,
) -> dict[str, int]:
    """Writes pretraining data: shards of rows, ready for `pretraining_dataset`.

    The text is read as a stream, a chunk at a time; each becomes a shard, which is
    the same for the same text, recipe and seed, whatever the number of workers.
    Called again after an interruption, it goes on behind the shards that are
    whole; called again when all is done, it does nothing.

    Args:
        path: Text files, UTF-8, `.gz` or `.xz` if compressed: a sentence a line
            and a blank line between documents, or, with `sentences="split"`, a
            paragraph a line.
        directory: Where the shards go.
        preprocessor: Its tokenizer, and the `sequence_length` of the rows.
        workers: Processes; `None`: one for each core.
        show_progress: Whether to draw a progress bar, of the text read.
        **recipe: `objective`, `sentences`, `short_share`, `pack`, `repeats`,
            `masking`, `chunk_bytes`, `seed`; see `pretraining.Recipe`.

    Returns:
        The numbers of `shards`, `rows` and `tokens`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an argument is out of its range, `directory` holds data of
            another recipe or other files, or the text is empty or not UTF-8.
        OSError: If a shard cannot be written.

    Example:

    >>> write_pretraining_data("books.txt", "data", preprocessor, seed=1)
    {'shards': 20, 'rows': 158231, 'tokens': 19012348}

    Reference: `create_pretraining_data.py` in google-research/bert.
    """
    paths, directory = as_paths(path), Path(directory)
    made = Recipe(preprocessor, **recipe)
    if workers is not None:
        check_positive("workers", workers)
    _check_settings(directory, paths, made)
    if not (directory / INDEX).is_file():
        shards = _write(paths, directory, made, workers or os.cpu_count() or 1)
        write_index(directory, list(_shown(shards, paths, show_progress)))
    done = read_index(directory)
    return {
        "shards": len(done),
        "rows": sum(shard.rows for shard in done),
        "tokens": sum(shard.tokens for shard in done),
    }


def _check_settings(directory: Path, paths: list[Path], recipe: Recipe) -> None:
    """Writes down what is to be made, or compares it with what was begun."""
    directory.mkdir(parents=True, exist_ok=True)
    files = [{"name": x.name, "bytes": x.stat().st_size} for x in paths]
    text = json.dumps({"files": files, "recipe": json.loads(recipe.to_json())})
    path = directory / SETTINGS
    if not path.is_file():
        write_text(path, text)
        return
    begun, wanted = json.loads(path.read_text(encoding="utf-8")), json.loads(text)
    if begun == wanted:
        return
    if begun["files"] != wanted["files"]:
        other = {"files": begun["files"]}
    else:
        values = begun["recipe"].items()
        other = {k: v for k, v in values if wanted["recipe"].get(k) != v}
        other.pop("preprocessor", None) or other.setdefault("preprocessor", "another")
    raise ValueError(
        "`directory` must be empty, or hold data of the same files and recipe. "
        f"Received: {str(directory)!r}, with {other}"
    )


def _write(
    paths: list[Path], directory: Path, recipe: Recipe, workers: int
) -> Iterator[tuple[Shard, int]]:
    """Writes the shards that are not there; returns all, and the text of each."""
    chunks = enumerate(read_chunks(paths, recipe.chunk_bytes))
    if workers == 1:
        make = _Maker(directory, recipe)
        yield from _in_order(chunks, directory, lambda *chunk: _there(make(*chunk)), 0)
        return
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        workers, context, _begin, (str(directory), recipe.to_json())
    ) as pool:
        submit = lambda *chunk: pool.submit(_work, *chunk)  # noqa: E731
        try:
            yield from _in_order(chunks, directory, submit, AHEAD * workers)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _there(shard: Shard) -> concurrent.futures.Future:
    """A result that need not be waited for."""
    future: concurrent.futures.Future = concurrent.futures.Future()
    future.set_result(shard)
    return future


def _in_order(
    chunks: Iterable[tuple[int, Chunk]],
    directory: Path,
    submit: Callable[[int, Chunk], Any],
    ahead: int,
) -> Iterator[tuple[Shard, int]]:
    """Submits each chunk whose shard is missing, so many of them ahead."""
    waiting: collections.deque = collections.deque()
    for number, chunk in chunks:
        size = sum(len(part.data) for part in chunk)
        found = find_shard(directory, number)
        waiting.append((_there(found) if found else submit(number, chunk), size))
        while len(waiting) > ahead:
            future, size = waiting.popleft()
            yield future.result(), size
    for future, size in waiting:
        yield future.result(), size


class _Maker:
    """Makes the shards of chunks."""

    def __init__(self, directory: Path, recipe: Recipe) -> None:
        self.directory, self.recipe = directory, recipe

    def __call__(self, number: int, chunk: Chunk) -> Shard:
        rows = make_rows(chunk, number, self.recipe)
        return write_shard(self.directory, number, rows.examples, rows.tokens)


_MAKER: list[_Maker] = []  # of a worker's process


def _begin(directory: str, recipe: str) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.set_visible_devices([], "GPU")
    _MAKER.append(_Maker(Path(directory), Recipe.from_json(recipe)))


def _work(number: int, chunk: Chunk) -> Shard:
    return _MAKER[0](number, chunk)


def _shown(
    shards: Iterable[tuple[Shard, int]], paths: list[Path], show: bool
) -> Iterator[Shard]:
    """Draws a progress bar of the text read, in MB."""
    packed = any(path.suffix in (".gz", ".xz") for path in paths)
    total = None if packed else sum(path.stat().st_size for path in paths)
    bar = keras.utils.Progbar(total and total / 1e6, unit_name="MB") if show else None
    read, rows = 0.0, 0
    for shard, size in shards:
        read, rows = read + size / 1e6, rows + shard.rows
        if bar is not None:
            bar.update(read, values=[])
        yield shard
    if not rows:
        raise ValueError(
            f"`path` must hold text. Received: {[str(x) for x in paths]}, without any"
        )
    if bar is not None:
        bar.update(read, finalize=True)
