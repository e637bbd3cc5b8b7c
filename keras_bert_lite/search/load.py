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
from keras_bert_lite.search.corpus import ID, Corpus, read_corpus
from keras_bert_lite.search.encoding import corpus_vectors, warn_of_cut_texts
from keras_bert_lite.search.index import (
    SEARCH,
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
        FileNotFoundError: If there is no SavedModel.
        ValueError: If it is none that `index` made.

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

    def best_ids(self, texts: Sequence[str]) -> list[list[str]]:
        """Returns the ids of the best texts for each query, as strings."""
        found = self.search(texts)
        return [
            [str(name) for name, text in zip(ids, texts, strict=True) if text]
            for ids, texts in zip(found["ids"], found["texts"], strict=True)
        ]

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
            texts, ids, batch_size, verbose, reading: See `index`. Texts without ids are
                numbered from the next free number.

        Returns:
            The directory of the new version. This one stays as it is.

        Warns:
            TruncationWarning: If new texts are longer than the encoder reads.

        Raises:
            BlockingIOError: If another process adds the same texts.
            ValueError: If ids are there already, or of another kind.
        """
        old = self._corpus()
        first = max((x for x in old.ids if isinstance(x, int)), default=-1) + 1
        new = read_corpus(texts, ids, first, **reading)
        both = Corpus([*old.texts, *new.texts], [*old.ids, *new.ids])
        return self._with_corpus(both, batch_size, verbose)

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
            The directory of the new version. This one stays as it is.

        Warns:
            TruncationWarning: If new texts are longer than the encoder reads.

        Raises:
            BlockingIOError: If another process adds the same texts.
            ValueError: If a text or an id is invalid, or ids are of another kind.
        """
        corpus, old = read_corpus(texts, ids, **reading), self._corpus()
        if corpus.named != old.named:
            kinds = ["strings" if x.named else "numbers" for x in (old, corpus)]
            raise ValueError(
                f"`ids` must be {kinds[0]}, as in the index. Received: {kinds[1]}"
            )
        return self._with_corpus(corpus, batch_size, verbose)

    def remove(self, ids: Sequence[ID]) -> Path:
        """Writes a new version without some texts.

        Returns:
            The directory of the new version. This one stays as it is.

        Raises:
            ValueError: If an id is unknown, or no text is left.
        """
        old = self._corpus()
        gone, known = {*ids}, {*old.ids}
        if unknown := [x for x in gone if x not in known]:
            raise ValueError(
                f"`ids` must be of texts in the index. Received: {unknown[:3]}"
            )
        kept = [i for i, name in enumerate(old.ids) if name not in gone]
        new = Corpus([old.texts[i] for i in kept], [old.ids[i] for i in kept])
        return self._with_corpus(new)

    def _corpus(self) -> Corpus:
        # Not as an array of strings, which gives each the room of the longest.
        texts = [x.decode() for x in self._loaded.index["texts"].numpy()]
        return Corpus(texts, as_array(self._loaded.index["ids"]).tolist())

    def _with_corpus(
        self, corpus: Corpus, batch_size: int = 32, verbose: int = 0
    ) -> Path:
        """Writes a version of another corpus; texts of this one keep their vectors."""
        table = self._loaded.index["vectors"]
        held = float_vectors({name: x.numpy() for name, x in table.items()})
        places = {text: i for i, text in enumerate(self._corpus().texts)}
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
            rows = [places[text] for text in corpus.texts]
            return self._written(corpus, np.concatenate([held, made])[rows])

    def _written(self, corpus: Corpus, vectors: np.ndarray) -> Path:
        new = tf.saved_model.load(str(self.path))
        table = new.index["vectors"]
        # As many lists as before, of which as many are searched.
        form = (table["table"].dtype.name, len(table["centres"].numpy()))
        weight = float(new.index["weight"].numpy()) if "weight" in new.index else None
        _assign(new.index, index_arrays(corpus, vectors, *form, weight))
        folder = self.path.parent
        with draft_directory(folder, version_path(folder, None).name) as draft:
            tf.saved_model.save(new, str(draft), signatures=dict(new.signatures))
            search = {**self._about[SEARCH], "texts": len(corpus.texts)}
            about = {**self._about, SEARCH: search}
            (draft / FILE).parent.mkdir(exist_ok=True)
            write_text(draft / FILE, to_json(about, indent=2, ensure_ascii=False))
            return publish(draft, folder, None)


def _assign(held: Any, values: Any) -> None:
    if isinstance(values, dict):
        for name, value in values.items():
            _assign(held[name], value)
    else:
        held.assign(tensor_of(values))
