"""Answers to questions of a model on ids and of one on strings."""

import keras
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.evaluation import (
    EvaluationCallback,
    scorers,
    squad_scores,
)
from keras_bert_lite.evaluation.scorers import questions
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="models on strings need TensorFlow")


def record(name, context, *texts):
    return {
        "id": name,
        "question": "is the weather fine",
        "context": context,
        "answers": {"text": list(texts), "answer_start": [0] * len(texts)},
    }


RECORDS = [
    record("a", "the day is fine", "the day"),
    record("b", "bad weather", "bad", "bad weather"),
    record("c", "the finer the day the finer the weather", "weather"),
]
UNANSWERABLE = [*RECORDS, record("d", "the day is bad")]


@keras.saving.register_keras_serializable(package="tests")
class FirstWord(keras.layers.Layer):
    """Answers with the context's first word, or nothing where that is `the`."""

    def call(self, text, context):
        word = tf.strings.split(context).to_tensor()[:, :1]
        nothing = word[:, 0] == "the"
        return {
            "answer": tf.where(nothing, "", word[:, 0]),
            "answers": word,
            "no_answer_score": tf.where(nothing, 2.0, -2.0)
            + 0.01 * tf.cast(tf.strings.length(context), "float32"),
        }

    def compute_output_spec(self, text, context):
        return {
            "answer": keras.KerasTensor((None,), "string"),
            "answers": keras.KerasTensor((None, 1), "string"),
            "no_answer_score": keras.KerasTensor((None,), "float32"),
        }


def first_word():
    inputs = {x: keras.Input((), dtype="string", name=x) for x in ("text", "text_pair")}
    return kbl.TextModel(inputs, FirstWord()(inputs["text"], inputs["text_pair"]))


def test_scores_the_answers_of_a_model_on_strings():
    got = scorers.squad(iter(RECORDS), batch_size=2)(first_word())
    assert got == squad_scores(RECORDS, {"a": "", "b": "bad", "c": ""})
    assert got["exact"] == pytest.approx(100 / 3)


def test_finds_the_best_thresholds_where_there_may_be_no_answer():
    model, score = first_word(), scorers.squad(UNANSWERABLE)
    got = score(model)
    assert got == score(model)
    assert (got["exact"], got["NoAns_exact"]) == (50, 100)
    wanted = squad_scores(
        UNANSWERABLE,
        {"a": "the", "b": "bad", "c": "the", "d": "the"},
        {"a": 2.15, "b": -1.89, "c": 2.39, "d": 2.14},
    )
    best = {name: x for name, x in wanted.items() if name.startswith("best_")}
    assert {name: got[name] for name in best} == pytest.approx(best)


def test_logs_lack_a_threshold_that_never_answers():
    records = [x for x in UNANSWERABLE if not x["answers"]["text"]]
    got = scorers.squad(records)(first_word())
    assert (got["best_exact"], got["best_f1"]) == (100, 100)
    assert not {"best_exact_thresh", "best_f1_thresh"} & set(got)


def test_puts_strings_before_a_model_on_ids_once(monkeypatch):
    made = []

    def with_text(*arguments, **options):
        made.append((arguments, options))
        return first_word()

    monkeypatch.setattr(questions, "with_text", with_text)
    model, preprocessor = tiny.encoder(), tiny.preprocessor()
    score = scorers.squad(RECORDS, preprocessor, n_best=3)
    assert score(model) == score(model) == scorers.squad(RECORDS)(first_word())
    scorers.squad(UNANSWERABLE, preprocessor)(model)
    scorers.squad(UNANSWERABLE, preprocessor, no_answer_threshold=1.5)(model)
    assert made == [
        ((model, preprocessor), {"n_best": 3}),
        ((model, preprocessor), {"no_answer_threshold": 0.0}),
        ((model, preprocessor), {"no_answer_threshold": 1.5}),
    ]


@pytest.mark.slow
def test_follows_a_question_answerer_through_training():
    preprocessor, model = tiny.preprocessor(), kbl.question_answerer(tiny.encoder())
    callback = EvaluationCallback(scorers.squad(UNANSWERABLE, preprocessor))
    callback.set_model(model)
    string_model = kbl.with_text(model, preprocessor, no_answer_threshold=0.0)
    texts = [[x[key] for x in UNANSWERABLE] for key in ("question", "context")]
    for epoch in range(2):
        callback.on_epoch_end(epoch, logs := {})
        found = string_model.predict(tuple(texts), verbose=0)["answer"].tolist()
        want = squad_scores(UNANSWERABLE, dict(zip("abcd", found, strict=True)))
        assert {k: v for k, v in logs.items() if "best" not in k} == {
            f"val_{name}": x for name, x in want.items()
        }
        assert logs["val_best_f1"] >= logs["val_f1"]
        model.set_weights([-x for x in model.get_weights()])


def test_refuses_a_model_on_ids_without_a_preprocessor():
    with pytest.raises(ValueError, match="`preprocessor` must be given if the model"):
        scorers.squad(RECORDS)(kbl.question_answerer(tiny.encoder()))
