"""Export of SavedModels that take strings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keras_bert_lite._files import check_directory, draft_directory
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice
from keras_bert_lite.serving.saved_model.bfloat16 import in_bfloat16
from keras_bert_lite.serving.saved_model.exported_signatures import (
    signatures_of,
    text_labels,
)
from keras_bert_lite.serving.saved_model.metadata import write_metadata
from keras_bert_lite.serving.saved_model.server_config import batching_parameters
from keras_bert_lite.serving.saved_model.versions import publish, version_path
from keras_bert_lite.serving.saved_model.warmup import replay_warmup, write_warmup
from keras_bert_lite.tasks.text_model import TextModel, load_text_model
from keras_bert_lite.tasks.text_parts import preprocessor_of
from keras_bert_lite.text.inputs import PROMPT

LONG = 512  # words of a long warm-up text, if the preprocessor cuts none


def export_saved_model(
    model: TextModel | str | os.PathLike,
    directory: str | os.PathLike,
    version: int | None = None,
    warmup: Sequence[str] | bool = True,
    batching: dict[str, Any] | None = None,
    storage: str | None = None,
    compute: str | None = None,
    int8: bool = False,
    calibration: Sequence[str] | str | os.PathLike | None = None,
    keep: Sequence[int] | None = None,
    verbose: int = 1,
) -> Path:
    """Exports a model made by `with_text` to a SavedModel for TF Serving.

    It has these signatures:

    - `serving_default`: from `text` (and `text_pair`), strings of shape `(B,)`, to
      the model's outputs by name; see `with_text` for those of each task;
    - `token_ids`: from `token_ids`, `segment_ids` (int32) and `padding_mask`
      (bool), `(B, S)` each, to the same outputs, or to the outputs of the model on
      ids if answers need the text;
    - `tokenize`: from strings to the inputs of `token_ids`; omitted for models that
      split texts into windows (question answering, token classification);
    - `classify`, for a classifier: from `inputs`, serialized `tf.Example`s with the
      features `text` (and `text_pair`), to `classes` and `scores`, `(B, labels)`
      each, as TF Serving's Classify API requires.

    Outputs have the batch first; floating-point values are float32. Every weight is
    stored once. Loading needs only `tensorflow` and `tensorflow_text`. The model
    skips padding unless its encoder has `unpadding=False`. `assets.extra` holds
    warm-up requests, which have been tested, and `keras_bert_lite.json` with
    versions, configuration, labels and operations.

    The files are written to a temporary directory and moved at the end, so a server
    that watches `directory` never sees an incomplete version. If an export is
    killed, the next one removes its temporary files.

    Args:
        model: A model made by `with_text`, or its `.keras` file, or the directory of
            a run of `finetune`.
        directory: The model's directory; the version becomes a folder in it.
        version: A positive number; `None` uses the next free one, when the files are
            complete.
        warmup: Texts for the warm-up requests; `True` uses short and long
            examples, `False` writes none.
        batching: Arguments of `batching_parameters`, for servers started with
            `--enable_batching` and `--enable_per_model_batching_parameters`.
            `None` writes no `batching_params.pbtxt`.
        storage: `"float16"` or `"bfloat16"` stores matrices and embeddings in
            half precision. Loading converts them back to float32, so answers
            differ only by this rounding and take no longer.
        compute: `"bfloat16"` lets the encoder multiply in bfloat16, which is faster
            on processors that can (AVX512-BF16, AMX), and slower or not possible at all
            on others: an export warns where it is slower. Its matrices are stored in
            bfloat16 too.
        int8: Whether the encoder multiplies in int8, which is faster, takes about a
            third of the bytes and changes answers a little. It needs TF Serving 2.17.1
            or later on x86-64; `check_servable` tells. The encoder must have neither
            relative positions (DeBERTa) nor a gated feed-forward network, and GELU or
            ReLU between the layers of that network.
        calibration: With `int8`, some hundred texts like those that will be answered,
            or a file with one per line: they tell how large the encoder's numbers get.
        keep: With `int8`, the encoder's blocks that still multiply in float32, counted
            from 0, where int8 changes answers too much.
        verbose: With `int8`, 1 shows a progress bar over these texts, 0 nothing.

    Returns:
        The path of the new version.

    Raises:
        NotImplementedError: If the backend is not TensorFlow, or `int8` is asked for
            and this TensorFlow has no such products.
        TypeError: If the model was not made by `with_text`.
        FileNotFoundError: If there is no such file.
        ValueError: If `directory` is a file, the version is not a positive integer,
            the storage or `compute`
            is invalid or a weight exceeds its range, the encoder or `calibration` does
            not allow `int8`, `keep` has other numbers than those of some layers, or a
            warm-up request fails.
        FileExistsError: If the version exists.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.with_text(kbl.sentence_encoder(encoder), preprocessor)
    >>> str(kbl.export_saved_model(model, "saved_models/embed"))
    'saved_models/embed/1'
    """
    from keras_bert_lite.serving.saved_model.stored_weights import (
        STORAGES,
        half_stored,
    )

    model = load_text_model(model)
    parameters = None if batching is None else batching_parameters(**batching)
    if storage is not None:
        check_choice("storage", storage, STORAGES)
    texts = _warmup_texts(model, warmup)
    folder = Path(directory)
    check_directory(folder)
    name = version_path(folder, version).name
    options = {"calibration": calibration, "keep": keep}
    served, weights, others = in_fewer_bits(model, compute, int8, verbose, **options)
    with draft_directory(folder, name) as draft:
        signatures = signatures_of(served)
        stored = half_stored(weights, storage) if storage else weights
        _save(model, signatures, [*stored, *others], draft)
        if parameters is not None:
            (draft / "batching_params.pbtxt").write_text(parameters)
        write_metadata(draft, model)
        if texts:
            write_warmup(draft, _requests(model, texts, signatures))
            replay_warmup(draft)
        return publish(draft, folder, version)


def in_fewer_bits(
    model: TextModel, compute: str | None, int8: bool, verbose: int, **options: Any
) -> tuple[TextModel, list[tf.Variable], list[Any]]:
    """Returns the model to trace, whose encoder multiplies as it is asked to.

    Also its variables in float32, and what else a SavedModel has to track.
    """
    if int8 and compute is not None:
        raise ValueError(
            f"`compute` must be None with `int8=True`. Received: {compute!r}"
        )
    if int8:
        from keras_bert_lite.serving.saved_model.int8.encoder import int8_model
        from keras_bert_lite.serving.saved_model.stored_weights import in_parts

        served, variables, tables = int8_model(model, verbose=verbose, **options)
        stored = [part for x in tables for part in in_parts(x.value, "int8")]
        apart = {id(x) for x in tables}
        weights = [x.value for x in served.variables if id(x) not in apart]
        return served, weights, [*variables, *stored]
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"`{name}` must be None without `int8=True`. Received: "
                f"{type(value).__name__}"
            )
    others: list[Any] = []
    if compute is not None:
        check_choice("compute", compute, ("bfloat16",))
        model, others = in_bfloat16(model)
    return model, [x.value for x in model.variables], others


def _save(
    model: TextModel, signatures: dict[str, Any], tracked: list[Any], draft: Path
) -> None:
    # Keras's own export stores each weight twice (keras-team/keras#23553).
    module = tf.Module()
    module.weights = tracked
    tf.saved_model.save(module, str(draft), signatures=signatures)
    if text_labels(model):
        updater = tf.compat.v1.saved_model.signature_def_utils.MethodNameUpdater(
            str(draft)
        )
        updater.replace_method_name("classify", "tensorflow/serving/classify", "serve")
        updater.save()


def _warmup_texts(model: TextModel, warmup: Sequence[str] | bool) -> list[str]:
    if isinstance(warmup, bool):
        length = preprocessor_of(model).sequence_length or LONG
        return ["", "a few words", "many words " * length] if warmup else []
    if isinstance(warmup, str) or not all(isinstance(x, str) for x in warmup):
        raise TypeError(
            f"`warmup` must be a list of strings, True or False. Received: {warmup!r}"
        )
    return list(warmup)


def _requests(
    model: TextModel, texts: list[str], signatures: dict[str, Callable]
) -> list[tuple[str, dict[str, tf.Tensor]]]:
    """Returns one request per text and one with all texts, for each signature."""
    requests = []
    for batch in [*([text] for text in texts), texts]:
        strings = {
            # If a row has several strings, add an empty one to the text.
            name: tf.constant([[x, ""] for x in batch] if len(t.shape) == 2 else batch)
            for name, t in model.input.items()
        }
        if PROMPT in strings:
            strings[PROMPT] = tf.fill([len(batch)], "")
        requests.append(("serving_default", strings))
        if "tokenize" in signatures:
            requests.append(("tokenize", strings))
            requests.append(("token_ids", signatures["tokenize"](**strings)))
    return requests
