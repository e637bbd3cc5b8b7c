"""sentence-transformers directories: an encoder, pooling, normalization."""

import json
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.hugging_face.loading import (
    load_encoder as load_encoder,
)
from keras_bert_lite.checkpoints.sources import Source, is_name, read_json
from keras_bert_lite.checkpoints.tokenizers.loading import (
    load_preprocessor as load_preprocessor,
    load_tokenizer as load_tokenizer,
)
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.models.tasks.sentence_embedding import sentence_encoder
from keras_bert_lite.models.tasks.task import options_of

MODULES = "modules.json"
POOLING_FOLDER = "1_Pooling"
# Our pooling -> the switch in the pooling module's config.json.
SWITCHES = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
}
PREFIX = "sentence_transformers.models."
MODE = "pooling_mode"  # replaces the switches since version 6


def detect(source: Source) -> bool:
    """Returns whether a source is a sentence-transformers directory."""
    return isinstance(source, Path) and (source / MODULES).is_file()


def load_model(directory: Path, changes: dict[str, Any]) -> keras.Model:
    """Loads the encoder with its pooling and normalization.

    Raises:
        ValueError: If a module or the pooling is not supported.
    """
    modules = _modules(directory)
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]):
        raise ValueError(
            f"{directory / MODULES}: the modules must be Transformer, Pooling and "
            f"perhaps Normalize. Received: {kinds}"
        )
    (_, body), (_, pooling) = modules[:2]
    encoder = load_encoder(directory / body, "checkpoint", changes)
    return sentence_encoder(
        encoder, _pooling(directory / pooling), normalize=len(kinds) == 3
    )


def write(model: keras.Model, sequence_length: int | None, directory: Path) -> None:
    """Adds the files of sentence-transformers to the directory of a saved encoder.

    Raises:
        ValueError: If sentence-transformers does not have the model's pooling.
    """
    options = options_of(model)
    pooling = options["pooling"]
    if pooling not in SWITCHES:
        raise ValueError(
            f"sentence-transformers has only the poolings {sorted(SWITCHES)}. "
            f"Received: a model with {pooling!r}"
        )
    config = config_of(encoder_of(model))
    names = ["Transformer", "Pooling"]
    if options["normalize"]:
        names.append("Normalize")
    paths = ["", POOLING_FOLDER, "2_Normalize"]
    modules = [
        {"idx": i, "name": str(i), "path": paths[i], "type": f"{PREFIX}{name}"}
        for i, name in enumerate(names)
    ]
    _write(directory / MODULES, modules)
    (directory / POOLING_FOLDER).mkdir()
    switches = {switch: ours == pooling for ours, switch in SWITCHES.items()}
    width = {"word_embedding_dimension": config.hidden_dim}
    _write(directory / POOLING_FOLDER / "config.json", {**width, **switches})
    length = sequence_length or config.max_sequence_length
    limit = {"max_seq_length": length, "do_lower_case": False}
    _write(directory / "sentence_bert_config.json", limit)


def _modules(directory: Path) -> list[tuple[str, str]]:
    """Returns the class name and folder of each module, in order."""
    path = directory / MODULES
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
        found = [(x["type"].rsplit(".", 1)[-1], x["path"]) for x in modules]
    except Exception as error:  # file errors, invalid JSON, wrong types
        raise ValueError(f"{path} is not a list of modules: {error!r}") from error
    for kind, folder in found:
        if folder == ".." or not (folder == "" or is_name(folder)):
            raise ValueError(
                f"{path}: the folder of {kind} must be a name in the same directory. "
                f"Received: {folder!r}"
            )
    return found


def _pooling(directory: Path) -> str:
    path = directory / "config.json"
    raw = read_json(path)
    switches = {k: x for k, x in raw.items() if k.startswith("pooling_mode_")}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise ValueError(
                f"{path}: `{name}` must be true or false. Received: {value!r}"
            )
    on = {name for name, value in switches.items() if value}
    chosen = [ours for ours, switch in SWITCHES.items() if switch in on]
    if MODE in raw and not on:
        chosen = [ours for ours in SWITCHES if ours == raw[MODE]]
    if len(chosen) != 1 or len(on) > 1:
        received = sorted(on) or raw.get(MODE)
        raise ValueError(
            f"{path}: the pooling must be one of {sorted(SWITCHES)}. "
            f"Received: {received!r}"
        )
    return chosen[0]


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2))
