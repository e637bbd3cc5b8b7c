"""Linear probing: heads that start from a linear model of the encoder's vectors."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert_lite._finite import NotFinite, is_finite
from keras_bert_lite.layers import CompareTexts, DenseHead
from keras_bert_lite.tasks.outputs import Predictor
from keras_bert_lite.tasks.registry import objectives_of
from keras_bert_lite.tasks.task import head_layers, marked_model
from keras_bert_lite.training.linear_model import (
    CHOICES,
    STRENGTHS,
    Examples,
    LinearModel,
    Link,
    Probe,
)


def warm_start(
    model: keras.Model,
    data: Iterable,
    validation_data: Iterable | None = None,
    strengths: Sequence[float] = STRENGTHS,
) -> dict[str, Probe]:
    """Starts a model's heads from linear models of the vectors that they receive.

    The encoder computes the vectors of all rows once. On them a linear model is fitted
    by L-BFGS: a softmax or logistic regression, or a ridge regression for numbers; for
    choices a logistic regression of whether one is right. It is copied into the head,
    so fine-tuning starts from its predictions and not from random logits: linear
    probing, then fine-tuning. This matters most for small data and for many labels.

    Where texts are compared (`compare` of the builders), their cosine, in units of its
    standard deviation, is one more number that the linear model reads. The head can
    hold it, as a sum of what it receives, but few rows do not teach that.

    A head with a hidden layer cannot hold the linear model. It only gets a bias, with
    which the model predicts the frequencies of the labels, or the mean number; scores
    of choices do not depend on it.

    Args:
        model: A model made by `text_classifier`, `multi_label_classifier`,
            `regressor`, `token_classifier`, `intent_and_slot_classifier` or
            `multiple_choice`. Its heads are changed in place.
        data: Batches of inputs, targets and, optionally, weights, from the task's
            data set. Every row counts once, so it must be finite.
        validation_data: Batches that choose among `strengths` by their loss. `None`
            takes the first strength.
        strengths: Inverse strengths of the penalty on the weights.

    Returns:
        The `Probe` of each output, by name.

    Raises:
        ValueError: If an output of the model has no head for a linear model, the head
            has LoRA weights or is quantized, `data` has no rows, a strength is not
            above 0, or the model's vectors are not finite.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> rows = [{"text": "a lovely day", "label": "good"},
    ...         {"text": "a dreadful day", "label": "bad"}]
    >>> labels = ["bad", "good"]
    >>> train = kbl.text_dataset(rows, preprocessor, labels=labels)
    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> model = kbl.text_classifier(encoder, labels, pooling="mean", head_form={})
    >>> probes = kbl.tuning.warm_start(model, train)
    >>> probes["logits"].strength
    1.0

    Reference: [Kumar et al., 2022](https://arxiv.org/abs/2202.10054).
    """
    return WarmStart(model)(data, validation_data, strengths)


class WarmStart:
    """Starts a model's heads, several times if need be; see `warm_start`.

    Args:
        model: See `warm_start`.

    Raises:
        ValueError: See `warm_start`.
    """

    def __init__(self, model: keras.Model) -> None:
        owner, self._heads = _heads(model)
        symbols = {output: head.input for output, head in self._heads.items()}
        self._reader = Predictor(keras.Model(owner.inputs, symbols))
        self._forms = {
            output: LinearModel(
                _link(model, output),
                head.units,
                _sums(owner, head),
                constant=head.hidden_dense is not None,
            )
            for output, head in self._heads.items()
        }

    def __call__(
        self,
        data: Iterable,
        validation_data: Iterable | None = None,
        strengths: Sequence[float] = STRENGTHS,
    ) -> dict[str, Probe]:
        if not strengths or not all(0 < x < math.inf for x in strengths):
            raise ValueError(
                f"`strengths` must be numbers above 0. Received: {list(strengths)}"
            )
        rows = others = self._read(data)
        if validation_data is None:
            strengths = strengths[:1]
        else:
            others = self._read(validation_data)
        return {x: self._fit(x, rows[x], others[x], strengths) for x in self._forms}

    def again(self, data: Iterable, probes: Mapping[str, Probe]) -> None:
        """Starts each head from other rows, with the strength of its probe."""
        for output, examples in self._read(data).items():
            strength = probes[output].strength or STRENGTHS[0]  # a bias has none
            self._fit(output, examples, examples, [strength])

    def expected_losses(self, data: Iterable) -> dict[str, np.ndarray]:
        """Returns each output's losses of rows in cross-validation; heads stay.

        See `LinearModel.expected_losses`.
        """
        return {
            output: self._forms[output].expected_losses(examples, STRENGTHS)
            for output, examples in self._read(data).items()
        }

    def _fit(
        self,
        output: str,
        examples: Examples,
        held_out: Examples,
        strengths: Sequence[float],
    ) -> Probe:
        """Fits a linear model and copies it into the output's head."""
        form, dense = self._forms[output], self._heads[output].dense
        fitted = form.fit(examples, held_out, strengths)
        dense.bias.assign(fitted.bias)
        if not form.constant:
            dense.kernel.assign(fitted.kernel)
        return fitted.probe

    def _read(self, data: Iterable) -> dict[str, Examples]:
        """Computes what each head receives for rows, words or choices with a weight."""
        parts: dict[str, list[Examples]] = {output: [] for output in self._heads}
        predict, count = self._reader.of(data), 0
        for batch in data:
            x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
            if y is None:
                raise ValueError("`data` must have targets. Received: inputs alone")
            for output, vectors in predict(x).items():
                if not is_finite(vectors):
                    raise NotFinite(
                        "`model` must compute finite vectors",
                        f"NaN or infinity in what the head of {output!r} reads",
                    )
                given = _of(y, output), _of(weights, output)
                found = _flat(vectors, *given, self._forms[output].link)
                parts[output].append(found._replace(rows=found.rows + count))
            count += len(_of(y, next(iter(parts))))
        if not all(parts.values()):
            raise ValueError("`data` must have rows. Received: none")
        examples = {
            output: Examples(*(np.concatenate(x) for x in zip(*some, strict=True)))
            for output, some in parts.items()
        }
        if empty := [output for output, x in examples.items() if not len(x.rows)]:
            raise ValueError(
                "`data` must have a row or word with a weight for each output. "
                f"Received: none for {empty}"
            )
        return examples


def _heads(model: keras.Model) -> tuple[keras.Model, dict[str, DenseHead]]:
    """Returns the model of the builder, and its heads by output."""
    owner, marks = marked_model(model)
    if not marks:
        raise ValueError(
            f"`model` must be made by the builder of a task. Received: {model!r}"
        )
    return owner, {output: _head(model, output) for output in marks}


def _link(model: keras.Model, output: str) -> Any:
    objective = objectives_of(model)[output]
    return None if objective is None else objective.link


def _head(model: keras.Model, output: str) -> DenseHead:
    found = head_layers(model, output).values()
    link = _link(model, output)
    heads = [x for x in found if link is not None and isinstance(x, link.head)]
    if len(heads) != 1:
        raise ValueError(
            "`model` must have heads for labels, numbers or choices. Received: a model "
            f"with the output {output!r} of {[type(x).__name__ for x in found]}"
        )
    dense = heads[0].dense
    if dense.lora_enabled or dense.quantization_mode:
        raise ValueError(
            "`model` must have heads without LoRA weights and quantization. "
            f"Received: lora_enabled={dense.lora_enabled}, "
            f"quantization_mode={dense.quantization_mode!r}"
        )
    return heads[0]


def _sums(owner: keras.Model, head: DenseHead) -> np.ndarray:
    """Returns weights `(H, F)` of F sums of a head's input: the cosine, if any."""
    for layer in owner.layers:
        if isinstance(layer, CompareTexts) and layer.output is head.input:
            return layer.cosine_weights(layer.input.shape[-1])
    return np.zeros((head.input.shape[-1], 0))


def _of(values: Any, output: str) -> Any:
    return values[output] if isinstance(values, dict) else values


def _flat(vectors: np.ndarray, targets: Any, weights: Any, link: Link) -> Examples:
    """Takes the rows, or their words or choices, that have a weight."""
    count, width = int(np.prod(vectors.shape[:-1])), vectors.shape[-1]
    targets = keras.ops.convert_to_numpy(targets)
    rows = np.repeat(np.arange(len(targets)), count // len(targets))
    if link is CHOICES:  # which of them are right
        targets = np.eye(count // len(targets))[targets.astype(int)].reshape(-1)
    targets = targets.reshape((count, *targets.shape[vectors.ndim - 1 :]))
    if weights is None:
        weights = np.ones(count)
    weights = np.asarray(keras.ops.convert_to_numpy(weights), "float64").reshape(-1)
    weights = np.repeat(weights, count // len(weights))  # of a row for each choice
    kept = weights > 0
    vectors = vectors.reshape(count, width)[kept].astype("float64")
    return Examples(vectors, targets[kept], weights[kept], rows[kept])
