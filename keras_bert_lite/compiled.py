"""What Keras compiles of models, and settings that it does not know of."""

import gc

import keras

from keras_bert_lite._private import sublayers

# What Keras compiles once for `fit`, `evaluate` and `predict`.
FUNCTIONS = ("train_function", "test_function", "predict_function")


def discard_compiled(layer: keras.layers.Layer) -> None:
    """Lets all models that share layers with a layer compile their functions again.

    The functions still use the settings from before. A layer does not know the models
    around it, so they are looked for among all objects that are alive.

    Args:
        layer: A layer or a model.
    """
    changed = {id(x) for x in sublayers(layer)}
    for candidate in gc.get_objects():
        if not issubclass(type(candidate), keras.Model):
            continue
        compiled = [x for x in FUNCTIONS if vars(candidate).get(x) is not None]
        if compiled and not changed.isdisjoint(map(id, sublayers(candidate))):
            for name in compiled:  # not `None`, which a running `fit` would call
                getattr(candidate, f"make_{name}")(force=True)
