"""The conditional random field against pytorch-crf."""

import numpy as np
import pytest

from keras_bert_lite.layers.heads.crf import CRF, split_crf_scores
from keras_bert_lite.layers.heads.viterbi import viterbi
from keras_bert_lite.training.losses import CRFLoss
from tests.conformance import assert_all_close, randomize, to_numpy

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
torchcrf = pytest.importorskip("torchcrf", reason="needs `pip install pytorch-crf`")

B, S, L = 4, 30, 9
GENERATOR = np.random.default_rng(0)
LOGITS = GENERATOR.normal(size=(B, S, L)).astype("float32") * 3
TAGS = GENERATOR.integers(0, L, (B, S))
MASK = np.arange(S) < np.array([[S], [11], [1], [20]])


@pytest.fixture
def crf():
    layer = CRF()
    layer.build(LOGITS.shape)
    randomize(layer)
    return layer


@pytest.fixture
def reference(crf):
    model = torchcrf.CRF(L, batch_first=True)
    names = (model.transitions, model.start_transitions, model.end_transitions)
    with torch.no_grad():
        for parameter, value in zip(names, crf.get_weights(), strict=True):
            parameter.copy_(torch.tensor(value))
    return model


def test_loss_and_gradients(crf, reference):
    logits = torch.tensor(LOGITS, requires_grad=True)
    loss = -reference(
        logits, torch.tensor(TAGS), torch.tensor(MASK), reduction="token_mean"
    )
    loss.backward()
    weights = MASK.astype("float32")
    got, gradients = loss_and_gradients(crf, LOGITS, TAGS, weights)
    assert got == pytest.approx(loss.item(), rel=1e-5)
    parameters = (
        logits,
        reference.transitions,
        reference.start_transitions,
        reference.end_transitions,
    )
    assert_all_close(gradients, [x.grad.numpy() for x in parameters])


def test_best_paths(crf, reference):
    path = to_numpy(viterbi(split_crf_scores(crf(LOGITS)), MASK)[0])
    expected = reference.decode(torch.tensor(LOGITS), torch.tensor(MASK))
    assert [row[real].tolist() for row, real in zip(path, MASK, strict=True)] == (
        expected
    )


def test_gaps_equal_the_sequence_without_them(crf):
    """What pytorch-crf refuses: a mask that is false at the front or inside."""
    places = np.sort(GENERATOR.permuted(np.tile(np.arange(S), (B, 1)), axis=1)[:, :12])
    row = np.arange(B)[:, None]
    mask = np.zeros((B, S), "float32")
    mask[row, places] = 1
    short = np.ones((B, 12), "float32")
    got, gaps = loss_and_gradients(crf, LOGITS, TAGS, mask)
    want, none = loss_and_gradients(crf, LOGITS[row, places], TAGS[row, places], short)
    assert got == pytest.approx(want, rel=1e-5)
    assert_all_close([gaps[0][row, places], *gaps[1:]], none)
    assert not gaps[0][mask == 0].any()


def loss_and_gradients(crf, logits, tags, weights):
    """Of the logits, transitions, starts and ends, on TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    logits = tf.Variable(logits)
    weights_of_layer = [x.value for x in crf.weights]
    with tf.GradientTape() as tape:
        loss = CRFLoss()(tags, crf(logits), weights)
    gradients = tape.gradient(loss, [logits, *weights_of_layer])
    return float(loss), [x.numpy() for x in gradients]
