"""sentence-transformers directories: an encoder, pooling, normalization, prompts."""

import json
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.hugging_face import loading as hugging_face
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
from keras_bert_lite.tasks.task import options_of
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer

MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
POOLING_FOLDER = "1_Pooling"
# Our pooling -> the switch in the pooling module's config.json.
SWITCHES = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
}
PREFIX = "sentence_transformers.models."
MODEL_TYPES = ("SentenceTransformer", "CrossEncoder")
CROSS_ENCODER_TASK = "sequence-classification"
TRANSFORMER_TASKS = ("feature-extraction", CROSS_ENCODER_TASK)
MODE = "pooling_mode"  # replaces the switches since version 6
OTHER_SWITCHES = (
    "pooling_mode_mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens",
    "pooling_mode_lasttoken",
)
MODULE_KEYS = Keys(followed=("type", "path"), ignored=("idx", "name", "kwargs"))
POOLING_KEYS = Keys(
    followed=(MODE, *SWITCHES.values(), *OTHER_SWITCHES, "include_prompt"),
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
    """Loads the encoder with its pooling and normalization, or a cross-encoder.

    Raises:
        ValueError: If a module or the pooling is not supported.
    """
    modules = _modules(directory)
    kinds = [kind for kind, _ in modules]
    if kinds == ["Transformer"] and _transformer_task(directory) == CROSS_ENCODER_TASK:
        return hugging_face.load_model(_body(directory), changes)
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]):
        raise ValueError(
            f"{directory / MODULES}: the modules must be Transformer, Pooling and "
            f"perhaps Normalize. Received: {kinds}"
        )
    pooling, include_prompt = _pooling(directory / modules[1][1])
    prompt_length = 0
    if not include_prompt and _prompts(directory)["default_prompt_name"] is not None:
        prompt_length = load_preprocessor(directory, {}).prompt_length
    encoder = load_encoder(directory, "checkpoint", changes)
    return sentence_encoder(
        encoder, pooling, normalize=len(kinds) == 3, prompt_length=prompt_length
    )


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
    if pooling not in SWITCHES:
        raise ValueError(
            f"sentence-transformers has only the poolings {sorted(SWITCHES)}. "
            f"Received: a model with {pooling!r}"
        )
    skipped = options.get("prompt_length", 0)
    if skipped and (preprocessor is None or preprocessor.prompt_length != skipped):
        raise ValueError(
            f"`preprocessor` must have the default prompt of {skipped} tokens that "
            f"`model` leaves out of its pooling. Received: {preprocessor!r}"
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
    form = {**width, **switches, "include_prompt": not skipped}
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


def _pooling(directory: Path) -> tuple[str, bool]:
    """Returns our name of the pooling, and whether it includes the prompt."""
    path = directory / "config.json"
    raw = read_json(path)
    POOLING_KEYS.check(raw, path)
    switches = (*SWITCHES.values(), *OTHER_SWITCHES, "include_prompt")
    for name in switches:
        if not isinstance(raw.get(name), bool | None):
            raise ValueError(
                f"{path}: `{name}` must be true or false. Received: {raw[name]!r}"
            )
    modes: Any = [x for x in switches[:-1] if raw.get(x)]
    ours = {switch: name for name, switch in SWITCHES.items()}
    if raw.get(MODE) is not None:
        modes = raw[MODE] if isinstance(raw[MODE], list) else [raw[MODE]]
        ours = {name: name for name in SWITCHES}
    if len(modes) > 1:
        raise ValueError(
            f"{path}: the pooling must be one of {sorted(SWITCHES)} alone; vectors of "
            f"several are not concatenated. Received: {modes!r}"
        )
    if not modes or not isinstance(modes[0], str) or modes[0] not in ours:
        raise ValueError(
            f"{path}: the pooling must be one of {sorted(SWITCHES)}. "
            f"Received: {modes[0] if modes else None!r}"
        )
    return ours[modes[0]], raw.get("include_prompt") is not False


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2))
