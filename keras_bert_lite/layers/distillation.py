"""Layers that add distillation losses between a student and its teacher."""

import copy
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_above_zero, check_choice
from keras_bert_lite.layers.base import CompositeLayer, Initializer

Pairs = Sequence[tuple[int, int]]
TINY = 1e-9  # keeps logarithms of masked weights finite


class _Comparison(CompositeLayer):
    """Adds a loss and returns its first input."""

    def __init__(self, weight: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_above_zero("weight", weight)
        self.weight = weight

    def _add(self, values, valid=None) -> None:
        """Adds the mean of the valid values as a loss."""
        if valid is None:
            mean = ops.mean(values)
        else:
            valid = ops.cast(valid, values.dtype)
            mean = ops.sum(values * valid) / ops.maximum(ops.sum(valid), 1)
        self.add_loss(self.weight * mean)

    def compute_output_spec(self, x, *_, **__):
        return keras.KerasTensor(x.shape, dtype=x.dtype)

    def compute_output_shape(self, x_shape, *_, **__):
        return tuple(x_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "weight": self.weight}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LogitDistillation(_Comparison):
    """Trains a student to match its teacher's softened predictions.

    Adds `weight T^2 KL(softmax(teacher / T) || softmax(student / T))`, averaged over
    the valid positions.

    Args:
        temperature: T. A higher temperature gives unlikely classes more weight.
        weight: Weight of the loss.

    Call arguments:
        x: The student's logits, `(..., V)`, which are returned.
        teacher_logits: The teacher's logits, of the same shape.
        valid: Booleans `(...)`, true at valid positions; all are valid if absent.

    Output shape:
        `(..., V)`.

    Reference: [Hinton et al., 2015](https://arxiv.org/abs/1503.02531), section 2;
    [Sanh et al., 2019](https://arxiv.org/abs/1910.01108), section 2.
    """

    def __init__(
        self, temperature: float = 2.0, weight: float = 5.0, **kwargs: Any
    ) -> None:
        super().__init__(weight, **kwargs)
        check_above_zero("temperature", temperature)
        self.temperature = temperature

    def call(self, x, teacher_logits, valid=None):
        ours, theirs = (
            ops.log_softmax(ops.cast(y, "float32") / self.temperature)
            for y in (x, ops.stop_gradient(teacher_logits))
        )
        divergence = ops.sum(ops.exp(theirs) * (theirs - ours), axis=-1)
        self._add(self.temperature**2 * divergence, valid)
        return x

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "temperature": self.temperature}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class HiddenStateDistillation(_Comparison):
    """Trains a student's hidden states to match its teacher's.

    Adds `weight` times `1 - cosine` or the mean squared difference, averaged over real
    tokens and summed over the pairs of layers. If the widths differ, one matrix
    projects all of the student's states.

    Args:
        pairs: Pairs of a student's and a teacher's layer. 0 is the output of the
            embeddings; L or -1 is the output of the last layer.
        loss: `"cosine"` (DistilBERT) or `"mse"` (TinyBERT).
        weight: Weight of the loss.

    Call arguments:
        x: Any tensor, which is returned.
        states, teacher_states: Lists of `(B, S, H)`, see `encoder(hidden_states=True)`.
        valid: Booleans `(B, S)`, true at real tokens; all are real if absent.

    Output shape:
        The shape of `x`.

    Reference: [Sanh et al., 2019](https://arxiv.org/abs/1910.01108), section 3;
    [Jiao et al., 2020](https://arxiv.org/abs/1909.10351), equation 8.
    """

    def __init__(
        self,
        pairs: Pairs = ((-1, -1),),
        loss: str = "cosine",
        weight: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, **kwargs)
        check_choice("loss", loss, ("cosine", "mse"))
        self.pairs = _checked_pairs(pairs)
        self.loss = loss
        self.projection: Any = None

    def build(self, x_shape, states_shape, teacher_states_shape, valid_shape=None):
        _check_there(self.pairs, states_shape, teacher_states_shape)
        width, wanted = states_shape[0][-1], teacher_states_shape[0][-1]
        if width != wanted:
            self.projection = keras.layers.Dense(
                wanted,
                kernel_initializer=Initializer(stddev=0.02),
                trainable=self.trainable,
                dtype=self.dtype_policy,
                name="projection",
            )
            self.projection.build((None, None, width))

    def call(self, x, states, teacher_states, valid=None):
        for ours, theirs in self.pairs:
            state, target = states[ours], ops.stop_gradient(teacher_states[theirs])
            if self.projection is not None:
                state = self.projection(state)
            state, target = (ops.cast(y, "float32") for y in (state, target))
            self._add(_distance(state, target, self.loss), valid)
        return x

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pairs": self.pairs, "loss": self.loss}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SimilarityDistillation(_Comparison):
    """Trains a student to predict how similar its teacher finds two texts.

    The student reads both texts in one row, and the teacher each text alone. Adds
    `weight` times the mean squared difference between a linear layer of the student's
    vector and the cosine of the teacher's vectors.

    Args:
        weight: Weight of the loss.

    Call arguments:
        x: Any tensor, which is returned.
        row: The student's vectors of the pairs, `(B, H)`.
        first, second: The teacher's vectors of the texts, `(B, H')`.

    Output shape:
        The shape of `x`.

    Reference: [Liu et al., 2022](https://arxiv.org/abs/2109.13059), section 2, from a
    bi-encoder to a cross-encoder, where the loss is a cross-entropy.
    """

    def __init__(self, weight: float = 1.0, **kwargs: Any) -> None:
        super().__init__(weight, **kwargs)
        self.similarity = keras.layers.Dense(
            1,
            kernel_initializer=Initializer(stddev=0.02),
            dtype=self.dtype_policy,
            name="similarity",
        )

    def build(self, x_shape, row_shape, first_shape, second_shape):
        self.similarity.build(row_shape)

    def call(self, x, row, first, second):
        first, second = (
            ops.normalize(ops.cast(ops.stop_gradient(y), "float32"))
            for y in (first, second)
        )
        found = ops.cast(self.similarity(row), "float32")[:, 0]
        self._add(ops.square(found - ops.sum(first * second, axis=-1)))
        return x


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class AttentionDistillation(_Comparison):
    """Trains a student's attention weights to match its teacher's.

    Adds `weight KL(teacher || student)`, averaged over heads and real tokens and summed
    over the pairs of layers. Both need the same number of heads.

    Args:
        pairs: Pairs of a student's and a teacher's layer, from 0; -1 is the last.
            MiniLM only matches the last.
        weight: Weight of the loss.

    Call arguments:
        x: Any tensor, which is returned.
        attentions, teacher_attentions: Lists of `(B, N, S, S)`, see
            `encoder(attentions=True)`.
        valid: Booleans `(B, S)`, true at real tokens; all are real if absent.

    Output shape:
        The shape of `x`.

    Reference: [Wang et al., 2020](https://arxiv.org/abs/2002.10957), equation 1;
    for each layer: [Jiao et al., 2020](https://arxiv.org/abs/1909.10351).
    """

    def __init__(
        self, pairs: Pairs = ((-1, -1),), weight: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(weight, **kwargs)
        self.pairs = _checked_pairs(pairs)

    def build(
        self, x_shape, attentions_shape, teacher_attentions_shape, valid_shape=None
    ):
        _check_there(self.pairs, attentions_shape, teacher_attentions_shape)
        ours, theirs = attentions_shape[0][1], teacher_attentions_shape[0][1]
        if ours != theirs:
            raise ValueError(
                "`attentions` and `teacher_attentions` must have the same number of "
                f"heads. Received: {ours} and {theirs}"
            )

    def call(self, x, attentions, teacher_attentions, valid=None):
        for ours, theirs in self.pairs:
            target = ops.cast(ops.stop_gradient(teacher_attentions[theirs]), "float32")
            weights = ops.cast(attentions[ours], "float32")
            ratio = (target + TINY) / (weights + TINY)
            divergence = ops.sum(target * ops.log(ratio), axis=-1)  # (B, N, S)
            self._add(ops.mean(divergence, axis=1), valid)
        return x

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pairs": self.pairs}


def _distance(state, target, loss: str):
    """Returns the distances of vectors `(B, S, H)`: `(B, S)`."""
    if loss == "mse":
        return ops.mean(ops.square(state - target), axis=-1)
    return 1 - ops.sum(ops.normalize(state) * ops.normalize(target), axis=-1)


def _checked_pairs(pairs: Pairs) -> list[list[int]]:
    values = [list(pair) for pair in pairs]
    if not values or any(
        len(pair) != 2 or not all(isinstance(i, int) for i in pair) for pair in values
    ):
        raise ValueError(
            "`pairs` must be pairs of indices, a layer of the student and one of the "
            f"teacher. Received: {pairs!r}"
        )
    return values


def _check_there(pairs: list[list[int]], ours: Sequence, theirs: Sequence) -> None:
    counts = (len(ours), len(theirs))
    for pair in pairs:
        if any(not -n <= i < n for i, n in zip(pair, counts, strict=True)):
            raise ValueError(
                f"`pairs` must be indices of the {counts[0]} layers of the student and "
                f"the {counts[1]} of the teacher. Received: {pair}"
            )


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Teacher(keras.layers.Layer):
    """Runs a model in inference mode while another one is trained.

    `model(x, training=False)` in a functional model has no effect: Keras passes the
    mode of the outer model to all inner layers.

    Args:
        model: The model. It is made untrainable.

    Call arguments:
        inputs: The inputs of the model.

    Output shape:
        The output shape of the model.
    """

    def __init__(self, model: keras.Model, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model
        self.trainable = False

    def build(self, _):
        self.built = True  # its model is built

    def call(self, inputs):
        return self.model(inputs, training=False)

    def compute_output_spec(self, inputs):
        return self.model.compute_output_spec(inputs)

    def compute_output_shape(self, inputs_shape):
        return self.model.compute_output_shape(inputs_shape)

    def get_config(self) -> dict[str, Any]:
        model = keras.saving.serialize_keras_object(self.model)
        return {**super().get_config(), "model": model}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Teacher":
        # Keras removes keys from a model's configuration while reading it.
        model = keras.saving.deserialize_keras_object(copy.deepcopy(config["model"]))
        return cls(**{**config, "model": model})
