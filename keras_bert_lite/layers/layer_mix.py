"""A learned mix of an encoder's layers."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LayerMix(keras.layers.Layer):
    """Mixes the hidden states of L layers with one learned weight per layer.

    `scale * sum over l of softmax(scores)[l] * states[l]`, at first their mean. With
    the encoder frozen, `shares()` tells which layers know what a task needs.

    Call arguments:
        states: A list of L tensors of one shape, `(B, S, H)`, such as the
            `hidden_states` of `with_hidden_states`.

    Output shape:
        `(B, S, H)`.

    Raises:
        ValueError: If `states` is not a list of tensors of one shape.

    Example, a probe:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> encoder.trainable = False
    >>> states = kbl.with_hidden_states(encoder, attentions=False)
    >>> mix = kbl.layers.LayerMix()
    >>> x = mix(states.output["hidden_states"])
    >>> pooler = kbl.layers.Pooler("mean")
    >>> x = pooler(x, padding_mask=states.input["padding_mask"])
    >>> probe = keras.Model(states.input, keras.layers.Dense(2)(x))
    >>> mix.shares().round(2)  # before it is trained
    array([0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14], dtype=float32)

    Reference: [Peters et al., 2018](https://arxiv.org/abs/1802.05365), equation 1.
    """

    def build(self, states_shape):
        is_list = isinstance(states_shape, list)
        if not is_list or len({tuple(shape) for shape in states_shape}) != 1:
            raise ValueError(
                "`states` must be a list of tensors of one shape. "
                f"Received: {states_shape}"
            )
        self.scores = self.add_weight(
            shape=(len(states_shape),), initializer="zeros", name="scores"
        )
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, states):
        weights = self.scale * ops.softmax(self.scores)
        return sum(weights[i] * state for i, state in enumerate(states))

    def compute_mask(self, states, previous_mask):
        return previous_mask[0]

    def compute_output_shape(self, states_shape):
        return tuple(states_shape[0])

    def shares(self):
        """Returns each layer's share in the mix, a numpy array `(L,)` of sum 1."""
        return ops.convert_to_numpy(ops.softmax(self.scores))
