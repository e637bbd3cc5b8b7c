"""How models of tags answer."""

import numpy as np
import pytest

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
