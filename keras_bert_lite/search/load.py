"""An index in Python: search it, and make other versions of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from keras_bert_lite._files import draft_directory, to_json, write_text
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.search.corpus import ID, Corpus, list_of_ids, read_corpus
from keras_bert_lite.search.encoding import corpus_vectors, warn_of_cut_texts
from keras_bert_lite.search.index import (
    SEARCH,
    corpus_counts,
    encoder_of_texts,
    index_arrays,
    tensor_of,
)
from keras_bert_lite.search.vectors import float_vectors
from keras_bert_lite.serving.check.saved_model_files import find_version
from keras_bert_lite.serving.saved_model.metadata import FILE
from keras_bert_lite.serving.saved_model.versions import publish, version_path
from keras_bert_lite.tasks.text_model import as_array
from keras_bert_lite.text.inputs import TEXT
from keras_bert_lite.training.data.readers.read import Reading

VARIABLES = Path("variables", "variables.index")


def load(path: str | os.PathLike) -> Index:
    """Loads an index, to search it or to make another version of it.

    It needs neither the encoder nor the corpus that it was made from.

    Args:
        path: The directory of an index, for its newest version, or of a version.

    Raises:
        ValueError: If there is no SavedModel, or none that `index` made.

    Example: see `index`.
    """
    return Index(path)


def search(path: str | os.PathLike, query: str) -> list[dict[str, Any]]:
    """Searches an index for one query.

    Args:
        path: See `load`.
        query: The text to search for.

    Returns:
        The best texts, the best first: dictionaries of `id`, `score` and `text`.
    """
    found = load(path).search([query])
    rows = zip(*(found[x][0].tolist() for x in ("ids", "scores", "texts")), strict=True)
    named = ({"id": name, "score": x, "text": text} for name, x, text in rows)
    return [row for row in named if row["text"]]


def is_index(path: Any) -> bool:
    """Whether a path is that of an index, or of a version of one."""
    if not isinstance(path, (str, os.PathLike)) or not Path(path).is_dir():
        return False
    versions = [Path(path), *(x for x in Path(path).iterdir() if x.name.isdigit())]
    files = [x / FILE for x in versions if (x / FILE).is_file()]
    return any(SEARCH in json.loads(x.read_text()) for x in files)


class Index:
    """An index, loaded; see `load`.

    Attributes:
        path: The directory of its version.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        import tensorflow_text  # noqa: F401  registers its operations

        self.path, _ = find_version(path)
        metadata = self.path / FILE
        about = json.loads(metadata.read_text()) if metadata.is_file() else {}
        if SEARCH not in about:
            raise ValueError(
                "`path` must be an index made by `index`. "
                f"Received: {os.fspath(path)!r}"
            )
        self._about, self._loaded = about, tf.saved_model.load(str(self.path))

    def __len__(self) -> int:
        return int(tf.shape(self._loaded.index["ids"])[0])

    def search(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> dict[str, np.ndarray]:
        """Returns the best texts of the corpus for each query.

        Args:
            texts: The queries.
            batch_size: How many are searched for at once.

        Returns:
            `ids`, `texts` and `scores`, `(B, k)` each, the best first. Where there are
            fewer texts, the id is -1 (or empty), the text empty and the score -inf.
        """
        if isinstance(texts, str):
            raise TypeError(f"`texts` must be a list of strings. Received: {texts!r}")
        run = self._loaded.signatures[SEARCH]
        parts = [
            run(**{TEXT: tf.constant([*texts[start : start + batch_size]])})
            for start in range(0, len(texts), batch_size)
        ] or [run(**{TEXT: tf.zeros([0], tf.string)})]
        return {
            name: as_array(tf.concat([part[name] for part in parts], 0))
            for name in parts[0]
        }

    @property
    def k(self) -> int:
        """How many texts a search returns."""
        return self._about[SEARCH]["k"]

    def best_ids(self, texts: Sequence[str], batch_size: int = 32) -> list[list[str]]:
        """Returns the ids of the best texts for each query, as strings."""
        rows = []
        for start in range(0, len(texts), batch_size):
            found = self.search(texts[start : start + batch_size])
            pairs = zip(found["ids"].tolist(), found["scores"].tolist(), strict=True)
            rows += [
                [str(x) for x, score in zip(*row, strict=True) if score > -np.inf]
                for row in pairs
            ]
        return rows

    def add(
        self,
        texts: Sequence[str] | Mapping[str, str] | str | os.PathLike,
        ids: Sequence[ID] | None = None,
        batch_size: int = 32,
        verbose: int = 1,
        **reading: Unpack[Reading],
    ) -> Path:
        """Writes a new version with more texts; only new ones are encoded.

        Args:
            texts, ids, batch_size, verbose, reading: See `index`. Texts without ids get
                the next numbers, none of which a text ever had.

        Returns:
            The directory of the new version. This one stays as it is.

        Warns:
            TruncationWarning: If new texts are longer than the encoder reads.

        Raises:
            BlockingIOError: If another process adds the same texts.
            FileExistsError: If there is a newer version.
            ValueError: If ids are there already, or of another kind.
        """
        self._check_newest()
        old, first = self._corpus(), self._about[SEARCH]["next_number"]
        new = read_corpus(texts, ids, reading, first)
        self._check_kind(old, new)
        both = Corpus([*old.texts, *new.texts], [*old.ids, *new.ids])
        return self._with_corpus(old, both, batch_size, verbose)

    def replace(
        self,
        texts: Sequence[str] | Mapping[str, str] | str | os.PathLike,
        ids: Sequence[ID] | None = None,
        batch_size: int = 32,
        verbose: int = 1,
        **reading: Unpack[Reading],
    ) -> Path:
        """Writes a new version with another corpus; only new texts are encoded.

        Args:
            texts, ids, batch_size, verbose, reading: See `index`. Ids are strings if
                they were before, else numbers.

        Returns:
            The directory of the new version. It warns and raises as `add` does.
        """
        self._check_newest()
        old, new = self._corpus(), read_corpus(texts, ids, reading)
        self._check_kind(old, new)
        return self._with_corpus(old, new, batch_size, verbose)

    def remove(self, ids: Sequence[ID]) -> Path:
        """Writes a new version without some texts.

        Returns:
            The directory of the new version. This one stays as it is.

        Raises:
            FileExistsError: If there is a newer version.
            TypeError: If `ids` is a string.
            ValueError: If there are no ids, one is unknown, or no text is left.
        """
        self._check_newest()
        old, gone = self._corpus(), {*list_of_ids(ids)}
        if not gone:
            raise ValueError("`ids` must hold an id. Received: none")
        known = {*old.ids}
        if unknown := [x for x in gone if x not in known]:
            raise ValueError(
                f"`ids` must be of texts in the index. Received: {unknown[:3]}"
            )
        kept = [i for i, name in enumerate(old.ids) if name not in gone]
        new = Corpus([old.texts[i] for i in kept], [old.ids[i] for i in kept])
        return self._with_corpus(old, new)

    def _corpus(self) -> Corpus:
        # Not as an array of strings, which gives each the room of the longest.
        texts, ids = (
            [x.decode() if isinstance(x, bytes) else x for x in held.numpy().tolist()]
            for held in (self._loaded.index["texts"], self._loaded.index["ids"])
        )
        return Corpus(texts, ids)

    def _check_newest(self) -> None:
        if not self.path.name.isdigit():  # a version that was copied
            return
        newest, _ = find_version(self.path.parent)
        if newest.name != self.path.name:
            raise FileExistsError(
                f"Only the newest version, {newest.name}, can be changed, or its own "
                f"changes would be lost. Received: version {self.path.name}"
            )

    @staticmethod
    def _check_kind(old: Corpus, new: Corpus) -> None:
        if new.named != old.named:
            kinds = ["strings" if x.named else "numbers" for x in (old, new)]
            raise ValueError(
                f"`ids` must be {kinds[0]}, as in the index. Received: {kinds[1]}"
            )

    def _with_corpus(
        self, old: Corpus, corpus: Corpus, batch_size: int = 32, verbose: int = 0
    ) -> Path:
        """Writes a version of another corpus; texts of the old one keep their vectors.

        It holds both versions, and the vectors of both in float32.
        """
        check_positive("batch_size", batch_size)
        table = self._loaded.index["vectors"]
        held = float_vectors({name: x.numpy() for name, x in table.items()})
        places = {text: i for i, text in enumerate(old.texts)}
        new = [*dict.fromkeys(x for x in corpus.texts if x not in places)]
        places |= {text: len(held) + i for i, text in enumerate(new)}
        limit = self._about["sequence_length"]
        warn_of_cut_texts(new, self._loaded.truncates, limit)
        embed, prompt = self._loaded.signatures["embed"], self._about[SEARCH]["prompt"]
        encode = encoder_of_texts(embed, prompt, batch_size)
        # The file has checksums of all variables, and so stands for the model.
        key = hashlib.sha256((self.path / VARIABLES).read_bytes()).hexdigest()
        options = (held.shape[1], key, self.path.parent, bool(verbose))
        with corpus_vectors(new, encode, *options) as made:
            vectors = np.empty((len(corpus.texts), held.shape[1]), np.float32)
            for row, text in enumerate(corpus.texts):
                place = places[text]
                is_new = place >= len(held)
                vectors[row] = made[place - len(held)] if is_new else held[place]
            del held
            return self._written(corpus, vectors)

    def _written(self, corpus: Corpus, vectors: np.ndarray) -> Path:
        new = tf.saved_model.load(str(self.path))
        table = new.index["vectors"]
        # As many lists as before, of which as many are searched.
        form = (table["table"].dtype.name, len(table["centres"].numpy()))
        weight = float(new.index["weight"].numpy()) if "weight" in new.index else None
        _assign(new.index, index_arrays(corpus, vectors, *form, weight))
        folder, name = self.path.parent, self.path.name
        version = int(name) + 1 if name.isdigit() else None
        with draft_directory(folder, version_path(folder, version).name) as draft:
            tf.saved_model.save(new, str(draft), signatures=dict(new.signatures))
            least = self._about[SEARCH]["next_number"]
            search = {**self._about[SEARCH], **corpus_counts(corpus.ids, least)}
            about = {**self._about, SEARCH: search}
            (draft / FILE).parent.mkdir(exist_ok=True)
            write_text(draft / FILE, to_json(about, indent=2, ensure_ascii=False))
            return publish(draft, folder, version)


def _assign(held: Any, values: Any) -> None:
    if isinstance(values, dict):
        for name, value in values.items():
            _assign(held[name], value)
    else:
        held.assign(tensor_of(values))
