"""From a large encoder to a small one with a vocabulary of its own: `distil`."""

import argparse
from pathlib import Path
from typing import Any

from keras_bert_lite.cli.pretrain import (
    MODEL,
    RUN,
    add_run_options,
    begin,
    config_for,
    given,
)


def add_command(commands: Any) -> None:
    """Adds the command to a parser."""
    parser = commands.add_parser(
        "distil", help="train a small encoder to see words as a large one does"
    )
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="UTF-8 text files, .gz or .xz if compressed")
    add_run_options(parser)
    add("--teacher", required=True, help="a checkpoint: see load_encoder")
    add(
        "--preprocessor", required=True, help="a directory with the student's tokenizer"
    )
    add("--sequence-length", type=int, default=128, help="tokens of a text")
    add("--sentences", choices=("lines", "split"), help="a sentence a line, or prose")
    add("--pairs", action="store_true", help="two texts in a row, too")
    add("--validation", nargs="+", type=Path, help="text files that are held out")
    add("--dtype", choices=("float32", "float16", "bfloat16"), help="of the result")
    add("--dropout", type=float, help="rate that the result has, to be fine-tuned with")
    parser.set_defaults(run=_distil)


def _distil(options: argparse.Namespace) -> None:
    import keras_bert_lite as kbl
    from keras_bert_lite.models.word_distillation import share_segments

    begin(options)
    load = {"sequence_length": options.sequence_length}
    preprocessor = kbl.load_preprocessor(options.preprocessor, **load)
    if options.model is not None:
        student = kbl.load_encoder(options.model)
    else:
        config = config_for(options.config, preprocessor, pooling=None)
        student = kbl.encoder(config)
    kbl.distillation.distill_token_vectors(
        student,
        preprocessor,
        kbl.load_encoder(options.teacher),
        kbl.load_preprocessor(options.teacher, **load),
        options.text,
        options.directory,
        options.steps,
        **given(options, *RUN, "validation", "sentences", "pairs"),
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
    from keras_bert_lite.models.encoder_model import config_of

    config = config_of(student).replace(dropout=rate, attention_dropout=rate)
    encoder = kbl.encoder(config)
    encoder.set_weights(student.get_weights())
    return encoder
