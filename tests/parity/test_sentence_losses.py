"""Losses of sentence encoders beside sentence-transformers: values and gradients."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite import losses

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore"),  # of what sentence-transformers imports
]
GENERATOR = np.random.default_rng(0)
VECTORS = GENERATOR.normal(size=(6, 4, 8)).astype("float32")
SCORES = np.linspace(-1, 1, 6, dtype="float32")
TOGETHER = np.array([1, 0, 0, 1, 1, 0], "float32")
TEACHER = GENERATOR.normal(size=(6, 3)).astype("float32")
DIMENSIONS, WEIGHTS = [8, 5, 2], [1, 0.5, 2]
CASES = {
    "cosine": (losses.CosineSimilarityLoss(), {}, 2, SCORES),
    "CoSENT": (losses.CoSENTLoss(), {}, 2, SCORES),
    "CoSENT, two grades": (losses.CoSENTLoss(5.0), {"scale": 5}, 2, TOGETHER),
    "contrastive": (losses.ContrastiveLoss(), {}, 2, TOGETHER),
    "in-batch": (losses.InBatchNegativesLoss(), {}, 2, None),
    "in-batch, negatives": (losses.InBatchNegativesLoss(), {}, 4, None),
    "triplet": (losses.TripletLoss(1.0), {"triplet_margin": 1}, 3, None),
    "triplet, wide": (losses.TripletLoss(5), {"triplet_margin": 5}, 3, None),
    "margins": (losses.MarginMSELoss(), {}, 3, SCORES),
    "margins of scores": (losses.MarginMSELoss(), {}, 4, TEACHER),
}


def theirs(loss, options):
    module = "sentence_transformers.sentence_transformer.losses"
    name = type(loss).__name__
    name = {"InBatchNegativesLoss": "MultipleNegativesRankingLoss"}.get(name, name)
    return getattr(pytest.importorskip(module), name)(torch.nn.Identity(), **options)


def check(ours, texts, targets, wanted):
    """Compares with a function of the vectors of each text."""
    vectors = torch.tensor(VECTORS[:, :texts], requires_grad=True)
    columns = [vectors[:, i] for i in range(texts)]
    value = wanted(columns, None if targets is None else torch.tensor(targets))
    value.backward()
    x = tf.Variable(VECTORS[:, :texts])
    with tf.GradientTape() as tape:
        found = ours(np.zeros(6) if targets is None else targets, x)
    assert float(found) == pytest.approx(value.item(), rel=1e-5)
    gradient = tape.gradient(found, x).numpy()
    np.testing.assert_allclose(gradient, vectors.grad.numpy(), atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_equals_that_of_sentence_transformers(case):
    ours, options, texts, targets = CASES[case]
    loss = theirs(ours, options)
    check(ours, texts, targets, loss.compute_loss_from_embeddings)


@pytest.mark.parametrize("case", ["CoSENT", "in-batch", "triplet", "margins"])
def test_matryoshka_equals_that_of_sentence_transformers(case):
    from sentence_transformers.sentence_transformer.losses import matryoshka

    inner, options, texts, targets = CASES[case]
    loss = theirs(inner, options)

    def wanted(columns, labels):
        parts = [
            [matryoshka.shrink(x, length) for x in columns] for length in DIMENSIONS
        ]
        values = [loss.compute_loss_from_embeddings(x, labels) for x in parts]
        return sum(w * x for w, x in zip(WEIGHTS, values, strict=True))

    ours = losses.MatryoshkaLoss(inner, DIMENSIONS, WEIGHTS)
    check(ours, texts, targets, wanted)
