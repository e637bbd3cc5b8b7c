"""Rows from a file or another source, by its name."""

import importlib
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from keras_bert_lite.training.data.readers.conll import read_conll
from keras_bert_lite.training.data.readers.conllu import read_conllu
from keras_bert_lite.training.data.readers.csv_files import read_csv
from keras_bert_lite.training.data.readers.jsonl import read_jsonl
from keras_bert_lite.training.data.readers.lines import as_paths, suffix
from keras_bert_lite.training.data.readers.squad import read_squad
from keras_bert_lite.training.data.records import Records, records

READERS: dict[str, Callable[[Path], Records]] = {
    ".tsv": read_csv,
    ".tab": read_csv,
    ".csv": read_csv,
    ".jsonl": read_jsonl,
    ".json": read_squad,
    ".conll": read_conll,
    ".conllu": read_conllu,
}


def read(source: Any, argument: str = "source") -> Records:
    """Returns the records of a file, of a published data set, or of a source.

    Args:
        source: Any of

            - a path that ends in `.tsv`, `.csv` (`read_csv`), `.jsonl`, `.conll`,
              `.conllu` or `.json` (`read_squad`), and `.gz` or `.xz` after it;
            - `datasets://NAME:SPLIT` or `datasets://NAME:CONFIG:SPLIT`, a data set of
              Hugging Face `datasets`; `tfds://NAME:SPLIT`, one of
              `tensorflow_datasets`. SPLIT may be a part, such as `train[:1000]`. These
              libraries must be installed;
            - anything that `records` takes, such as a list of dictionaries or a
              pandas `DataFrame`.
        argument: The name of the source in error messages.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the name of a file tells no format; for other files, call its
            reader and pass the result.
        ImportError: If the library of a data set is not installed.
    """
    if not isinstance(source, (str, PathLike)):
        return records(source, argument)
    name = fspath(source)
    for scheme, load in (("datasets://", _datasets), ("tfds://", _tfds)):
        if name.startswith(scheme):
            return records(load(name.removeprefix(scheme), argument))
    path = Path(name)
    if suffix(path) not in READERS:
        raise ValueError(
            f"`{argument}` must be a file that ends in one of {list(READERS)}, or the "
            f"result of a reader, such as `read_conll(path)`. Received: {name!r}"
        )
    as_paths(path, argument)  # refuses what is not a file, by the argument's name
    return READERS[suffix(path)](path)


def _datasets(name: str, argument: str) -> Any:
    *parts, split = _parts(name, "datasets://NAME:SPLIT", argument, most=3)
    return _module("datasets", argument).load_dataset(*parts, split=split)


def _tfds(name: str, argument: str) -> Any:
    name, split = _parts(name, "tfds://NAME:SPLIT", argument, most=2)
    return _module("tensorflow_datasets", argument).load(name, split=split)


def _parts(name: str, form: str, argument: str, most: int) -> list[str]:
    # Not slashes, which are in the names themselves: owner/name, name/config.
    whole, bracket, part = name.partition("[")  # train[:100]
    *parts, split = whole.split(":")
    parts = [*parts, f"{split}{bracket}{part}"]
    if not 2 <= len(parts) <= most or not all(parts):
        raise ValueError(f"`{argument}` must be {form}. Received: {name!r}")
    return parts


def _module(name: str, argument: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"`{argument}` needs the package {name}: `pip install {name}`."
        ) from error
