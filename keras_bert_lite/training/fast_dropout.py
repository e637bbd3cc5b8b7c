"""Dropout masks from fewer random bits."""

import keras

from keras_bert_lite.compiled import discard_compiled
from keras_bert_lite.layers.dropout import Dropout
from keras_bert_lite.training.jax_choices import layers_to_set


def set_fast_dropout(model: keras.Model, choice: bool = True) -> None:
    """Turns masks of 8 random bits an element on or off, for training on TPU under JAX.

    By default Keras draws 32 bits an element with the generator threefry, which is
    vector work: most of a compiled step's integer operations, drawn again for the
    gradients. With this, masks come from `rbg`, XLA's own generator. On TPUs, for which
    steps were compiled but not run, it leaves a hundredth of those operations
    (`benchmarks/tpu`). What it costs:

    - the masks of a seed depend on the kind of device, the version of the compiler and
      how arrays are split over devices: a run repeats on the same devices only, and
      resumed on others it draws other masks. Threefry's are the same everywhere;
    - rates are rounded to a 256th (0.1 to 26 / 256), and what is kept is scaled by the
      rounded rate;
    - masks are stored for the gradients, a byte an element.

    The choice belongs to a run: no `.keras` file, checkpoint or clone has it. It is
    for the dropout of the encoder, not of the heads.

    Args:
        model: An encoder or a model built on one.
        choice: Whether to use them.

    Raises:
        TypeError: If `choice` is not a boolean.
        NotImplementedError: If the backend is not JAX.
        ValueError: If the model has no dropout of an encoder.

    Reference: ["Advanced RNG configuration"](https://docs.jax.dev/en/latest/jax.random.html)
    of JAX.
    """
    found = layers_to_set(
        model,
        choice,
        Dropout,
        "; others draw their own bits",
        "an encoder with dropout",
    )
    for layer in found:
        layer.fast = choice
    discard_compiled(model)
