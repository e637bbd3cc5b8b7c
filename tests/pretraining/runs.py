"""Small runs of pretraining."""

import keras
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.pretraining.run import pretrain
from keras_bert_lite.tasks.pretraining.bert import (
    bert_pretrainer,
    masked_positions_model,
)
from tests import tiny

tensorflow_only = pytest.mark.tensorflow(
    reason="TensorFlow's own, or minutes elsewhere"
)


def model(build=bert_pretrainer):
    keras.utils.set_random_seed(0)
    config = tiny.config(max_sequence_length=32, num_layers=1)
    return masked_positions_model(build(kbl.encoder(config)))


def run(data, directory, build=bert_pretrainer, **options):
    given = {"steps": 6, "batch_size": 4, "save_every": 2, "verbose": 0, **options}
    made = model(build)
    return made, pretrain(made, data, directory, **given)
