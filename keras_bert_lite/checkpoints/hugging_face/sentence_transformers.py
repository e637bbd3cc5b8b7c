"""sentence-transformers directories: an encoder, pooling, normalization, prompts."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.hugging_face import loading as hugging_face
from keras_bert_lite.checkpoints.hugging_face.safetensors_files import (
    WEIGHTS,
    SafetensorsSource,
)
from keras_bert_lite.checkpoints.sources import (
    Source,
    is_name,
    read_json,
    read_json_value,
)
from keras_bert_lite.checkpoints.tokenizers import loading as tokenizers
from keras_bert_lite.checkpoints.tokenizers.loading import SENTENCE_CONFIGS
from keras_bert_lite.checkpoints.tokenizers.tokenizer_config import optional_json
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.tasks.sentence_embedding import sentence_encoder
from keras_bert_lite.tasks.task import head_layers, options_of
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer

MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
POOLING_FOLDER = "1_Pooling"
# Our pooling -> the switch in the pooling module's config.json, in the order in which
# their vectors are joined, and its name since version 6.
SWITCHES = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len": "pooling_mode_mean_sqrt_len_tokens",
    "weighted_mean": "pooling_mode_weightedmean_tokens",
    "last": "pooling_mode_lasttoken",
}
MODES = {
    **{name: name for name in ("cls", "max", "mean")},
    "mean_sqrt_len": "mean_sqrt_len_tokens",
    "weighted_mean": "weightedmean",
    "last": "lasttoken",
}
# The class of a Dense module's activation -> Keras's name.
DENSE_ACTIVATIONS = {
    "torch.nn.modules.activation.Tanh": "tanh",
    "torch.nn.modules.linear.Identity": "linear",
    "torch.nn.modules.activation.ReLU": "relu",
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
}
DENSE_KEYS = Keys(
    followed=("in_features", "out_features", "bias", "activation_function"),
    only={
        "module_input_name": "sentence_embedding",
        "module_output_name": "sentence_embedding",
        "use_residual": False,
    },
)
KERNEL, BIAS = "linear.weight", "linear.bias"
PREFIX = "sentence_transformers.models."
MODEL_TYPES = ("SentenceTransformer", "CrossEncoder")
CROSS_ENCODER_TASK = "sequence-classification"
TRANSFORMER_TASKS = ("feature-extraction", CROSS_ENCODER_TASK)
MODE = "pooling_mode"  # replaces the switches since version 6
MODULE_KEYS = Keys(followed=("type", "path"), ignored=("idx", "name", "kwargs"))
POOLING_KEYS = Keys(
    followed=(MODE, *SWITCHES.values(), "include_prompt"),
    ignored=("word_embedding_dimension", "embedding_dimension"),  # the encoder's
)
PROMPT_KEYS = Keys(
    followed=("prompts", "default_prompt_name", "model_type"),
    only={"truncate_dim": None},
    # How vectors are compared, what config.json says too, and what wrote the file.
    ignored=("similarity_fn_name", "activation_fn", "__version__", "requirements"),
)
SENTENCE_KEYS = Keys(
    followed=("max_seq_length", "do_lower_case", "transformer_task"),
    only={
        "processing_kwargs": {},
        "query_length": None,
        "document_length": None,
        "query_expansion": None,
        "tokenizer_args": {},
        "processor_kwargs": {},
        "config_args": {},
        "config_kwargs": {},
    },
    # How its own modules name their outputs, and how PyTorch computes.
    ignored=(
        "modality_config",
        "module_output_name",
        "unpad_inputs",
        "model_args",
        "model_kwargs",
    ),
)


def detect(source: Source) -> bool:
    """Returns whether a source is a sentence-transformers directory."""
    return isinstance(source, Path) and (source / MODULES).is_file()


def load_encoder(
    directory: Path, pooling: str | None, changes: dict[str, Any]
) -> keras.Model:
    """Loads the encoder alone; see `load.load_encoder`."""
    return hugging_face.load_encoder(_body(directory), pooling, changes)


def load_model(directory: Path, changes: dict[str, Any]) -> keras.Model:
    """Loads the encoder with its pooling and what follows it, or a cross-encoder.

    Raises:
        ValueError: If a module or the pooling is not supported.
    """
    modules = _modules(directory)
    kinds = [kind for kind, _ in modules]
    if kinds == ["Transformer"] and _transformer_task(directory) == CROSS_ENCODER_TASK:
        return hugging_face.load_model(_body(directory), changes)
    normalize = kinds[-1:] == ["Normalize"]
    between = kinds[2 : -1 if normalize else None]
    if kinds[:2] != ["Transformer", "Pooling"] or set(between) - {"Dense"}:
        raise ValueError(
            f"{directory / MODULES}: the modules must be Transformer, Pooling and "
            f"perhaps Dense ones and Normalize. Received: {kinds}"
        )
    pooling, include_prompt = _pooling(directory / modules[1][1])
    prompt_length = 0
    if not include_prompt and _prompts(directory)["default_prompt_name"] is not None:
        prompt_length = load_preprocessor(directory, {}).prompt_length
    encoder = load_encoder(directory, "checkpoint", changes)
    folders = [directory / folder for kind, folder in modules if kind == "Dense"]
    sources = [SafetensorsSource(folder) for folder in folders]
    dense = [
        _dense(folder, source, f"dense_{i}")
        for i, (folder, source) in enumerate(zip(folders, sources, strict=True))
    ]
    model = sentence_encoder(encoder, pooling, normalize, prompt_length, dense)
    for folder, layer, source in zip(folders, dense, sources, strict=True):
        weights = [source.read(KERNEL).T]
        if weights[0].shape != layer.kernel.shape:
            raise ValueError(
                f"{folder}: `in_features` must be {layer.kernel.shape[0]}, as wide as "
                f"what comes before. Received: {weights[0].shape[0]}"
            )
        layer.set_weights([*weights, source.read(BIAS)] if layer.use_bias else weights)
    return model


def _dense(folder: Path, source: SafetensorsSource, name: str) -> keras.layers.Dense:
    """Returns the layer of a Dense module, without its weights.

    Raises:
        ValueError: If its configuration is not supported or does not fit its weights.
    """
    path = folder / "config.json"
    raw = read_json(path)
    DENSE_KEYS.check(raw, path)
    theirs = raw.get("activation_function", "torch.nn.modules.activation.Tanh")
    bias, units = raw.get("bias", True), raw.get("out_features")
    known = isinstance(theirs, str) and theirs in DENSE_ACTIVATIONS
    if not known or not isinstance(bias, bool):
        raise ValueError(
            f"{path}: `activation_function` must be one of {[*DENSE_ACTIVATIONS]} and "
            f"`bias` true or false. Received: {theirs!r:.100} and {bias!r:.100}"
        )
    shapes: dict[str, tuple] = {KERNEL: (units, raw.get("in_features"))}
    if bias:
        shapes[BIAS] = (units,)
    stored = {x: source.shape(x) for x in source.names()}
    if stored != shapes:
        raise ValueError(
            f"{path}: the weights must have the shapes {shapes}. Received: {stored}"
        )
    return keras.layers.Dense(units, DENSE_ACTIVATIONS[theirs], bias, name=name)


def _transformer_task(directory: Path) -> str | None:
    """Returns which class of transformers the first module is.

    Raises:
        ValueError: If it is neither an encoder nor a cross-encoder.
    """
    path = _sentence_config(_body(directory))
    task = read_json(path).get("transformer_task") if path else None
    if task not in (*TRANSFORMER_TASKS, None):
        raise ValueError(
            f"{path}: `transformer_task` must be one of {TRANSFORMER_TASKS}. "
            f"Received: {task!r:.200}"
        )
    return task


def load_tokenizer(directory: Path, changes: dict[str, Any]) -> Tokenizer:
    """Loads the tokenizer of the encoder; see `load.load_tokenizer`."""
    body = _body(directory)
    return tokenizers.load_tokenizer(body, {**_lowercase(body), **changes})


def load_preprocessor(directory: Path, changes: dict[str, Any]) -> Preprocessor:
    """Loads the preprocessor of the encoder, with the prompts of the directory."""
    body = _body(directory)
    options = {**_lowercase(body), **_prompts(directory)}
    return tokenizers.load_preprocessor(body, {**options, **changes})


def write(
    model: keras.Model, preprocessor: Preprocessor | None, directory: Path
) -> None:
    """Adds the files of sentence-transformers to the directory of a saved encoder.

    Raises:
        ValueError: If sentence-transformers does not have the model's pooling, or the
            pooling leaves out another prompt than the preprocessor's.
    """
    options = options_of(model)
    pooling = options["pooling"]
    poolings = [pooling] if isinstance(pooling, str) else pooling
    if not set(poolings) <= set(SWITCHES):
        raise ValueError(
            f"sentence-transformers has only the poolings {sorted(SWITCHES)}. "
            f"Received: a model with {pooling!r}"
        )
    if "dimensions" in options:
        raise ValueError(
            "`model` must have whole vectors: sentence-transformers cuts them when it "
            "loads a model (`truncate_dim`). "
            f"Received: dimensions={options['dimensions']}"
        )
    skipped = options.get("prompt_length", 0)
    if skipped and (preprocessor is None or preprocessor.prompt_length != skipped):
        raise ValueError(
            f"`preprocessor` must have the default prompt of {skipped} tokens that "
            f"`model` leaves out of its pooling. Received: {preprocessor!r}"
        )
    config = config_of(encoder_of(model))
    dense = [
        x for x in head_layers(model).values() if isinstance(x, keras.layers.Dense)
    ]
    names = ["Transformer", "Pooling", *["Dense"] * len(dense)]
    if options["normalize"]:
        names.append("Normalize")
    paths = ["", *(f"{i}_{name}" for i, name in enumerate(names[1:], 1))]
    modules = [
        {"idx": i, "name": str(i), "path": paths[i], "type": f"{PREFIX}{name}"}
        for i, name in enumerate(names)
    ]
    _write(directory / MODULES, modules)
    for folder, layer in zip(paths[2:], dense, strict=False):
        _write_dense(directory / folder, layer)
    (directory / POOLING_FOLDER).mkdir()
    width = {"word_embedding_dimension": config.hidden_dim}
    form = {**width, **_pooling_form(poolings), "include_prompt": not skipped}
    _write(directory / POOLING_FOLDER / "config.json", form)
    length = preprocessor.sequence_length if preprocessor else None
    limit = {"max_seq_length": length or config.max_sequence_length}
    _write(directory / SENTENCE_CONFIGS[0], {**limit, "do_lower_case": False})
    if preprocessor is not None:
        prompts = {
            "prompts": preprocessor.prompts,
            "default_prompt_name": preprocessor.default_prompt_name,
        }
        _write(directory / PROMPTS, prompts)


def _modules(directory: Path) -> list[tuple[str, str]]:
    """Returns the class name and folder of each module, in order."""
    path = directory / MODULES
    modules = read_json_value(path)
    try:
        found = [(x["type"].rsplit(".", 1)[-1], x["path"]) for x in modules]
    except Exception as error:  # wrong types
        raise ValueError(f"{path} is not a list of modules: {error!r}") from error
    for module, (kind, folder) in zip(modules, found, strict=True):
        MODULE_KEYS.check(module, path)
        if folder == ".." or not (folder == "" or is_name(folder)):
            raise ValueError(
                f"{path}: the folder of {kind} must be a name in the same directory. "
                f"Received: {folder!r}"
            )
    return found


def _body(directory: Path) -> Path:
    """Returns the directory of the encoder and its tokenizer."""
    folders = [folder for kind, folder in _modules(directory) if kind == "Transformer"]
    return directory / folders[0] if folders else directory


def _sentence_config(body: Path) -> Path | None:
    return next((body / x for x in SENTENCE_CONFIGS if (body / x).is_file()), None)


def _prompts(directory: Path) -> dict[str, Any]:
    """Returns the arguments of `Preprocessor` that the directory has."""
    path = directory / PROMPTS
    raw = optional_json(path)
    PROMPT_KEYS.check(raw, path)
    if raw.get("model_type") not in (*MODEL_TYPES, None):
        raise ValueError(
            f"{path}: `model_type` must be one of {MODEL_TYPES}. "
            f"Received: {raw['model_type']!r:.200}"
        )
    prompts = raw.get("prompts") or {}
    default = raw.get("default_prompt_name")
    named = isinstance(prompts, dict) and all(
        isinstance(x, str | None) for x in prompts.values()
    )
    if not named:
        raise ValueError(
            f"{path}: `prompts` must map names to texts. Received: {prompts!r:.200}"
        )
    if default is not None and default not in prompts:
        raise ValueError(
            f"{path}: `default_prompt_name` must be one of {sorted(prompts)}. "
            f"Received: {default!r}"
        )
    prompts = {name: text or "" for name, text in prompts.items()}
    return {"prompts": prompts, "default_prompt_name": default}


def _lowercase(body: Path) -> dict[str, Any]:
    """Returns the arguments of a tokenizer that lower-cases text first, as asked for.

    Raises:
        ValueError: If the tokenizer cannot.
    """
    path = _sentence_config(body)
    raw = read_json(path) if path else {}
    if path:
        SENTENCE_KEYS.check(raw, path)
    lowers = raw.get("do_lower_case") or False
    if not isinstance(lowers, bool):
        raise ValueError(
            f"{path}: `do_lower_case` must be true or false. Received: {lowers!r}"
        )
    if not lowers:
        return {}
    tokenizer: Any = tokenizers.load_tokenizer(body, {})
    if isinstance(tokenizer, WordPieceTokenizer):
        accents = tokenizer.strip_accents
        strips = tokenizer.lowercase if accents is None else accents
        return {"lowercase": True, "strip_accents": strips}
    if isinstance(tokenizer, SentencePieceTokenizer):
        steps = [x for x in tokenizer.normalization if x != "lowercase"]
        return {"normalization": ["lowercase", *steps]}
    raise ValueError(
        f"{path}: `do_lower_case` must be false, since {type(tokenizer).__name__} does "
        "not lower-case text. Received: True"
    )


def _pooling(directory: Path) -> tuple[list[str], bool]:
    """Returns our names of the poolings, and whether they include the prompt."""
    path = directory / "config.json"
    raw = read_json(path)
    POOLING_KEYS.check(raw, path)
    for name in (*SWITCHES.values(), "include_prompt"):
        if not isinstance(raw.get(name), bool | None):
            raise ValueError(
                f"{path}: `{name}` must be true or false. Received: {raw[name]!r}"
            )
    modes: Any = [name for name, switch in SWITCHES.items() if raw.get(switch)]
    if raw.get(MODE) is not None:
        ours = {mode: name for name, mode in MODES.items()}
        named = raw[MODE] if isinstance(raw[MODE], list) else [raw[MODE]]
        modes = [ours.get(x) if isinstance(x, str) else None for x in named]
    if not modes or None in modes:
        raise ValueError(
            f"{path}: the pooling must be one of {[*MODES.values()]}, or several. "
            f"Received: {raw.get(MODE)!r}"
        )
    return modes, raw.get("include_prompt") is not False


def _pooling_form(poolings: list[str]) -> dict[str, Any]:
    """Returns the fields of the poolings: switches, which have one order, or names."""
    if poolings == [x for x in SWITCHES if x in poolings]:
        return {switch: name in poolings for name, switch in SWITCHES.items()}
    return {MODE: [MODES[x] for x in poolings]}


def _write_dense(folder: Path, layer: keras.layers.Dense) -> None:
    """Writes a Dense module.

    Raises:
        ValueError: If sentence-transformers has no class for its activation.
    """
    from safetensors.numpy import save_file

    name = keras.activations.serialize(layer.activation)
    theirs = {ours: x for x, ours in DENSE_ACTIVATIONS.items()}
    if name not in theirs:
        raise ValueError(
            f"The activation of `dense` must be one of {[*theirs]} for "
            f"sentence-transformers. Received: {name!r}"
        )
    kernel, *bias = (np.asarray(x) for x in layer.get_weights())
    folder.mkdir()
    form = {
        "in_features": kernel.shape[0],
        "out_features": kernel.shape[1],
        "bias": layer.use_bias,
        "activation_function": theirs[name],
    }
    _write(folder / "config.json", form)
    tensors = {KERNEL: np.ascontiguousarray(kernel.T)}
    save_file({**tensors, **({BIAS: bias[0]} if bias else {})}, folder / WEIGHTS)
    (folder / WEIGHTS).chmod(0o644)


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2))
