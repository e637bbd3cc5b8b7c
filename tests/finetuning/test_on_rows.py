"""Scores of rows while a model trains: those of `evaluate`, of the model as it is."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.evaluation import EvaluationCallback, on_rows
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="models on strings need TensorFlow")
LABELS = ["fine", "bad", "fine", "bad"]
ROWS = [{"text": x, "label": y} for x, y in zip(tiny.TEXTS, LABELS, strict=True)]
PAIRS = [{**row, "text_pair": "the weather"} for row in ROWS]
QUESTIONS = [
    {
        "id": str(number),
        "question": "is the weather fine",
        "context": context,
        "answers": {"text": texts, "answer_start": [0] * len(texts)},
    }
    for number, (context, texts) in enumerate(
        [("the day is fine", ["the day"]), ("bad weather", [])]
    )
]
TAGGED = [{"words": ["a", "fine", "day"], "tags": ["O", "B-day", "I-day"]}]


@pytest.mark.parametrize(
    ("make", "rows", "options"),
    [
        (lambda x: kbl.text_classifier(x, ["bad", "fine"]), ROWS, {}),
        (lambda x: kbl.text_classifier(x, ["bad", "fine"]), PAIRS, {"pairs": True}),
        (lambda x: kbl.token_classifier(x, ["O", "B-day", "I-day"]), TAGGED, {}),
        (kbl.question_answerer, QUESTIONS, {"no_answer_threshold": 0.5}),
    ],
    ids=["texts", "pairs", "tags", "questions"],
)
def test_scores_are_those_of_evaluate(make, rows, options):
    model, preprocessor = make(tiny.encoder()), tiny.preprocessor()
    served = kbl.with_text(model, preprocessor, **options)
    options = {name: x for name, x in options.items() if name != "pairs"}
    score = on_rows(rows, preprocessor, **options)
    assert score(model) == kbl.evaluate(served, rows)["scores"]
    assert on_rows(rows)(served) == score(model)


def test_the_model_is_scored_as_it_is():
    model, preprocessor = tiny.classifier(), tiny.preprocessor()
    callback = EvaluationCallback(on_rows(ROWS, preprocessor))
    callback.set_model(model)
    for answer, label in enumerate(["bad", "fine"]):
        head = model.layers[-1] if model.layers[-1].weights else model.layers[-2]
        kernel, _ = head.get_weights()
        head.set_weights([0 * kernel, 10 * np.eye(2)[answer]])
        callback.on_epoch_end(answer, logs := {})
        wanted = [row["label"] == label for row in ROWS]
        assert logs["val_accuracy"] == np.mean(wanted)


def test_columns_may_have_other_names():
    rows = [{"sentence": x["text"], "label": x["label"]} for x in ROWS]
    model, preprocessor = tiny.classifier(), tiny.preprocessor()
    found = on_rows(rows, preprocessor, columns={"text": "sentence"})(model)
    assert found == on_rows(ROWS, preprocessor)(model)


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="`preprocessor` must be given if the model"):
        on_rows(ROWS)(tiny.classifier())
    other = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    with pytest.raises(ValueError, match=r"`model` must be of one.*Received: None$"):
        on_rows(ROWS, tiny.preprocessor())(other)
    unknown = [{"text": "a day", "label": "grey"}]
    with pytest.raises(ValueError, match="grey"):
        on_rows(unknown, tiny.preprocessor())(tiny.classifier())
