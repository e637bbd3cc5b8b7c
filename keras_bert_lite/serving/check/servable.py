"""Checks that TF Serving can serve a SavedModel."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from keras_bert_lite._finite import is_finite
from keras_bert_lite._tensorflow import meta_graph_pb2, tf
from keras_bert_lite.serving.check import server_operations as servers, signatures
from keras_bert_lite.serving.check.batching import batching_problems
from keras_bert_lite.serving.check.file_operations import file_problems
from keras_bert_lite.serving.check.saved_model_files import (
    find_version,
    read_meta_graph,
)
from keras_bert_lite.serving.saved_model.warmup import replay_warmup


@dataclasses.dataclass(frozen=True)
class ServableReport:
    """The result of `check_servable`.

    Attributes:
        path: The version directory that was checked, or the given path.
        problems: Descriptions of what is wrong and how to fix it.
        warnings: Remarks that do not prevent serving.
        versions: The stock TF Serving versions that can serve the model; empty if
            there are problems.
        ops: The operations that the model uses, sorted.
    """

    path: str
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __str__(self) -> str:
        if self.ok:
            head = f"{self.path}: ok for TF Serving {', '.join(self.versions)}"
        else:
            head = f"{self.path}: not servable"
        lines = [f"  problem: {text}" for text in self.problems]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join([head, *lines])


def check_servable(path: str | os.PathLike, run: bool | None = None) -> ServableReport:
    """Checks that stock TF Serving can load a SavedModel and serve it.

    The files are checked first. Each server version must support every operation,
    attribute and type, in functions too. No operation may use files other than
    assets and weights, print, or call other machines. Signatures must have dense
    tensors that REST can carry, with the batch first.

    If the operations are fine, the SavedModel is then loaded and run in this
    process, without a server. Its initializers run and its warm-up requests are
    replayed. Signatures that take strings must give batched requests the same
    answers as single ones.

    A model that runs has all rights of this process, and its operations do not
    reveal everything that it may do: pass `run=False` for untrusted files.

    Args:
        path: A version directory, which holds `saved_model.pb`, or a model
            directory, whose newest version is checked.
        run: Whether to load and run the model, whatever its operations; `None`
            runs it only if they have no problems.

    Returns:
        A `ServableReport`. If the path holds no SavedModel, that is a problem in
        the report, not an error.

    Raises:
        TypeError: If `path` is not a path, or `run` is not a boolean or `None`.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.with_text(kbl.sentence_encoder(encoder), preprocessor)
    >>> path = kbl.export_saved_model(model, "embed")
    >>> kbl.check_servable(path).ok
    True
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"`path` must be a path. Received: {path!r}")
    if not isinstance(run, bool | None):
        raise TypeError(f"`run` must be a boolean or None. Received: {run!r}")
    try:
        directory, remarks = find_version(path)
        meta_graph = read_meta_graph(directory)
    except (ValueError, OSError) as error:
        return ServableReport(os.fspath(path), problems=(str(error),))
    problems, warnings, versions = _operation_findings(meta_graph)
    problems += file_problems(meta_graph)
    runnable = not problems if run is None else run
    problems += signatures.signature_problems(meta_graph)
    warnings += signatures.signature_warnings(meta_graph)
    if runnable:
        found, more = _running_findings(directory, meta_graph)
        problems, warnings = problems + found, warnings + more
    else:
        warnings.append(
            "It was not run here, so loading and batching are untested. If you trust "
            "it, pass run=True."
        )
    return ServableReport(
        path=str(directory),
        problems=tuple(problems),
        warnings=tuple(remarks + warnings),
        versions=() if problems else tuple(versions),
        ops=servers.operations(meta_graph.graph_def),
    )


def _operation_findings(
    meta_graph: meta_graph_pb2.MetaGraphDef,
) -> tuple[list[str], list[str], list[str]]:
    lacking = servers.lacking(meta_graph.graph_def)
    nowhere = set.intersection(*(set(entries) for entries in lacking.values()))
    problems = [
        f"No stock TF Serving has {entry}. {servers.advice(entry)}"
        for entry in sorted(nowhere)
    ]
    if compiled := servers.compiled_functions(meta_graph.graph_def):
        problems.append(
            f"{', '.join(compiled)}: compiled by XLA (jit_compile), which is off in a "
            "stock server. Export without jit_compile."
        )
    # Warn only about entries that some versions support and others do not.
    some = set().union(*lacking.values()) - nowhere
    warnings = [
        f"TF Serving {', '.join(v for v in lacking if entry in lacking[v])} "
        f"cannot serve it: no {entry}."
        for entry in sorted(some)
    ]
    versions = [version for version, entries in lacking.items() if not entries]
    if not versions and not nowhere:
        problems.append("No TF Serving version has all of its operations.")
    return problems, warnings, versions


def _running_findings(
    directory: Path, meta_graph: meta_graph_pb2.MetaGraphDef
) -> tuple[list[str], list[str]]:
    try:
        loaded = _load(directory)
    except Exception as error:  # any error of the loader is a finding
        return [f"It does not load here: {signatures.cause(error)}"], []
    problems, warnings = _weight_problems(loaded), []
    try:
        replay_warmup(directory, loaded)
    except ValueError as error:
        problems.append(f"{error} A server would not load the model.")
    for name, signature in signatures.public_signatures(meta_graph).items():
        if not signatures.takes_strings(signature):
            continue
        try:
            problems += batching_problems(loaded, name)
        except ValueError as error:
            if _wants_examples(error):
                warnings.append(
                    f"Signature {name!r} takes serialized tf.Examples; the batching "
                    "law was not tested on it."
                )
            else:
                problems.append(str(error))
    return problems, warnings


def _weight_problems(loaded: Any) -> list[str]:
    functions = loaded.signatures.values()
    weights = {x.name: x for function in functions for x in function.variables}
    return [
        f"Its weight {name!r} holds NaN or infinity, so it answers nonsense."
        for name, x in weights.items()
        if not is_finite(x.numpy())
    ]


def _load(directory: Path) -> Any:
    import tensorflow_text  # noqa: F401  registers its operations

    return tf.saved_model.load(str(directory), tags=["serve"])


def _wants_examples(error: ValueError) -> bool:
    return any(s in str(error).lower() for s in ("parse example", "protocol message"))
