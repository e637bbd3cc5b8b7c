"""Losses of rankers beside sentence-transformers: values and gradients."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite import losses

torch = pytest.importorskip("torch")
cross_encoder = pytest.importorskip("sentence_transformers.cross_encoder")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore"),  # of what sentence-transformers imports
]
GENERATOR = np.random.default_rng(0)
SCORES = GENERATOR.normal(size=(5, 7)).astype("float32")
GRADES = GENERATOR.integers(0, 4, (5, 7)).astype("float32")
LENGTHS = [7, 3, 2, 6, 5]
CASES = {
    "pointwise": (losses.PointwiseLoss(), "BinaryCrossEntropyLoss", {}),
    "RankNet": (losses.RankNetLoss(), "RankNetLoss", {}),
    "ListNet": (losses.ListNetLoss(), "ListNetLoss", {}),
    "Lambda": (losses.LambdaLoss(), "LambdaLoss", {}),
    "Lambda, first 2": (losses.LambdaLoss(k=2), "LambdaLoss", {"k": 2}),
    "margins": (losses.MarginMSELoss(), "MarginMSELoss", {}),
}


class Scores(cross_encoder.CrossEncoder):
    """Their model without an encoder: a document is the number of its score."""

    num_labels, device = 1, "cpu"

    def __init__(self):
        torch.nn.Module.__init__(self)
        self.scores = torch.tensor(SCORES, requires_grad=True)

    def preprocess(self, pairs, prompt=None, task=None):
        return {"numbers": torch.tensor([int(document) for _, document in pairs])}

    def forward(self, inputs):
        return {"scores": self.scores.reshape(-1)[inputs["numbers"]]}


def theirs(name, options, lengths):
    """Returns the value and the gradient."""
    model = Scores()
    loss = getattr(cross_encoder.losses, name)(model, **options)
    numbers = np.arange(SCORES.size).reshape(SCORES.shape).astype(str)
    lists = [list(row[:n]) for row, n in zip(numbers, lengths, strict=True)]
    grades = [torch.tensor(y[:n]) for y, n in zip(GRADES, lengths, strict=True)]
    queries = [""] * len(lists)
    if name == "BinaryCrossEntropyLoss":  # takes one pair after the other
        columns = [[""] * sum(lengths), [x for each in lists for x in each]]
        value = loss(columns, torch.cat(grades))
    elif name == "MarginMSELoss":  # takes a column for each document
        value = loss([queries, *zip(*lists, strict=True)], grades)
    else:
        value = loss([queries, lists], grades)
    value.backward()
    return value.item(), model.scores.grad.numpy()


@pytest.mark.parametrize(
    ("case", "padded"),
    [(x, False) for x in CASES] + [(x, True) for x in CASES if x != "margins"],
)
def test_equals_that_of_sentence_transformers(case, padded):
    ours, name, options = CASES[case]
    lengths = LENGTHS if padded else [7] * 5
    value, gradient = theirs(name, options, lengths)
    real = np.arange(7) < np.array(lengths)[:, None]
    x = tf.Variable(np.where(real, SCORES, -np.inf))
    with tf.GradientTape() as tape:
        found = ours(GRADES, x)
    assert float(found) == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(tape.gradient(found, x), gradient, atol=1e-5)
