"""What the training tests share."""

import keras
import numpy as np

import keras_bert_lite as kbl
from tests import tiny
from tests.models.samples import ids

INPUTS = ids(lengths=(5, 3, 4, 2))
TARGETS = np.array([0, 1, 1, 0])
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
RELATIVE = kbl.config.RelativePositions(max_distance=8, buckets=4)
# What differs between families, where it adds or removes weights.
FAMILIES = {
    "bert": {},
    "albert": {"embedding_dim": 8, "num_groups": 1, "family": "albert"},
    "electra": {"embedding_dim": 8, "pooling": None, "family": "electra"},
    "deberta": {
        "embedding_dim": 8,
        "project_before_norm": True,
        "num_segments": 0,
        "relative_positions": RELATIVE,
        "convolution_size": 3,
        "pooling": None,
        "family": "deberta-v2",
    },
}


def classifier(seed=0, **changes):
    """A classifier that seeded random numbers initialize."""
    keras.utils.set_random_seed(seed)
    return tiny.classifier(**changes)


def compiled(model, optimizer, **arguments):
    """Compiles a model to run eagerly: tracing takes longer than what tests run."""
    eagerly = keras.backend.backend() == "tensorflow" and not arguments
    model.compile(optimizer, LOSS, run_eagerly=eagerly, **arguments)
    return model


def values(model, trainable=False):
    """The weights of a model by path."""
    weights = model.trainable_weights if trainable else model.weights
    return {x.path: keras.ops.convert_to_numpy(x) for x in weights}


def same(got, want, tolerance=1e-6):
    assert got.keys() == want.keys()
    for path in want:
        np.testing.assert_allclose(
            got[path], want[path], rtol=0, atol=tolerance, err_msg=path
        )


def changed(before, after):
    """Returns the paths of the weights that moved."""
    return {path for path in before if not np.array_equal(before[path], after[path])}
