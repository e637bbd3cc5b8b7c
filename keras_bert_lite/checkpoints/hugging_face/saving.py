"""Saving a model for Hugging Face transformers."""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import keras
import ml_dtypes
import numpy as np

from keras_bert_lite._files import replaced_directory
from keras_bert_lite._finite import check_finite_weights
from keras_bert_lite.checkpoints.core.name_table import Target, model_parts, targets
from keras_bert_lite.checkpoints.hugging_face import sentence_transformers
from keras_bert_lite.checkpoints.hugging_face.architectures import (
    check_head,
    head_fields,
    suffix_of,
)
from keras_bert_lite.checkpoints.hugging_face.config import CONFIG, write_config
from keras_bert_lite.checkpoints.hugging_face.families import LAYOUTS, Family
from keras_bert_lite.checkpoints.hugging_face.heads import Head
from keras_bert_lite.checkpoints.hugging_face.loading import unused_bias
from keras_bert_lite.checkpoints.hugging_face.names import ENCODER_PARTS
from keras_bert_lite.checkpoints.hugging_face.safetensors_files import WEIGHTS
from keras_bert_lite.checkpoints.tokenizers.saving import (
    tokenizer_fields,
    write_tokenizer,
)
from keras_bert_lite.checks import check_choice
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    config_of,
    encoder_of,
)
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.sentence_embedding import SENTENCE_EMBEDDING
from keras_bert_lite.tasks.task import head_layers, options_of
from keras_bert_lite.text.preprocessor import Preprocessor

DTYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}


def save_hugging_face(
    model: keras.Model,
    preprocessor: Preprocessor | None,
    directory: str | os.PathLike,
    dtype: str = "float32",
) -> None:
    """Saves a model and its tokenizer in a directory that transformers can load.

    The directory has config.json and model.safetensors. With a preprocessor it also
    has tokenizer.json, tokenizer_config.json, special_tokens_map.json and the
    vocabulary files. A `sentence_encoder` is saved for sentence-transformers. The
    directory is written under a temporary name and renamed when complete.

    Args:
        model: An encoder, or a model made by a task's builder.
        preprocessor: The preprocessor of the model; `None` saves no tokenizer.
        directory: The directory to write. An existing checkpoint is replaced; a
            directory with any other content is refused.
        dtype: The dtype of the weights: `"float32"`, `"float16"` or `"bfloat16"`.

    Raises:
        ValueError: If the family's architecture cannot represent a part of the
            model, such as a pooling other than `"cls_dense"`; if the model is
            quantized or has LoRA; or if a weight is NaN, infinite or too large for
            `dtype`.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> kbl.save_hugging_face(encoder, None, "bert")
    >>> kbl.load_encoder("bert").count_params() == encoder.count_params()
    True
    """
    check_choice("dtype", dtype, tuple(DTYPES))
    check_plain_weights(model)
    check_finite_weights(model)
    config = config_of(encoder_of(model))
    family = LAYOUTS[config.family]
    suffix = suffix_of(model)
    head = _head(model, family, suffix)
    check_head(model, head, config)
    fields = write_config(config)
    sentences = task_of(model) is SENTENCE_EMBEDDING
    if not sentences and (suffix == "Model" or head.pooled):
        check_choice("pooling", config.pooling, ("cls_dense", None))
    if preprocessor is not None and not sentences:
        preprocessor.check_without_prompt("transformers, which has no place for one")
    tensors = _tensors(model, family, suffix, head)
    raw = {
        **fields,
        **head_fields(model, head),
        "architectures": [family.class_prefix + suffix],
        "dtype": dtype,
    }
    if preprocessor is not None:
        raw |= tokenizer_fields(preprocessor.tokenizer, raw)
    else:
        raw |= dict.fromkeys(family.tokenizer_fields)
    with replaced_directory(directory, CONFIG) as draft:
        (draft / CONFIG).write_text(json.dumps(raw, indent=2, ensure_ascii=False))
        _write(draft / WEIGHTS, tensors, dtype)
        if preprocessor is not None:
            write_tokenizer(preprocessor, config, draft)
        if sentences:
            sentence_transformers.write(model, preprocessor, draft)


def _head(model: keras.Model, family: Family, suffix: str) -> Head:
    if suffix == "Model":
        return Head(build=lambda *_: None, names={}, pooled=family.pooled)
    if suffix not in family.heads:
        raise ValueError(
            f"transformers has no {family.class_prefix}{suffix}. `model` must be one "
            f"of {sorted(family.heads)}, or an encoder."
        )
    head = family.heads[suffix]
    return (head.enhanced or head) if options_of(model).get("enhanced") else head


def _tensors(
    model: keras.Model, family: Family, suffix: str, head: Head
) -> dict[str, Target]:
    parts = model_parts(model)
    pooler = parts["pooler"]
    if pooler is not None and not head.pooled:
        parts["pooler"] = None
    found = targets({**family.names, **head.names}, parts)
    placed = {id(x) for target in found.values() for x in target.variables}
    if task_of(model) is SENTENCE_EMBEDDING:  # its dense layers have files of their own
        placed |= {id(v) for x in head_layers(model).values() for v in x.variables}
    left = [v.path for v in model.variables if id(v) not in placed]
    if pooler is not None and not head.pooled:
        own = {v.path for v in pooler.variables}
        if own:
            warnings.warn(
                f"{family.class_prefix}{suffix} has no pooler: {sorted(own)} are not "
                "saved.",
                stacklevel=4,
            )
        left = [path for path in left if path not in own]
    left = [path for path in left if "seed_generator" not in path]
    if left:
        raise ValueError(
            f"{family.class_prefix}{suffix} has no place for these weights of "
            f"`model`: {left[:5]}"
        )
    for module, path in head.names.items():
        if path == "prediction_dense" and f"{module}.bias" in found:
            found[unused_bias(module)] = found[f"{module}.bias"]
    if suffix == "Model":
        return found
    return {_prefixed(name, family): target for name, target in found.items()}


def _prefixed(name: str, family: Family) -> str:
    inside = name.startswith(ENCODER_PARTS) or any(
        name.startswith(module + ".")
        for module, path in family.names.items()
        if path == "pooler.dense"
    )
    return family.prefix + name if inside else name


def _write(path: Path, tensors: dict[str, Target], dtype: str) -> None:
    arrays = {name: _stored(name, x.read(), dtype) for name, x in tensors.items()}
    from safetensors.numpy import save_file  # imported here because it is rarely needed

    save_file(arrays, path, metadata={"format": "pt"})
    path.chmod(0o644)  # safetensors makes it readable for the owner only


def _stored(name: str, value: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        stored = value.astype(DTYPES[dtype], copy=False)
    if not np.array_equal(np.isfinite(stored), np.isfinite(value)):
        raise ValueError(
            f"`dtype` must fit every weight of `model`. Received: {dtype!r}, "
            f"and {name!r} with values up to {np.abs(value[np.isfinite(value)]).max()}"
        )
    return stored
