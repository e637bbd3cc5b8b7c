"""From text to a pretrained encoder: `vocabulary`, `pretraining-data`, `pretrain`."""

import argparse
import json
from pathlib import Path
from typing import Any

MODEL = "model"  # where a run leaves what it has trained
RUN = (  # options that are handed on
    "batch_size",
    "learning_rate",
    "warmup",
    "weight_decay",
    "accumulate",
    "save_every",
    "seed",
)


def add_commands(commands: Any) -> None:
    """Adds the three commands to a parser."""
    _add_vocabulary(commands)
    _add_data(commands)
    _add_pretrain(commands)


def _add_vocabulary(commands: Any) -> None:
    parser = commands.add_parser(
        "vocabulary", help="learn a WordPiece vocabulary from text"
    )
    parser.add_argument("text", nargs="+", type=Path, help="UTF-8 text files")
    parser.add_argument("--directory", required=True, type=Path, help="for the result")
    parser.add_argument("--size", type=int, default=8192, help="pieces at most")
    parser.add_argument("--cased", action="store_true", help="keep case and accents")
    parser.set_defaults(run=_vocabulary)


def _vocabulary(options: argparse.Namespace) -> None:
    import keras_bert_lite as kbl
    from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer

    lowercase = not options.cased
    pieces = kbl.pretraining.train_wordpiece(
        options.text, options.size, lowercase=lowercase
    )
    tokenizer = kbl.WordPieceTokenizer(pieces, lowercase=lowercase)
    options.directory.mkdir(parents=True, exist_ok=True)
    config = kbl.EncoderConfig.named("bert_tiny_uncased", vocabulary_size=len(pieces))
    write_tokenizer(kbl.Preprocessor(tokenizer), config, options.directory)
    print(f"{options.directory}: {len(pieces)} pieces")


def _add_data(commands: Any) -> None:
    parser = commands.add_parser(
        "pretraining-data", help="turn text into data for pretraining"
    )
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="UTF-8 text files, .gz or .xz if compressed")
    add("--directory", required=True, type=Path, help="for the result")
    add("--preprocessor", required=True, help="a name, a directory, or hf://")
    add("--sequence-length", type=int, default=128, help="tokens of a row")
    add(
        "--objective",
        choices=("next_sentence", "sentence_order", "none"),
        help="beside masked words; pairs too long for a row are cut (default: "
        "next_sentence)",
    )
    add("--sentences", choices=("lines", "split"), help="a sentence a line, or prose")
    add("--short-share", type=float, help="share of rows of a random length")
    add("--pack", action="store_true", default=None, help="several texts in a row")
    add("--repeats", type=int, help="how often each document is used")
    add("--masking", type=json.loads, help="mask once, with these options (JSON)")
    add("--chunk-bytes", type=int, help="text of a shard")
    add("--seed", type=int)
    parser.add_argument("--workers", type=int, help="threads (default: all cores)")
    parser.set_defaults(run=_data)


def _data(options: argparse.Namespace) -> None:
    import keras_bert_lite as kbl

    preprocessor = kbl.load_preprocessor(
        options.preprocessor, sequence_length=options.sequence_length
    )
    names = ("objective", "sentences", "short_share", "pack", "repeats", "masking")
    recipe = given(options, *names, "chunk_bytes", "seed")
    done = kbl.pretraining.write_pretraining_data(
        options.text, options.directory, preprocessor, options.workers, **recipe
    )
    print(f"{options.directory}: " + ", ".join(f"{v} {k}" for k, v in done.items()))


def _add_pretrain(commands: Any) -> None:
    parser = commands.add_parser("pretrain", help="pretrain an encoder, or go on")
    add = parser.add_argument
    add("data", type=Path, help="made by pretraining-data")
    add_run_options(parser)
    add("--replaced-tokens", action="store_true", help="train as ELECTRA does")
    add("--optimizer", choices=("adamw", "lamb"))
    add("--validation", type=Path, help="data that are held out")
    add("--precision", choices=("float32", "mixed_float16", "mixed_bfloat16"))
    add("--gradient-checkpointing", action="store_true")
    add("--tensorboard", type=Path, help="where to log")
    parser.set_defaults(run=_pretrain)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds what every run of training has: `RUN`, where it begins and is saved."""
    add = parser.add_argument
    add("--directory", required=True, type=Path, help="of the run, its saves and model")
    add = parser.add_mutually_exclusive_group(required=True).add_argument
    add("--config", help="a published name, or a JSON file of EncoderConfig's fields")
    add("--model", help="begin with a checkpoint's weights instead: a directory, hf://")
    add = parser.add_argument
    add("--steps", required=True, type=int)
    add("--batch-size", type=int)
    add("--learning-rate", type=float)
    add("--warmup", type=float, help="share of the steps")
    add("--weight-decay", type=float)
    add("--accumulate", type=int, help="steps of an update")
    add("--save-every", type=int)
    add("--seed", type=int, default=0)
    add(
        "--deterministic",
        action="store_true",
        help="run ops of TensorFlow that give the same bits each time",
    )


def begin(options: argparse.Namespace) -> None:
    """Sets what a run's bits depend on."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()


def _pretrain(options: argparse.Namespace) -> None:
    import keras

    import keras_bert_lite as kbl
    from keras_bert_lite.models.encoder_model import config_of, encoder_of
    from keras_bert_lite.training.pretraining.data.dataset import read_recipe

    begin(options)
    if options.precision:
        keras.config.set_dtype_policy(options.precision)
    recipe = read_recipe(options.data, "data")
    full, model = _models(options, recipe)
    if options.gradient_checkpointing:
        kbl.tuning.set_gradient_checkpointing(model)
    callbacks = []
    if options.tensorboard:
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
    """The model that is saved in the end, and the one that is trained."""
    import keras_bert_lite as kbl

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
    """The encoder with the heads that the data have targets for."""
    import keras_bert_lite as kbl

    if pairs and "pooled_output" in encoder.output:
        return kbl.pretraining.bert_pretrainer(encoder)
    if pairs:
        print("The encoder has no pooler to judge pairs: it learns masked words alone.")
    return kbl.masked_lm(encoder)


def config_for(name: str, preprocessor: Any, **changes: Any) -> Any:
    """A configuration by its name or its file, with the tokenizer's vocabulary."""
    import keras_bert_lite as kbl

    changes["vocabulary_size"] = preprocessor.tokenizer.vocabulary_size()
    if name in kbl.EncoderConfig.names():
        return kbl.EncoderConfig.named(name, **changes)
    if not Path(name).is_file():
        names = ", ".join(kbl.EncoderConfig.names())
        raise FileNotFoundError(
            f"`config` must be a file, or one of {names}. Received: {name!r}"
        )
    fields = json.loads(Path(name).read_text(encoding="utf-8"))
    return kbl.EncoderConfig(**{**fields, **changes})


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options that were given; the others have the functions' defaults."""
    return {x: y for x in names if (y := getattr(options, x)) is not None}
