"""Writing pretraining data with an Apache Beam pipeline (extra `beam`)."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam

from keras_bert_lite._files import remove_left_over
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.readers.lines import Paths, as_paths
from keras_bert_lite.training.pretraining.data.corpus import Chunk, read_chunks
from keras_bert_lite.training.pretraining.data.recipe import Recipe
from keras_bert_lite.training.pretraining.data.shards import (
    Shard,
    WholeShards,
    write_index,
)
from keras_bert_lite.training.pretraining.data.write import (
    check_settings,
    check_some_rows,
    make_shard,
    totals,
)


class WritePretrainingData(beam.PTransform):
    """`write_pretraining_data` as a transform for any Beam runner.

    It writes the same shards, byte for byte. One worker reads the text in chunks
    of about `chunk_bytes`. Tokenization, which is nearly all of the work, is spread
    over all workers. A pipeline that is run again reuses the intact shards.

    Args:
        text, preprocessor, **recipe: See `write_pretraining_data`.
        directory: Where the shards are written. All workers must see it and the
            text under the same paths, as on a shared file system.

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
        self._paths, self._directory = as_paths(text, "text"), Path(directory)
        self._recipe = Recipe(preprocessor, **recipe)

    def expand(self, begin: beam.Pipeline) -> beam.PCollection:
        source = check_settings(self._directory, self._paths, self._recipe)
        remove_left_over(self._directory)
        make = _MakeShard(str(self._directory), self._recipe.to_json(), source)
        size = self._recipe.chunk_bytes
        return (
            begin
            | "Files" >> beam.Create([[str(path) for path in self._paths]])
            | "Chunks" >> beam.FlatMap(_numbered_chunks, size)
            | "Spread" >> beam.Reshuffle()
            | "Shards" >> beam.ParDo(make)
            | "All" >> beam.combiners.ToList()
            | "Index" >> beam.Map(_finish, str(self._directory), self._paths)
        )


class _MakeShard(beam.DoFn):
    """Writes the shard of a chunk unless it exists and is intact."""

    def __init__(self, directory: str, recipe: str, source: str) -> None:
        self._directory, self._json, self._source = Path(directory), recipe, source

    def setup(self) -> None:
        self._recipe = Recipe.from_json(self._json)
        self._find = WholeShards(self._directory, self._source)

    def process(self, element: tuple[int, Chunk]) -> Iterator[tuple[int, Shard]]:
        number, chunk = element
        made = self._find(number) or make_shard(
            self._directory, self._recipe, self._source, number, chunk
        )
        yield number, made


def _numbered_chunks(paths: list[str], size: int) -> Iterable[tuple[int, Chunk]]:
    return enumerate(read_chunks([Path(path) for path in paths], size))


def _finish(
    shards: list[tuple[int, Shard]], directory: str, paths: list[Path]
) -> dict[str, int]:
    ordered = [shard for _, shard in sorted(shards)]
    check_some_rows(ordered, paths)
    write_index(Path(directory), ordered)
    return totals(ordered)
