"""Finding and reading SavedModels."""

from __future__ import annotations

import os
from pathlib import Path

from google.protobuf.message import DecodeError

from keras_bert_lite._tensorflow import graph_pb2, meta_graph_pb2, saved_model_pb2

EXPORT = "Write it with `export_saved_model`."


def find_version(path: str | os.PathLike) -> tuple[Path, list[str]]:
    """Finds the version that a server would load.

    Args:
        path: A version directory, which holds `saved_model.pb`, or a model
            directory, which holds numbered version directories.

    Returns:
        The version directory, the newest if there are several, and remarks on the
        names and on other entries of a model directory.

    Raises:
        ValueError: If there is no version; the message says what was found.
    """
    given = Path(path)
    if not given.exists():
        raise ValueError(f"{given} does not exist.")
    if not given.is_dir():
        raise ValueError(f"{given} is {_kind_of_file(given)}")
    if _is_saved_model(given):
        return given, _remarks_on_name(given)
    numbered = [p for p in given.iterdir() if _is_number(p.name) and p.is_dir()]
    if not numbered:
        raise ValueError(f"{given} {_kind_of_folder(given)}")
    newest = max(numbered, key=lambda p: int(p.name))
    if not _is_saved_model(newest):
        raise ValueError(
            f"{newest}, the newest version, {_kind_of_folder(newest)} A server that "
            f"watches {given} would still try to load it."
        )
    return newest, _remarks_on_neighbours(given)


def read_meta_graph(directory: Path) -> meta_graph_pb2.MetaGraphDef:
    """Reads the graph of a SavedModel that servers load, with the only tag `serve`.

    Raises:
        ValueError: If the file is not a SavedModel or has no such graph.
    """
    file = directory / "saved_model.pb"
    if not file.is_file():
        raise ValueError(
            f"{directory} holds a SavedModel in another form than saved_model.pb, "
            f"which only some servers read. {EXPORT}"
        )
    content = file.read_bytes()
    try:
        saved = saved_model_pb2.SavedModel.FromString(content)
    except DecodeError:
        raise ValueError(
            f"{file} is corrupt or not a SavedModel: it cannot be parsed. {EXPORT}"
        ) from None
    for meta_graph in saved.meta_graphs:
        if set(meta_graph.meta_info_def.tags) == {"serve"}:
            return meta_graph
    if _is_frozen_graph(content):
        raise ValueError(f"{file} is a frozen TensorFlow 1 graph. {EXPORT}")
    tags = [sorted(m.meta_info_def.tags) for m in saved.meta_graphs]
    raise ValueError(
        f"{file} must hold a graph tagged 'serve' and nothing else. "
        f"Received the tags: {tags}"
    )


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _is_saved_model(folder: Path) -> bool:
    return any((folder / f"saved_model.{end}").is_file() for end in _FORMS)


# Binary, text, and split for models over 2 GB (TensorFlow 2.14 and later).
_FORMS = ("pb", "pbtxt", "cpb")


def _is_frozen_graph(content: bytes) -> bool:
    try:
        graph = graph_pb2.GraphDef.FromString(content)
    except DecodeError:
        return False
    return any(node.op and node.name for node in graph.node)


def _kind_of_file(file: Path) -> str:
    if file.suffix in (".keras", ".h5"):
        return (
            "a Keras file, which servers do not read. Load it, pass it to "
            "`with_text`, and write it with `export_saved_model`."
        )
    if file.name == "saved_model.pb":
        return f"a file. Pass its folder: {file.parent}"
    if file.suffix == ".pb" and _is_frozen_graph(file.read_bytes()):
        return f"a frozen TensorFlow 1 graph, which servers do not read. {EXPORT}"
    return f"a file; a SavedModel is a folder with saved_model.pb. {EXPORT}"


def _kind_of_folder(folder: Path) -> str:
    names = sorted(p.name for p in folder.iterdir())
    if not names:
        return f"is empty. {EXPORT}"
    if {"variables", "assets"} & set(names):
        return f"is incomplete: it has no saved_model.pb. {EXPORT}"
    if len(names) > 5:
        names = [*names[:5], "..."]
    return f"holds no SavedModel and no numbered version, only {names}. {EXPORT}"


def _remarks_on_name(version: Path) -> list[str]:
    if _is_number(version.resolve().name):
        return []
    return [
        f"{version} is not named by a number: a server loads it only from a folder "
        "such as my_model/1."
    ]


def _remarks_on_neighbours(model: Path) -> list[str]:
    remarks = []
    for neighbour in sorted(model.iterdir()):
        if not _is_number(neighbour.name):
            remarks.append(f"{neighbour} is not named by a number: servers ignore it.")
        elif not (neighbour.is_dir() and _is_saved_model(neighbour)):
            remarks.append(
                f"{neighbour} is not a complete version: servers cannot load it."
            )
    return remarks
