"""From a large encoder to a small one with a vocabulary of its own: `distil`."""

import argparse
from pathlib import Path
from typing import Any

from keras_bert_lite.cli.pretraining import MODEL, config_for, given


def add_command(commands: Any) -> None:
    """Adds the command to a parser."""
    parser = commands.add_parser(
        "distil", help="train a small encoder to see words as a large one does"
    )
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="UTF-8 text files, .gz or .xz if compressed")
    add("--directory", required=True, type=Path, help="of the run, its saves and model")
    add("--teacher", required=True, help="a checkpoint: see load_encoder")
    add(
        "--preprocessor", required=True, help="a directory with the student's tokenizer"
    )
    add("--config", help="a published name, or a JSON file of EncoderConfig's fields")
    add("--model", help="begin with a checkpoint's weights instead: see load_encoder")
    add("--sequence-length", type=int, default=128, help="tokens of a text")
    add("--sentences", choices=("lines", "split"), help="a sentence a line, or prose")
    add("--pairs", action="store_true", help="two texts in a row, too")
    add("--steps", required=True, type=int)
    add("--batch-size", type=int, help="sentences of a step")
    add("--learning-rate", type=float)
    add("--save-every", type=int)
    add("--validation", nargs="+", type=Path, help="text files that are held out")
    add("--seed", type=int, default=0)
    add("--dtype", choices=("float32", "float16", "bfloat16"), help="of the result")
    add("--dropout", type=float, help="rate that the result has, to be fine-tuned with")
    parser.set_defaults(run=_distil)


def _distil(options: argparse.Namespace) -> None:
    import keras

    import keras_bert_lite as kbl
    from keras_bert_lite.models.word_distillation import share_segments

    if (options.config is None) == (options.model is None):
        raise SystemExit("keras-bert-lite distil: one of --config and --model")
    keras.utils.set_random_seed(options.seed)
    load = {"sequence_length": options.sequence_length}
    preprocessor = kbl.load_preprocessor(options.preprocessor, **load)
    if options.model is not None:
        student = kbl.load_encoder(options.model)
    else:
        config = config_for(options.config, preprocessor, pooling=None)
        student = kbl.encoder(config)
    names = ("batch_size", "learning_rate", "save_every", "validation", "sentences")
    kbl.distil_words(
        student,
        preprocessor,
        kbl.load_encoder(options.teacher),
        kbl.load_preprocessor(options.teacher, **load),
        options.text,
        options.directory,
        options.steps,
        **given(options, *names, "pairs", "seed"),
    )
    if options.config is not None and not options.pairs:
        share_segments(student)
    directory = options.directory / MODEL
    if options.dropout is not None:
        student = _with_dropout(student, options.dropout)
    model = kbl.sentence_encoder(student, pooling="mean")
    kbl.save_hugging_face(model, preprocessor, directory, **given(options, "dtype"))
    print(f"{directory}: the model, for load_encoder, load_model and transformers")


def _with_dropout(student: Any, rate: float) -> Any:
    """An encoder of the same weights."""
    import keras_bert_lite as kbl
    from keras_bert_lite.models.encoder import config_of

    config = config_of(student).replace(dropout=rate, attention_dropout=rate)
    encoder = kbl.encoder(config)
    encoder.set_weights(student.get_weights())
    return encoder
