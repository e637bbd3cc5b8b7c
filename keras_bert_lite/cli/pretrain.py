"""`vocabulary`, `pretraining-data`, `pretrain`: from text to a pretrained encoder."""

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.training.pretraining.data.dataset import read_recipe

MODEL = "model"  # the folder of a run's trained model
RUN = (  # options passed on to the training functions
    "batch_size",
    "learning_rate",
    "warmup",
    "weight_decay",
    "accumulate",
    "save_every",
    "seed",
)


def vocabulary(options: argparse.Namespace) -> None:
    """Learns a WordPiece vocabulary from text."""
    lowercase = not options.cased
    pieces = kbl.pretraining.train_wordpiece(
        options.text, options.size, lowercase=lowercase
    )
    tokenizer = kbl.WordPieceTokenizer(pieces, lowercase=lowercase)
    options.directory.mkdir(parents=True, exist_ok=True)
    config = kbl.EncoderConfig.named("bert_tiny_uncased", vocabulary_size=len(pieces))
    write_tokenizer(kbl.Preprocessor(tokenizer), config, options.directory)
    print(f"{options.directory}: {len(pieces)} pieces")


def pretraining_data(options: argparse.Namespace) -> None:
    """Converts text to pretraining data."""
    preprocessor = kbl.load_preprocessor(
        options.preprocessor, sequence_length=options.sequence_length
    )
    names = ("objective", "sentences", "short_share", "pack", "repeats", "masking")
    recipe = given(options, *names, "chunk_bytes", "seed")
    done = kbl.pretraining.write_pretraining_data(
        options.text, options.directory, preprocessor, options.workers, **recipe
    )
    print(f"{options.directory}: " + ", ".join(f"{v} {k}" for k, v in done.items()))


def begin(options: argparse.Namespace) -> None:
    """Sets the random seed and, if requested, determinism."""
    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()


def pretrain(options: argparse.Namespace) -> None:
    """Pretrains an encoder, or resumes pretraining."""
    begin(options)
    if options.precision:
        keras.config.set_dtype_policy(options.precision)
    recipe = read_recipe(options.data, "data")
    full, model = _models(options, recipe)
    if options.gradient_checkpointing:
        kbl.tuning.set_gradient_checkpointing(model)
    callbacks = []
    if options.tensorboard:
        if importlib.util.find_spec("tensorboard") is None:
            raise ImportError(
                "`--tensorboard` needs the package tensorboard: `pip install "
                "tensorboard`."
            )
        callbacks.append(keras.callbacks.TensorBoard(options.tensorboard))
    kbl.pretraining.pretrain(
        model,
        options.data,
        options.directory,
        options.steps,
        callbacks=callbacks,
        **given(options, *RUN, "optimizer", "validation"),
    )
    if options.replaced_tokens:
        full = kbl.pretraining.electra_discriminator(model)
        if config_of(encoder_of(full)).family != "electra":  # others have no such head
            full = encoder_of(full)
    directory = options.directory / MODEL
    kbl.save_hugging_face(full, recipe.preprocessor, directory)
    print(f"{directory}: the model, for load_model, load_encoder and transformers")


def _models(options: argparse.Namespace, recipe: Any) -> tuple[Any, Any]:
    """Returns the model to save in the end and the model to train."""
    if options.model is not None:
        full = kbl.load_model(options.model)
    else:
        full = kbl.encoder(config_for(options.config, recipe.preprocessor))
        if not options.replaced_tokens:
            full = _with_heads(full, recipe.has_pairs)
    if options.replaced_tokens:
        seed = options.seed
        return full, kbl.pretraining.electra_pretrainer(
            full, packed=recipe.pack, seed=seed
        )
    return full, kbl.pretraining.masked_positions_model(full, packed=recipe.pack)


def _with_heads(encoder: Any, pairs: bool) -> Any:
    """Returns the encoder with a head for each of the data's targets."""
    if pairs and "pooled_output" in encoder.output:
        return kbl.pretraining.bert_pretrainer(encoder)
    if pairs:
        print(
            "The encoder has no pooler to classify pairs: training masked words only."
        )
    return kbl.masked_lm(encoder)


def config_for(name: str, preprocessor: Any, **changes: Any) -> Any:
    """Returns a configuration by name or file, with the tokenizer's vocabulary."""
    changes["vocabulary_size"] = preprocessor.tokenizer.vocabulary_size()
    if name in kbl.EncoderConfig.names():
        return kbl.EncoderConfig.named(name, **changes)
    if not Path(name).is_file():
        names = ", ".join(kbl.EncoderConfig.names())
        raise FileNotFoundError(
            f"`config` must be a file or one of {names}. Received: {name!r}"
        )
    fields = json.loads(Path(name).read_text(encoding="utf-8"))
    return kbl.EncoderConfig(**{**fields, **changes})


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Returns the options that were given; the others keep the functions' defaults."""
    return {x: y for x in names if (y := getattr(options, x)) is not None}
