"""Writing pretraining data from text files, on all cores."""

import collections
import concurrent.futures
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_bert_lite._files import remove_left_over, write_text
from keras_bert_lite.checks import check_positive
from keras_bert_lite.pretraining.data.chunk_rows import make_rows
from keras_bert_lite.pretraining.data.corpus import Chunk, read_chunks
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.data.shards import (
    SETTINGS,
    SHARD,
    Shard,
    WholeShards,
    is_done,
    marker,
    read_index,
    read_settings,
    write_index,
    write_shard,
)
from keras_bert_lite.text.text_files import identities
from keras_bert_lite.training.progress import text_bar

AHEAD = 2  # chunks per worker that are read ahead


def write_shards(
    paths: list[Path],
    directory: Path,
    recipe: Recipe,
    workers: int | None = None,
    show_progress: bool = True,
) -> dict[str, int]:
    """Writes the shards of text files; see `kbl.pretraining.write_pretraining_data`.

    Args:
        paths: The text files.
        directory: Where the shards are written.
        recipe: What, with the text, determines each byte of the shards.
        workers: Number of threads; `None`: one per core.
        show_progress: Whether to show a progress bar.

    Returns:
        The counts of `shards`, `rows` and `tokens`.
    """
    if workers is not None:
        check_positive("workers", workers)
    is_new = not directory.exists()
    source = check_settings(directory, paths, recipe)
    remove_left_over(directory)
    if not is_done(directory, source):
        workers = workers or os.cpu_count() or 1
        shards = _write(paths, directory, recipe, source, workers)
        made = list(_shown(shards, paths, show_progress))
        try:
            check_some_rows(made, paths)
        except ValueError:  # other text may be written there
            for name in names_of_empty(made):
                (directory / name).unlink(missing_ok=True)
            if is_new:
                directory.rmdir()
            raise
        write_index(directory, made)
    return totals(read_index(directory))


def totals(shards: Sequence[Shard]) -> dict[str, int]:
    """Returns the total counts of shards, rows and tokens."""
    return {
        "shards": len(shards),
        "rows": sum(shard.rows for shard in shards),
        "tokens": sum(shard.tokens for shard in shards),
    }


def names_of_empty(shards: Sequence[Shard]) -> list[str]:
    """Returns the names of all files of data without rows."""
    names = [x for shard in shards for x in (shard.name, marker(shard.name))]
    return [*names, SETTINGS]


def check_some_rows(shards: Sequence[Shard], paths: Sequence[Path]) -> None:
    """Raises a `ValueError` if the text gave no rows."""
    if not any(shard.rows for shard in shards):
        raise ValueError(
            f"`text` must hold text. Received: {[str(x) for x in paths]}, without any"
        )


def check_settings(directory: Path, paths: list[Path], recipe: Recipe) -> str:
    """Writes the settings, or compares them with those of existing data.

    Returns:
        A digest of the text and the recipe, which identifies their shards.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = identities(paths)
    wanted = {"files": files, "recipe": json.loads(recipe.to_json())}
    text = json.dumps(wanted, sort_keys=True)
    source = hashlib.sha256(text.encode()).hexdigest()
    path = directory / SETTINGS
    if not path.is_file() or not any(directory.glob(f"*{SHARD}")):
        write_text(path, text)  # nothing would be lost
        return source
    begun = read_settings(directory)
    if begun == wanted:
        return source
    if begun["files"] != files:
        missing = [x for x in begun["files"] if x not in files]
        other: dict[str, Any] = {"files": missing or begun["files"]}
    else:
        values = begun["recipe"].items()
        other = {k: v for k, v in values if wanted["recipe"].get(k) != v}
        if "preprocessor" in other:
            other["preprocessor"] = "another"  # it holds the vocabulary
    raise ValueError(
        "`directory` must be empty, or hold data of the same files and recipe. "
        f"Received: {str(directory)!r}, with {other}"
    )


def make_shard(
    directory: Path, recipe: Recipe, source: str, number: int, chunk: Chunk
) -> Shard:
    """Makes the rows of a chunk and writes them."""
    rows = make_rows(chunk, number, recipe)
    return write_shard(directory, number, rows.examples, rows.tokens, source)


def _write(
    paths: list[Path], directory: Path, recipe: Recipe, source: str, workers: int
) -> Iterator[tuple[Shard, int]]:
    """Writes missing shards; yields all shards with the size of their text."""
    waiting: collections.deque = collections.deque()

    find = WholeShards(directory, source)

    def make(number: int, chunk: Chunk) -> Shard:
        return find(number) or make_shard(directory, recipe, source, number, chunk)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        try:
            for number, chunk in enumerate(read_chunks(paths, recipe.chunk_bytes)):
                size = sum(len(part.data) for part in chunk)
                waiting.append((pool.submit(make, number, chunk), size))
                if len(waiting) > AHEAD * workers:
                    yield _first(waiting)
            while waiting:
                yield _first(waiting)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _first(waiting: collections.deque) -> tuple[Shard, int]:
    """Waits for the oldest pending shard; returns it and the size of its text."""
    future, size = waiting.popleft()
    return future.result(), size


def _shown(
    shards: Iterable[tuple[Shard, int]], paths: list[Path], show: bool
) -> Iterator[Shard]:
    """Shows a progress bar of the text processed, in kB."""
    bar = text_bar(paths) if show else None
    read = 0.0
    for shard, size in shards:
        read += size / 1e3
        if bar is not None:
            bar.update(read, values=[])
        yield shard
    if bar is not None:
        bar.update(read, finalize=True)
