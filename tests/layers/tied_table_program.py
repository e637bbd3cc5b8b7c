"""Prints the gradient of a tied table on one device, 8 x 1 and 4 x 2."""

import json

import jax
import keras
import numpy as np
from keras import ops

from keras_bert_lite import layers
from keras_bert_lite.distribution import setup
from keras_bert_lite.models.encoder_parts import make_embeddings
from tests import tiny


def gradient():
    """Of vectors that are looked up, and scored against the table."""
    keras.utils.set_random_seed(0)
    layer = make_embeddings(tiny.config(initializer_range=0.3))
    score = layers.VocabularyScores()
    ids = np.random.default_rng(0).integers(0, 40, (8, 6), "int32")
    layer.build(ids.shape)
    others = [x.value for x in layer.non_trainable_variables]

    def loss(weights):
        (x, table), _ = layer.stateless_call(weights, others, ids, return_table=True)
        return ops.sum(ops.sin(score(x[:, :3], table)))

    found = jax.jit(jax.grad(loss))([x.value for x in layer.trainable_variables])
    return np.asarray(found[0]).tolist()


def main():
    found = [gradient()]
    for model in (1, 2):
        setup(model=model)
        found.append(gradient())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
