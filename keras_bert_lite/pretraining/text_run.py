"""What runs of pretraining and of distillation share."""

import json
import os
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_seed
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.encoder_model import encoder
from keras_bert_lite.text.preprocessor import Preprocessor

MODEL = "model"  # the folder of a run's trained model
Config = EncoderConfig | str | os.PathLike


def begin(seed: int, deterministic: bool) -> None:
    """Sets the random seed and, if requested, determinism."""
    check_seed(seed)
    keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()


def check_one_start(
    encoder_config: Config | None, model: str | os.PathLike | None
) -> None:
    """Raises a `ValueError` unless one of the two is given."""
    if (encoder_config is None) == (model is None):
        raise ValueError(
            "One of `encoder_config` (random weights) and `model` (the weights of a "
            f"checkpoint) must be given. Received: {encoder_config!r} and {model!r}"
        )


def new_encoder(
    given: Config, preprocessor: Preprocessor, **changes: Any
) -> keras.Model:
    """Returns an encoder of random weights, with the tokenizer's vocabulary.

    Args:
        given: A configuration, a published name, or a JSON file of the fields of
            `EncoderConfig`.
        preprocessor: Its vocabulary's size is the encoder's.
        **changes: Fields to replace.

    Raises:
        FileNotFoundError: If `given` is neither a name nor a file.
        ValueError: If the file does not hold such fields.
    """
    changes["vocabulary_size"] = preprocessor.tokenizer.vocabulary_size()
    if isinstance(given, EncoderConfig):
        return encoder(given.replace(**changes))
    name = os.fspath(given)
    if name in EncoderConfig.names():
        return encoder(EncoderConfig.named(name, **changes))
    if not Path(name).is_file():
        names = ", ".join(EncoderConfig.names())
        raise FileNotFoundError(
            f"`encoder_config` must be a file or one of {names}. Received: {name!r}"
        )
    try:
        fields = json.loads(Path(name).read_text(encoding="utf-8"))
        return encoder(EncoderConfig(**{**fields, **changes}))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error
