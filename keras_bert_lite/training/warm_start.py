"""Linear probing: heads that start from a linear model of the encoder's vectors."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert_lite.layers import (
    ClassificationHead,
    CompareTexts,
    DenseHead,
    RegressionHead,
)
from keras_bert_lite.models.tasks.label_shares import log_odds, logs
from keras_bert_lite.models.tasks.registry import task_of
from keras_bert_lite.models.tasks.task import head_layers, marked_model
from keras_bert_lite.training.evaluation.outputs import Predictor

STRENGTHS = (1.0, 3.0, 10.0)
NARROW = 1e-3  # deviation of a cosine below which it counts as the same for all rows


class Probe(NamedTuple):
    """What a head starts from.

    Args:
        strength: The chosen inverse strength of the penalty (scikit-learn's `C`), or
            `None` for a head that only got its bias.
        loss: The mean loss on the validation rows, or on the training rows if there
            are none; of choices that of the logistic regression, a choice.
    """

    strength: float | None
    loss: float


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
            has LoRA weights or is quantized, `data` has no rows, or a strength is not
            above 0.

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
        self._links = {output: LINKS[_losses(model)[output]] for output in self._heads}
        self._sums = {x: _sums(owner, head) for x, head in self._heads.items()}

    def __call__(
        self,
        data: Iterable,
        validation_data: Iterable | None = None,
        strengths: Sequence[float] = STRENGTHS,
    ) -> dict[str, Probe]:
        if not strengths or min(strengths) <= 0:
            raise ValueError(
                f"`strengths` must be numbers above 0. Received: {list(strengths)}"
            )
        rows = others = _read(self._reader, data, self._links)
        if validation_data is not None:
            others = _read(self._reader, validation_data, self._links)
        chosen = strengths if validation_data is not None else strengths[:1]
        return {
            output: _start(
                head,
                self._links[output],
                self._sums[output],
                rows[output],
                others[output],
                chosen,
            )
            for output, head in self._heads.items()
        }


def _losses(model: keras.Model) -> dict[str, str | None]:
    task = task_of(model)
    return {x.name: x.loss for x in task.outputs} if task else {}


def _heads(model: keras.Model) -> tuple[keras.Model, dict[str, DenseHead]]:
    """Returns the model of the builder, and its heads by output."""
    owner, marks = marked_model(model)
    if not marks:
        raise ValueError(
            f"`model` must be made by the builder of a task. Received: {model!r}"
        )
    return owner, {output: _head(model, output) for output in marks}


def _head(model: keras.Model, output: str) -> DenseHead:
    found = head_layers(model, output).values()
    link = LINKS.get(_losses(model)[output])
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


class _Rows(NamedTuple):
    """N vectors `(N, H)`, their targets and their weights `(N,)`."""

    vectors: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


def _read(
    reader: Predictor, data: Iterable, links: dict[str, "Link"]
) -> dict[str, _Rows]:
    """Computes what each head receives for rows, words or choices with a weight."""
    parts: dict[str, list[_Rows]] = {output: [] for output in reader.model.output}
    predict = reader.of(data)
    for batch in data:
        x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
        if y is None:
            raise ValueError("`data` must have targets. Received: inputs alone")
        for output, vectors in predict(x).items():
            given = _of(y, output), _of(weights, output)
            parts[output].append(_flat(vectors, *given, links[output]))
    if not all(parts.values()):
        raise ValueError("`data` must have rows. Received: none")
    return {
        output: _Rows(*(np.concatenate(x) for x in zip(*found, strict=True)))
        for output, found in parts.items()
    }


def _of(values: Any, output: str) -> Any:
    return values[output] if isinstance(values, dict) else values


def _flat(vectors: np.ndarray, targets: Any, weights: Any, link: "Link") -> _Rows:
    """Takes the rows, or their words or choices, that have a weight."""
    count, width = int(np.prod(vectors.shape[:-1])), vectors.shape[-1]
    targets = keras.ops.convert_to_numpy(targets)
    if link is CHOICES:  # which of them are right
        targets = np.eye(count // len(targets))[targets.astype(int)].reshape(-1)
    targets = targets.reshape((count, *targets.shape[vectors.ndim - 1 :]))
    if weights is None:
        weights = np.ones(count)
    weights = np.asarray(keras.ops.convert_to_numpy(weights), "float64").reshape(-1)
    weights = np.repeat(weights, count // len(weights))  # of a row for each choice
    kept = weights > 0
    vectors = vectors.reshape(count, width)[kept].astype("float64")
    return _Rows(vectors, targets[kept], weights[kept])


def _start(
    head: DenseHead,
    link: "Link",
    sums: np.ndarray,
    rows: _Rows,
    held_out: _Rows,
    strengths: Sequence[float],
) -> Probe:
    """Fits a head's linear model and copies it into the head."""
    targets, expected = (link.targets(x.targets, head.units) for x in (rows, held_out))
    bias = link.bias(np.average(targets, axis=0, weights=rows.weights))
    if head.hidden_dense is not None:
        head.dense.bias.assign(bias)
        scores = np.broadcast_to(bias, expected.shape)
        return Probe(None, _mean_loss(link, scores, expected, held_out.weights))
    # One number for all vectors: it can be folded into the kernel, as the sums can.
    scale, width = np.linalg.norm(rows.vectors, axis=1).mean(), len(sums)
    sums = scale * sums / np.maximum((rows.vectors @ sums).std(axis=0), NARROW)
    x = np.hstack([rows.vectors, rows.vectors @ sums])
    x /= scale  # in place: there may be many words
    found = []
    for strength in strengths:
        kernel, fitted = _fit(x, targets, rows.weights, link, strength, bias)
        kernel = (kernel[:width] + sums @ kernel[width:]) / scale
        scores = held_out.vectors @ kernel + fitted
        loss = _mean_loss(link, scores, expected, held_out.weights)
        found.append((Probe(strength, loss), kernel, fitted))
    probe, kernel, fitted = min(found, key=lambda x: x[0].loss)
    head.dense.kernel.assign(kernel)
    head.dense.bias.assign(fitted)
    return probe


def _fit(
    x: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    link: "Link",
    strength: float,
    bias: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimizes the weighted loss plus `|kernel|^2 / (2 strength)`."""
    from scipy.optimize import minimize

    shape = (x.shape[1], targets.shape[1])
    size, total = shape[0] * shape[1], weights.sum()

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, added = values[:size].reshape(shape), values[size:]
        losses, gradient = link.loss(x @ kernel + added, targets)
        gradient = gradient * weights[:, None]
        loss = weights @ losses + (kernel**2).sum() / (2 * strength)
        slopes = [(x.T @ gradient + kernel / strength).ravel(), gradient.sum(0)]
        return loss / total, np.concatenate(slopes) / total

    start = np.concatenate([np.zeros(size), bias])
    values = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return values[:size].reshape(shape), values[size:]


def _mean_loss(
    link: "Link", scores: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> float:
    return float(np.average(link.loss(scores, targets)[0], weights=weights))


class Link(NamedTuple):
    """How scores `(N, K)` become predictions.

    Args:
        targets: Turns targets into `(N, K)`, given K.
        bias: The scores of the mean target.
        loss: The loss of each row `(N,)`, and its gradient by the scores.
        head: The class of the head.
    """

    targets: Callable[[np.ndarray, int], np.ndarray]
    bias: Callable[[np.ndarray], np.ndarray]
    loss: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    head: type[DenseHead] = ClassificationHead


def _cross_entropy(
    scores: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    shifted = scores - scores.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return -(targets * logs).sum(1), np.exp(logs) - targets


def _binary_cross_entropy(
    scores: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    losses = np.logaddexp(0, scores) - targets * scores
    return losses.sum(1), 0.5 * (1 + np.tanh(scores / 2)) - targets


def _squared_error(
    scores: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return 0.5 * ((scores - targets) ** 2).sum(1), scores - targets


def _columns(targets: np.ndarray, units: int) -> np.ndarray:
    return targets.reshape(len(targets), units).astype("float64")


SOFTMAX = Link(
    lambda targets, units: np.eye(units)[targets.astype(int)],
    logs,
    _cross_entropy,
)
BINARY = Link(_columns, log_odds, _binary_cross_entropy)
CHOICES = BINARY._replace(head=DenseHead)  # whether one is right, of all choices
LINKS: dict[str | None, Link] = {  # by the name of the task's loss
    "cross_entropy": SOFTMAX,
    "choice_cross_entropy": CHOICES,
    "word_cross_entropy": SOFTMAX,
    "crf": SOFTMAX,
    "binary_cross_entropy": BINARY,
    "mean_squared_error": Link(
        _columns, lambda mean: mean, _squared_error, RegressionHead
    ),
}
