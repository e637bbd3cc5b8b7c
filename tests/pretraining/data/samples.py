"""Text, and the pretraining data made from it."""

import numpy as np
import tensorflow as tf

from keras_bert_lite.pretraining.write_data import write_pretraining_data
from tests import tiny

WORDS = ("the", "day", "fine", "bad", "weather", "is", "not")


def text(documents=60, seed=0):
    rng = np.random.default_rng(seed)
    return "\n\n".join(
        "\n".join(" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(lines))
        for lines in rng.integers(1, 9, documents)
    )


def write(path, directory, **options):
    options = {"chunk_bytes": 1000, "workers": 1, "show_progress": False, **options}
    return write_pretraining_data(path, directory, tiny.preprocessor(32), **options)


def files(directory):
    return {x.name: x.read_bytes() for x in sorted(directory.iterdir())}


def rows_of(directory):
    names = [str(x) for x in sorted(directory.glob("*.tfrecord"))]
    examples = [
        tf.train.Example.FromString(x.numpy()) for x in tf.data.TFRecordDataset(names)
    ]
    return [
        {k: list(x.int64_list.value) for k, x in example.features.feature.items()}
        for example in examples
    ]
