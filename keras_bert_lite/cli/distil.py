"""`distil`: distils a large encoder into a small one with its own vocabulary."""

import argparse
from typing import Any

import keras_bert_lite as kbl
from keras_bert_lite.cli.pretrain import (
    MODEL,
    RUN,
    begin,
    config_for,
    given,
)
from keras_bert_lite.models.encoder_model import config_of
from keras_bert_lite.models.word_distillation import share_segments


def main(options: argparse.Namespace) -> None:
    """Trains a small encoder to match a large one's word vectors."""
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
        **given(
            options, *RUN, "validation", "sentences", "pairs", "layer_pairs", "replaced"
        ),
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
    """Returns an encoder with the same weights and new dropout rates."""
    config = config_of(student).replace(dropout=rate, attention_dropout=rate)
    encoder = kbl.encoder(config)
    encoder.set_weights(student.get_weights())
    return encoder
