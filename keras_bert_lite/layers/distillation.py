"""What a student is to have in common with its teacher, as losses."""

import copy
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_choice
from keras_bert_lite.layers.base import CompositeLayer, Initializer

Pairs = Sequence[tuple[int, int]]
TINY = 1e-9  # keeps the logarithm of a masked weight finite


class _Comparison(CompositeLayer):
    """Adds a loss and passes its first input on."""

    def __init__(self, weight: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not weight > 0:
            raise ValueError(f"`weight` must be above 0. Received: {weight!r}")
        self.weight = weight

    def _add(self, values, valid=None) -> None:
        """Adds the mean of the values, of those that are valid."""
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
    """Lets a student's scores follow its teacher's.

    Adds `weight T^2 KL(softmax(teacher / T) || softmax(student / T))`, the mean
    over what counts.

    Args:
        temperature: T; the higher, the more the unlikely answers count.
        weight: Of the loss.

    Call arguments:
        x: The student's logits, `(..., V)`; passed on.
        teacher_logits: Of the same shape.
        valid: Booleans `(...)`, which count; all if absent.

    Output shape:
        `(..., V)`.

    Reference: [Hinton et al., 2015](https://arxiv.org/abs/1503.02531), section 2;
    [Sanh et al., 2019](https://arxiv.org/abs/1910.01108), section 2.
    """

    def __init__(
        self, temperature: float = 2.0, weight: float = 5.0, **kwargs: Any
    ) -> None:
        super().__init__(weight, **kwargs)
        if not temperature > 0:
            raise ValueError(
                f"`temperature` must be above 0. Received: {temperature!r}"
            )
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

    Adds `weight` times the mean over real tokens, summed over the pairs of layers,
    of `1 - cosine` or of the mean squared difference. Where the widths differ, the
    student's states are projected, all by the same matrix.

    Args:
        pairs: Pairs of layers, the student's and the teacher's: 0 is the output of
            the embeddings, L that of the last block, -1 the last.
        loss: `"cosine"` (DistilBERT) or `"mse"` (TinyBERT).
        weight: Of the loss.

    Call arguments:
        x: Any tensor; passed on.
        states, teacher_states: Lists of `(B, S, H)`, see `encoder(hidden_states=True)`.
        valid: Booleans `(B, S)`, true at real tokens; all if absent.

    Output shape:
        That of `x`.

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
    """Lets a student that reads two texts at once tell how alike its teacher sees them.

    Adds `weight` times the mean squared difference of two numbers: the cosine of
    the teacher's vectors of the texts, each read alone, and a linear layer of the
    student's vector of the row that holds both.

    Args:
        weight: Of the loss.

    Call arguments:
        x: Any tensor; passed on.
        row: The student's vectors of pairs, `(B, H)`.
        first, second: The teacher's of the texts, `(B, H')`.

    Output shape:
        That of `x`.

    Reference: [Liu et al., 2022](https://arxiv.org/abs/2109.13059), section 2, from a
    bi-encoder to a cross-encoder; there with cross-entropy.
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
    """Draws a student's attention weights to its teacher's.

    Adds `weight KL(teacher || student)`, the mean over heads and real tokens,
    summed over the pairs of layers. Both need the same number of heads.

    Args:
        pairs: Pairs of layers, the student's and the teacher's, counted from 0;
            -1 is the last. MiniLM matches the last alone.
        weight: Of the loss.

    Call arguments:
        x: Any tensor; passed on.
        attentions, teacher_attentions: Lists of `(B, N, S, S)`, see
            `encoder(attentions=True)`.
        valid: Booleans `(B, S)`, true at real tokens; all if absent.

    Output shape:
        That of `x`.

    Reference: [Wang et al., 2020](https://arxiv.org/abs/2002.10957), equation 1;
    layer by layer: [Jiao et al., 2020](https://arxiv.org/abs/1909.10351).
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
                "`attentions` and `teacher_attentions` must have as many heads. "
                f"Received: {ours} and {theirs}"
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
    """(B, S, H) and the same -> (B, S)."""
    if loss == "mse":
        return ops.mean(ops.square(state - target), axis=-1)
    return 1 - ops.sum(ops.normalize(state) * ops.normalize(target), axis=-1)


def _checked_pairs(pairs: Pairs) -> list[list[int]]:
    values = [list(pair) for pair in pairs]
    if not values or any(
        len(pair) != 2 or not all(isinstance(i, int) for i in pair) for pair in values
    ):
        raise ValueError(
            "`pairs` must be pairs of numbers, a layer of the student and one of the "
            f"teacher. Received: {pairs!r}"
        )
    return values


def _check_there(pairs: list[list[int]], ours: Sequence, theirs: Sequence) -> None:
    counts = (len(ours), len(theirs))
    for pair in pairs:
        if any(not -n <= i < n for i, n in zip(pair, counts, strict=True)):
            raise ValueError(
                f"`pairs` must be of layers that are there, {counts[0]} of the "
                f"student and {counts[1]} of the teacher. Received: {pair}"
            )


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Teacher(keras.layers.Layer):
    """Runs a model as it predicts, without dropout, while another one is trained.

    `model(x, training=False)` in a functional model would not do: Keras hands the
    mode of the outer model on to all that is in it.

    Args:
        model: The model. It is made untrainable.

    Call arguments:
        inputs: As the model's.

    Output shape:
        As the model's.
    """

    def __init__(self, model: keras.Model, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model
        self.trainable = False

    def build(self, _):
        self.built = True  # as its model is

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
        # Keras takes what it reads out of a model's configuration.
        model = keras.saving.deserialize_keras_object(copy.deepcopy(config["model"]))
        return cls(**{**config, "model": model})
