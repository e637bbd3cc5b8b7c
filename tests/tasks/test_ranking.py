"""Rankers: scores, orders, and lists of different lengths."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.tasks.ranking import RANKING, RankAnswer
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.task import options_of
from tests import tiny
from tests.conformance import randomize, to_numpy
from tests.models.samples import tensorflow_only

QUERIES = ["a fine day", "is"]
LISTS = [["weather", "not a day", "is"], ["the weather"]]


def ranker(**options):
    model = kbl.ranker(tiny.encoder(dropout=0.0, attention_dropout=0.0), **options)
    randomize(model)
    return model


def text_model(**options):
    return kbl.with_text(ranker(**options), tiny.preprocessor())


def test_each_candidate_is_scored_with_its_query():
    model, preprocessor = ranker(), tiny.preprocessor()
    ids = preprocessor({"text": QUERIES, "candidates": LISTS})
    logits = to_numpy(model(ids)["logits"])
    assert np.isneginf(logits[1, 1:]).all()
    regressor = kbl.regressor(kbl.encoder_of(model))
    regressor.get_layer("head").set_weights(model.get_layer("head").get_weights())
    for query, texts, scores in zip(QUERIES, LISTS, logits, strict=True):
        rows = preprocessor(([query] * len(texts), texts))
        expected = to_numpy(regressor(rows)["logits"])[:, 0]
        np.testing.assert_allclose(scores[: len(texts)], expected, atol=1e-5)


def test_answers_by_hand():
    answer = RankAnswer()(np.array([[1, 3, -np.inf, 3], [2, -1, 0, -2]], "float32"))
    assert answer["order"].numpy().tolist() == [[1, 3, 0, 2], [0, 2, 1, 3]]
    assert answer["best"].numpy().tolist() == [1, 0]
    assert answer["scores"].numpy()[1].tolist() == [2, -1, 0, -2]


@tensorflow_only
def test_lists_of_different_lengths():
    model = text_model()
    texts = {"text": QUERIES, "candidates": LISTS}
    found = model.predict(texts, verbose=0)
    assert np.isneginf(found["scores"][1]).tolist() == [False, True, True]
    assert found["order"][1].tolist() == [0, 1, 2]
    assert found["best"].tolist() == [found["order"][0, 0], 0]
    first, second = (
        tf.data.Dataset.from_tensors({"text": [text], "candidates": [candidates]})
        for text, candidates in zip(QUERIES, LISTS, strict=True)
    )
    joined = model.predict(first.concatenate(second), verbose=0)
    np.testing.assert_allclose(joined["scores"], found["scores"], 1e-4)
    assert joined["order"].tolist() == [found["order"][0].tolist(), [0, -1, -1]]


@tensorflow_only
def test_an_empty_candidate_comes_last_wherever_it_is():
    texts = {"text": ["is"], "candidates": [["", "a day", "", "the weather"]]}
    found = text_model().predict(texts, verbose=0)
    assert np.isneginf(found["scores"][0]).tolist() == [True, False, True, False]
    assert found["order"][0, 2:].tolist() == [0, 2]


@tensorflow_only
def test_one_candidate_and_words_without_end():
    long = "weather " * 100_000
    texts = {"text": ["a day"], "candidates": [["fine", long]]}
    found = text_model().predict(texts, verbose=0)
    cut = {"text": ["a day"], "candidates": [["fine", long[:800]]]}
    np.testing.assert_array_equal(
        found["scores"], text_model().predict(cut, verbose=0)["scores"]
    )
    alone = text_model().predict({"text": ["a"], "candidates": [["day"]]}, verbose=0)
    assert alone["order"].tolist() == [[0]]


@tensorflow_only
def test_a_sigmoid_scales_scores_and_keeps_the_order(tmp_path):
    texts = {"text": QUERIES, "candidates": LISTS}
    plain, scaled = text_model(), text_model(activation="sigmoid")
    expected, found = (x.predict(texts, verbose=0) for x in (plain, scaled))
    real = np.isfinite(expected["scores"])
    np.testing.assert_allclose(
        found["scores"][real], 1 / (1 + np.exp(-expected["scores"][real])), rtol=1e-5
    )
    assert np.isneginf(found["scores"][~real]).all()
    np.testing.assert_array_equal(found["order"], expected["order"])
    scaled.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras").predict(texts, verbose=0)
    np.testing.assert_allclose(again["scores"], found["scores"], rtol=1e-5)


@tensorflow_only
def test_what_takes_candidates_takes_no_pairs():
    texts = {"text": ["a"], "text_pair": ["b"]}
    with pytest.raises(ValueError, match=r"takes \['candidates', 'text'\]"):
        text_model().predict(texts)
    with pytest.raises(ValueError, match="must have at least one string in every row"):
        text_model().predict({"text": ["a"], "candidates": [[]]})
    with pytest.raises(ValueError, match="`candidates` must have the same number"):
        text_model().predict({"text": ["a"], "candidates": [["b"], ["c"]]})


@pytest.mark.parametrize("loss", [None, "PointwiseLoss", "RankNetLoss", "ListNetLoss"])
@tensorflow_only
def test_learns_which_candidate_is_relevant(loss):
    model = kbl.ranker(tiny.encoder(dropout=0.0, attention_dropout=0.0))
    rows = [
        {"query": "is", "candidates": ["the weather", "a day"], "grades": [0, 1]},
        {"query": "is", "candidates": ["a day"], "grades": [1]},
        {"query": "is", "candidates": ["not", "a day", "fine"], "grades": [0, 1, 0]},
    ]
    data = kbl.ranking_dataset(rows, tiny.preprocessor(), batch_size=3)
    kbl.compile(
        model,
        keras.optimizers.Adam(3e-3),
        loss=loss and getattr(kbl.losses, loss)(),
    )
    losses = model.fit(data.repeat(15), shuffle=False, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    served = kbl.with_text(model, tiny.preprocessor())
    found = served.predict(
        {"text": ["is"] * 2, "candidates": [["the weather", "a day"], ["a day", "not"]]}
    )
    assert found["best"].tolist() == [1, 0]


@pytest.mark.parametrize("activation", [None, "sigmoid"])
def test_a_cross_encoder_keeps_its_activation(activation, tmp_path):
    model = ranker(activation=activation)
    kbl.save_hugging_face(model, tiny.preprocessor(), tmp_path / "out")
    again = kbl.load_model(tmp_path / "out")
    assert task_of(again) is RANKING
    assert options_of(again).get("activation") == activation
    ids = tiny.preprocessor()({"text": QUERIES, "candidates": LISTS})
    expected = to_numpy(model(ids)["logits"])
    np.testing.assert_allclose(to_numpy(again(ids)["logits"]), expected, atol=1e-6)


def test_a_cross_encoder_with_another_activation_is_refused(tmp_path):
    kbl.save_hugging_face(ranker(), None, tmp_path / "out")
    path = tmp_path / "out" / "config.json"
    raw = json.loads(path.read_text())
    for key, value in (
        ("sentence_transformers", {"activation_fn": "os.system"}),
        ("sbert_ce_default_activation_function", "torch.nn.modules.activation.Tanh"),
    ):
        raw.pop("sentence_transformers", None)
        path.write_text(json.dumps({**raw, key: value}))
        with pytest.raises(ValueError, match="`activation_fn` must be one of"):
            kbl.load_model(tmp_path / "out")


def test_refused_activations():
    with pytest.raises(ValueError, match="`activation` must be one of"):
        kbl.ranker(tiny.encoder(), activation="softmax")
