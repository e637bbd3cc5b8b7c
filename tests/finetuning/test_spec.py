"""How models of tags answer."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.finetuning import samples

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")
BIO = ["O", "B-X", "I-X"]


@pytest.mark.parametrize(
    ("task", "labels", "options", "decoding"),
    [
        ("token_classification", {"labels": BIO}, {}, "constrained"),
        ("token_classification", {"labels": ["NOUN", "VERB"]}, {}, "lenient"),
        (
            "token_classification",
            {"labels": BIO},
            {"decoding": "lenient"},
            "lenient",
        ),
        ("intent_and_slots", {"intents": ["a", "b"], "slots": BIO}, {}, "constrained"),
    ],
)
def test_tags_follow_their_scheme(task, labels, options, decoding):
    spec = samples.spec(task, labels)
    model = spec.build(tiny.encoder())
    for make in (spec.string_model, spec.scored_model):
        made = make(model, tiny.preprocessor(), **options)
        assert made.get_layer("answer").decoding == decoding


def test_answers_in_another_scheme_are_scored_as_the_rows_are():
    """Rows are rewritten to BIO, so the answers of a model of other tags are too."""
    spec = samples.spec("token_classification")
    scorer = spec.scorer
    rows = spec.format.prepared([{"words": ["a", "b"], "tags": ["X-B", "X-E"]}])
    assert rows[0]["tags"] == ["B-X", "I-X"]
    labels = {"labels": ["O", "B-X", "I-X", "E-X", "S-X"]}
    answers = {"labels": [["B-X", "E-X", ""]]}
    assert scorer.scores(rows, answers, labels) == {"f1": 1.0, "accuracy": 1.0}
    assert not list(scorer.confused(rows, answers))
    lenient = {"labels": [["I-X", "I-X"]]}  # stays wrong, as BIO is
    assert scorer.scores(rows, lenient, {"labels": BIO})["accuracy"] == 0.5


def test_answers_are_in_the_order_of_the_rows():
    class Echo:
        layers = ()

        def predict(self, texts, batch_size, verbose):
            return {"label": np.array(texts["text"])}

    rows = [{"text": x} for x in ("ccc", "a", "bb", "dddd")]
    answers = samples.spec("text_classification").answer(Echo(), rows)
    assert answers["label"].tolist() == ["ccc", "a", "bb", "dddd"]


@pytest.mark.parametrize(("count", "size"), [(1, 64), (20, 3), (100, 1)])
def test_long_lists_are_answered_in_small_batches(count, size):
    sizes = []

    class Stub:
        layers = ()

        def predict(self, texts, batch_size, verbose):
            sizes.append(batch_size)
            return {"best": np.zeros(len(texts["text"]))}

    row = {"query": "a", "candidates": ["b"] * count, "grades": [0] * count}
    samples.spec("ranking").answer(Stub(), [row] * 5)
    assert sizes == [size]


@pytest.mark.parametrize(
    ("columns", "scorer", "loss", "distinct"),
    [
        ({}, "PairScorer", "InBatchNegativesLoss", True),
        ({"negative": "n"}, "TripletScorer", "InBatchNegativesLoss", True),
        ({"label": "y"}, "SimilarityScorer", "CoSENTLoss", False),
    ],
)
def test_columns_decide_how_vectors_are_trained(columns, scorer, loss, distinct):
    spec = samples.spec("sentence_embedding", columns=columns)
    assert type(spec.scorer).__name__ == scorer
    assert type(spec.fine_tuning.loss()).__name__ == loss
    assert spec.fine_tuning.distinct == distinct
    assert spec.apart
    assert not spec.pairs
    assert spec.metric == spec.scorer.metrics[0]


def test_each_text_of_a_row_has_its_vector():
    spec = samples.spec("sentence_embedding", columns={"negative": "negative"})
    model = kbl.sentence_encoder(tiny.encoder())
    strings = spec.scored_model(model, tiny.preprocessor())
    rows = [
        {"text": "the day", "text_pair": "fine weather", "negative": "bad"},
        {"text": "bad", "text_pair": "the day", "negative": "is it not?"},
    ]
    found = spec.answer(strings, rows, batch_size=2)["sentence_embedding"]
    texts = ["the day", "fine weather", "bad", "bad", "the day", "is it not?"]
    expected = strings.predict(texts, verbose=0)["sentence_embedding"]
    np.testing.assert_allclose(found.reshape(6, -1), expected, atol=1e-5)


def test_texts_begin_with_the_prompts_of_their_columns():
    prompts = {"query": "not ", "document": "bad ", "other": "x"}
    preprocessor = tiny.preprocessor(24, prompts=prompts)
    row = {"text": "the day", "text_pair": "fine weather"}
    spec = samples.spec("sentence_embedding")
    assert spec.prompt_names(preprocessor) == ["query", "document"]
    model = kbl.sentence_encoder(tiny.encoder())
    found = spec.answer(spec.scored_model(model, preprocessor), [row])
    plain = kbl.with_text(model, tiny.preprocessor(24))
    texts = ["not the day", "bad fine weather"]
    expected = plain.predict(texts, verbose=0)["sentence_embedding"]
    np.testing.assert_allclose(found["sentence_embedding"][0], expected, atol=1e-5)
    # The same in training; how alike texts are has no direction.
    (inputs, _), *_ = spec.data_set([row], preprocessor)
    written = tiny.preprocessor(24)([texts])
    np.testing.assert_array_equal(inputs["token_ids"], written["token_ids"])
    similar = samples.spec("sentence_embedding", columns={"label": "label"})
    (inputs, targets), *_ = similar.data_set([{**row, "label": 2.0}], preprocessor)
    written = tiny.preprocessor(24)([["the day", "fine weather"]])
    np.testing.assert_array_equal(inputs["token_ids"], written["token_ids"])
    assert targets.numpy().tolist() == [[2.0]]


def test_what_answers_is_inside_what_is_trained():
    spec = samples.spec("sentence_embedding")
    trained = spec.build(tiny.encoder())
    answering = spec.fine_tuning.answering(trained)
    assert len(answering.output["sentence_embedding"].shape) == 2
    assert spec.fine_tuning.answering(answering) is answering
    again = spec.fine_tuning.answering(spec.fine_tuning.continues(answering))
    assert again is answering
