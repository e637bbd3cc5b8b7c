"""Conditional random fields, against sums over all paths."""

import functools
import itertools

import keras
import numpy as np
import pytest

from keras_bert_lite.layers.heads.crf import CRF, CRFDecoder, split_crf_scores
from keras_bert_lite.layers.heads.viterbi import log_partition, viterbi
from keras_bert_lite.tagging import allowed_transitions
from keras_bert_lite.training.losses.crf import path_score
from tests.conformance import assert_all_close, check_layer, randomize, to_numpy
from tests.layers.samples import STATES

BIO = ["O", "B-X", "I-X"]
LOGITS = np.random.default_rng(0).normal(size=(6, 5, 3)).astype("float32") * 3
MASK = np.array(
    [
        [1, 1, 1, 1, 1],
        [0, 1, 0, 1, 1],
        [1, 0, 0, 0, 1],
        [0, 0, 1, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ],
    bool,
)
SIZE = STATES.shape[-1]


def layer(**options):
    built = CRF(**options)
    built.build(LOGITS.shape)
    randomize(built)
    return built


def all_paths(crf, row, mask):
    """Every path over the true positions, and its score."""
    transitions, starts, ends = (to_numpy(x) for x in crf.weights)
    logits = LOGITS[row][mask]
    paths = list(itertools.product(range(3), repeat=len(logits)))
    scores = [
        starts[path[0]]
        + ends[path[-1]]
        + sum(logits[i, tag] for i, tag in enumerate(path))
        + sum(transitions[pair] for pair in itertools.pairwise(path))
        for path in paths
    ]
    return np.array(paths), np.array(scores)


def test_constrained_conforms():
    labels = [f"{p}-{i}" for i in range(SIZE // 2) for p in "BI"]
    make = functools.partial(CRF, labels, constrained=True)
    check_layer(make, {"logits": STATES})


def test_output_holds_logits_and_transitions():
    crf = layer()
    scores = split_crf_scores(crf(LOGITS))
    assert crf.compute_output_shape((None, None, 3)) == (None, None, 3)
    assert_all_close(scores.logits, LOGITS)
    for row in range(len(LOGITS)):
        got = [x[row] for x in scores[1:]]
        assert_all_close(got, crf.get_weights())


def test_sums_over_all_paths():
    crf = layer()
    got = to_numpy(log_partition(split_crf_scores(crf(LOGITS)), MASK))
    for row, mask in enumerate(MASK[:-1]):
        expected = np.log(np.sum(np.exp(all_paths(crf, row, mask)[1])))
        assert_all_close(got[row], expected)
    assert got[-1] == 0.0


def test_scores_a_path():
    crf = layer()
    tags = np.where(MASK, np.random.default_rng(1).integers(0, 3, MASK.shape), -100)
    got = to_numpy(path_score(split_crf_scores(crf(LOGITS)), tags, MASK))
    for row, mask in enumerate(MASK[:-1]):
        paths, scores = all_paths(crf, row, mask)
        expected = scores[np.all(paths == tags[row][mask], axis=1)]
        assert_all_close(got[row : row + 1], expected)
    assert got[-1] == 0.0


def test_finds_the_best_path():
    crf = layer()
    path, best = viterbi(split_crf_scores(crf(LOGITS)), MASK)
    path, best = to_numpy(path), to_numpy(best)
    for row, mask in enumerate(MASK[:-1]):
        paths, scores = all_paths(crf, row, mask)
        assert path[row][mask].tolist() == paths[np.argmax(scores)].tolist()
        assert_all_close(best[row], np.max(scores))
    assert not path[~MASK].any()
    assert best[-1] == 0.0


def test_passed_positions_may_hold_anything():
    crf = layer()
    noisy = np.where(MASK[:, :, None], LOGITS, np.nan).astype("float32")
    for algorithm in (viterbi, log_partition):
        got, want = (algorithm(split_crf_scores(crf(x)), MASK) for x in (noisy, LOGITS))
        assert_all_close(got, want)


@pytest.mark.parametrize("scheme", ["BI", "BIES"])
def test_constrained_paths_keep_to_the_scheme(scheme):
    labels = ["O", *(f"{p}-{t}" for t in "XY" for p in scheme)]
    crf = CRF(labels, constrained=True)
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(50, 7, len(labels))).astype("float32") * 50
    mask = generator.random((50, 7)) < 0.7
    paths = to_numpy(CRFDecoder()(crf(logits), mask))
    allowed = allowed_transitions(labels)
    for path, real in zip(paths, mask, strict=True):
        path = path[real]
        assert allowed.pairs[path[:-1], path[1:]].all()


def test_constrained_paths_may_begin_and_end_inside_of_a_span():
    crf = CRF(["O", "B-X", "I-X"], constrained=True)
    scores = crf(np.array([[[0.0, 0.0, 5.0]] * 3], "float32"))
    mask = np.ones((1, 3), bool)
    assert to_numpy(CRFDecoder()(scores, mask)).tolist() == [[2, 2, 2]]


def test_decodes_any_length_in_a_compiled_model():
    inputs = [keras.Input((None, 3)), keras.Input((None,), dtype="bool")]
    crf = layer()
    model = keras.Model(inputs, CRFDecoder()(crf(inputs[0]), inputs[1]))
    model.compile()
    for length in (0, 1, 5):
        logits, mask = LOGITS[:, :length], MASK[:, :length]
        got = model.predict_on_batch([logits, mask])
        want = viterbi(split_crf_scores(crf(logits)), mask)[0]
        assert np.array_equal(got, to_numpy(want))


def test_half_precision_is_computed_in_full():
    crf = CRF(dtype="mixed_float16")
    scores = crf(LOGITS.astype("float16"))
    assert keras.backend.standardize_dtype(scores.dtype) == "float32"


def test_refuses_constraints_without_labels():
    with pytest.raises(ValueError, match="`labels` must name the labels"):
        CRF(constrained=True)


def test_refuses_other_labels_than_logits():
    with pytest.raises(ValueError, match=r"each of the 3 labels. Received: .*\(6, 5"):
        CRF(BIO).build((6, 5, 4))
