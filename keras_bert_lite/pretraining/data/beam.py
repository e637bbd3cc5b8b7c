"""Writing pretraining data with an Apache Beam pipeline (extra `beam`)."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam

from keras_bert_lite import _beam_files as files
from keras_bert_lite._files import remove_left_over
from keras_bert_lite.pretraining.data.corpus import Chunk, read_chunks
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.data.shards import (
    INDEX,
    SETTINGS,
    SHARD,
    Shard,
    WholeShards,
    marker,
    shard_name,
    write_index,
)
from keras_bert_lite.pretraining.data.write import (
    check_settings,
    check_some_rows,
    make_shard,
    names_of_empty,
    totals,
)
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.readers.lines import Paths, as_paths


class WritePretrainingData(beam.PTransform):
    """`write_pretraining_data` as a transform for any Beam runner.

    It writes the same shards, byte for byte. One worker reads the text in chunks
    of about `chunk_bytes`. Tokenization, which is nearly all of the work, is spread
    over all workers. A pipeline that is run again reuses the intact shards.

    Args:
        text, preprocessor, **recipe: See `write_pretraining_data`.
        directory: Where the shards are written. All workers must see it and the
            text under the same paths: on a shared file system, or on an object
            store. Paths with a scheme, such as `gs://bucket/data`, are read and
            written by Beam's file systems (`apache-beam[gcp]`, `[aws]`, `[azure]`).
            Training reads local paths, so copy the data to where it runs.

    Returns:
        A collection with one dictionary: the counts of `shards`, `rows`, `tokens`.

    Raises:
        ValueError: See `write_pretraining_data`.

    Example:

    >>> with beam.Pipeline(options=options) as pipeline:
    ...     pipeline | WritePretrainingData(paths, "data", preprocessor)
    """

    def __init__(
        self,
        text: Paths,
        directory: str | os.PathLike,
        preprocessor: Preprocessor,
        **recipe: Any,
    ) -> None:
        super().__init__()
        self._texts, self._directory = _texts(text), os.fspath(directory)
        self._recipe = Recipe(preprocessor, **recipe)

    def expand(self, begin: beam.Pipeline) -> beam.PCollection:
        source = _begin(self._directory, self._texts, self._recipe)
        make = _MakeShard(self._directory, self._recipe.to_json(), source)
        size = self._recipe.chunk_bytes
        return (
            begin
            | "Files" >> beam.Create([[str(path) for path in self._texts]])
            | "Chunks" >> beam.FlatMap(_numbered_chunks, size)
            | "Spread" >> beam.Reshuffle()
            | "Shards" >> beam.ParDo(make)
            | "All" >> beam.combiners.ToList()
            | "Index" >> beam.Map(_finish, self._directory, self._texts)
        )


class _MakeShard(beam.DoFn):
    """Writes the shard of a chunk unless it exists and is intact."""

    def __init__(self, directory: str, recipe: str, source: str) -> None:
        self._directory, self._json, self._source = directory, recipe, source

    def setup(self) -> None:
        self._recipe = Recipe.from_json(self._json)
        with files.working_folder(self._directory, [INDEX]) as folder:
            self._find = WholeShards(folder, self._source)

    def process(self, element: tuple[int, Chunk]) -> Iterator[tuple[int, Shard]]:
        number, chunk = element
        names = [shard_name(number), marker(shard_name(number))]
        with files.working_folder(self._directory, names) as folder:
            self._find.directory = folder
            made = self._find(number) or make_shard(
                folder, self._recipe, self._source, number, chunk
            )
        yield number, made


def _texts(text: Paths) -> list[Any]:
    """Returns the files of text, local or remote, which must exist."""
    several = [text] if isinstance(text, (str, os.PathLike)) else text
    if not isinstance(several, Iterable):
        return as_paths(text, "text")  # says what is wrong
    return [y for x in several for y in _text(x)]


def _text(path: Any) -> list[Any]:
    if not isinstance(path, (str, os.PathLike)) or not files.is_remote(path):
        return as_paths([path], "text")
    remote = files.RemoteFile(os.fspath(path))
    if not remote.is_file():
        raise FileNotFoundError(f"`text` must be a file. Received: {remote.path!r}")
    return [remote]


def _begin(directory: str, texts: list[Any], recipe: Recipe) -> str:
    """Checks or writes the settings; returns the digest of text and recipe."""
    names = [SETTINGS]
    if files.is_remote(directory):
        # Shards make the settings of another recipe worth keeping.
        names += [x for x in files.files_under(directory) if x.endswith(SHARD)][:1]
    with files.working_folder(directory, names) as folder:
        source = check_settings(folder, texts, recipe)
        remove_left_over(folder)
    return source


def _numbered_chunks(texts: list[str], size: int) -> Iterable[tuple[int, Chunk]]:
    return enumerate(read_chunks(_texts(texts), size))


def _finish(
    shards: list[tuple[int, Shard]], directory: str, texts: list[Any]
) -> dict[str, int]:
    ordered = [shard for _, shard in sorted(shards)]
    try:
        check_some_rows(ordered, texts)
    except ValueError:  # other text may be written there
        names = names_of_empty(ordered)
        if files.is_remote(directory):
            files.delete(directory, names)
        else:
            for name in names:
                (Path(directory) / name).unlink(missing_ok=True)
        raise
    with files.working_folder(directory, [INDEX]) as folder:
        write_index(folder, ordered)
    if files.is_remote(directory):
        files.delete(directory, [marker(shard.name) for shard in ordered])
    return totals(ordered)
