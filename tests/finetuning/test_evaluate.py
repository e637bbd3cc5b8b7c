import json

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.finetuning import samples

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")


def test_labels_mistaken_and_worst_rows(tmp_path):
    labels = ["bad", "good"]
    model = tiny.classifier(labels)
    head = model.get_layer("head").dense
    head.kernel.assign(0 * head.kernel)
    head.bias.assign([0.0, 2.0])  # always good
    text_model = kbl.with_text(model, tiny.preprocessor())
    rows = samples.texts(6)
    found = kbl.evaluate(text_model, rows)
    assert found["scores"]["accuracy"] == 0.5
    assert found["confused"] == [{"expected": "bad", "answer": "good", "count": 3}]
    assert {x["expected"] for x in found["worst"]} == {"bad"}
    text_model.save(tmp_path / "model.keras")
    assert kbl.evaluate(tmp_path / "model.keras", rows) == found


def test_groups_of_rows_are_scored_apart(tmp_path):
    model = tiny.classifier(["bad", "good"])
    head = model.get_layer("head").dense
    head.kernel.assign(0 * head.kernel)
    head.bias.assign([0.0, 2.0])  # always good
    text_model = kbl.with_text(model, tiny.preprocessor())
    rows = [
        {"text": "day", "label": label, "language": language}
        for language, label in [("fr", "good"), ("en", "bad"), ("fr", "bad")]
    ]
    rows.append({"text": "fine", "label": "good", "language": "fr"})
    found = kbl.evaluate(text_model, rows, group="language")
    assert found["scores"]["accuracy"] == 0.5
    groups = found["groups"]
    assert [(x, y["rows"]) for x, y in groups.items()] == [("en", 1), ("fr", 3)]
    accuracies = [x["scores"]["accuracy"] for x in groups.values()]
    np.testing.assert_allclose(accuracies, [0, 2 / 3])
    with pytest.raises(ValueError, match=r"record 0: `group` must be one of its col"):
        kbl.evaluate(text_model, rows, group="script")


def test_candidates_of_a_row_each_are_scored_by_group():
    model = kbl.with_text(kbl.ranker(tiny.encoder()), tiny.preprocessor())
    rows = [
        {"query": query, "candidate": text, "label": grade, "language": query}
        for query in ("day", "weather")
        for text, grade in [("fine", 1), ("bad", 0), ("not", 0)]
    ]
    found = kbl.evaluate(model, rows, group="language")["groups"]
    assert {name: x["rows"] for name, x in found.items()} == {"day": 1, "weather": 1}


def test_the_threshold_of_the_model_counts():
    model = kbl.multi_label_classifier(tiny.encoder(), ["a", "b"])
    head = model.get_layer("head").dense
    head.kernel.assign(0 * head.kernel)
    head.bias.assign([-0.5, -0.5])  # 0.38
    rows = [{"text": "day", "label": ["a", "b"]}]
    scores = [
        kbl.evaluate(kbl.with_text(model, tiny.preprocessor(), threshold=x), rows)
        for x in (0.3, 0.5)
    ]
    assert [x["scores"]["micro_f1"] for x in scores] == [1, 0]


def test_the_no_answer_threshold_of_the_model_counts():
    model = kbl.question_answerer(tiny.encoder())
    answers = {"text": [], "answer_start": []}
    # No article: the scorer removes it, and a span of nothing else counts as silence.
    rows = [{"question": "what is", "context": "weather", "answers": answers}]
    scores = [
        kbl.evaluate(
            kbl.with_text(model, tiny.preprocessor(), no_answer_threshold=x), rows
        )
        for x in (-1e4, 1e4)
    ]
    assert [x["scores"]["noans_exact"] for x in scores] == [1, 0]


def test_numbers_are_names(tmp_path):
    """As in `finetune`, whatever the order of the labels is."""
    model = kbl.with_text(tiny.classifier(["1", "0"]), tiny.preprocessor())
    answers = model.predict(["a day", "fine"], verbose=0)["label"]
    rows = [
        {"text": x, "label": np.int64(y)}
        for x, y in zip(["a day", "fine"], answers, strict=True)
    ]
    assert kbl.evaluate(model, rows)["scores"]["accuracy"] == 1
    lines = ["text;label", *(f"{x['text']};{x['label']}" for x in rows)]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    found = kbl.evaluate(model, tmp_path / "a.csv", delimiter=";")
    assert found["scores"]["accuracy"] == 1


@pytest.mark.parametrize(
    ("builder", "label"),
    [(kbl.text_classifier, "ugly"), (kbl.multi_label_classifier, ["bad", "ugly"])],
)
def test_refuses_labels_that_the_model_has_not(builder, label):
    model = kbl.with_text(builder(tiny.encoder(), ["bad", "good"]), tiny.preprocessor())
    rows = [{"text": "day", "label": "bad"}, {"text": "day", "label": label}]
    with pytest.raises(ValueError, match=r"record 1: its labels .*: \['ugly'\]"):
        kbl.evaluate(model, rows)


def test_refuses_a_task_without_scores():
    model = kbl.pretraining.next_sentence_predictor(tiny.encoder())
    model = kbl.with_text(model, tiny.preprocessor(), pairs=True)
    with pytest.raises(ValueError, match="'next_sentence'"):
        kbl.evaluate(model, [{"text": "a"}])


@pytest.mark.parametrize(
    ("row", "scores", "simple"),
    [
        ({}, {"mrr@10": 1, "accuracy@1": 1}, "BM25"),
        ({"negative": "not"}, {"accuracy": 1}, "BM25"),
        ({"label": 0}, {"average_precision": 1, "accuracy": 1, "f1": 1}, "TF-IDF"),
    ],
)
def test_vectors_of_texts(row, scores, simple):
    """The second text is the first, so that the cosine is 1."""
    model = kbl.with_text(kbl.sentence_encoder(tiny.encoder()), tiny.preprocessor())
    rows = [
        {"anchor": x, "positive": x, **row} for x in ("fine weather", "a bad, bad day")
    ]
    if "label" in row:
        rows = [{**rows[0], "label": 1}, {**rows[1], "positive": "the is not"}]
        rows[1]["label"] = 0
    found = kbl.evaluate(model, rows)
    assert found["scores"] == {**found["scores"], **scores}
    assert found["baselines"][simple].keys() == found["scores"].keys()
    assert found["worst"] == [] or row
    same = kbl.compare(model, model, rows)
    assert same["difference"] == 0
    assert same["metric"] in found["scores"]


def test_a_model_of_no_numbers_is_not_scored():
    model = tiny.classifier()
    model.get_layer("head").dense.bias.assign([float("nan"), 0.0])
    text_model = kbl.with_text(model, tiny.preprocessor())
    with pytest.raises(ValueError, match=r"`model` must have finite weights.*head"):
        kbl.evaluate(text_model, samples.texts(6))


@pytest.mark.parametrize("text", ['{"colu', "[]", "{}", '{"columns": 3}', "\udcff"])
def test_a_damaged_report_is_named(text, tmp_path):
    (tmp_path / "report.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"report\.json: must be the report of a run"):
        kbl.evaluate(tmp_path, samples.texts(6))


def test_compares_two_models_on_the_rows_that_they_answer_differently():
    labels = ["bad", "good"]
    rows = [{"text": x, "label": "good"} for x in ("fine", "fine day", "not a day")]

    def always(label):
        model = kbl.text_classifier(tiny.encoder(pooling=None), labels, pooling="mean")
        head = model.get_layer("head").dense
        head.kernel.assign(0 * head.kernel)
        head.bias.assign([0.0, 1.0] if label == "good" else [1.0, 0.0])
        return kbl.with_text(model, tiny.preprocessor())

    found = kbl.compare(always("bad"), always("good"), rows)
    assert found["scores"] == {"first": 0.0, "second": 1.0}
    assert found["difference"] == 1.0
    assert found["p_value"] == 0.25  # three rows prove little
    row = {"text": "fine", "expected": "good", "first": "bad", "second": "good"}
    assert found["answers"][0] == row
    assert len(found["answers"]) == found["rows"] == 3
    with pytest.raises(ValueError, match="`metric` must be one of"):
        kbl.compare(always("bad"), always("good"), rows, metric="f1")
    other = kbl.regressor(tiny.encoder(pooling=None), pooling="mean")
    with pytest.raises(ValueError, match="`second` must have the task"):
        kbl.compare(always("bad"), kbl.with_text(other, tiny.preprocessor()), rows)
    pairs = kbl.text_classifier(tiny.encoder(pooling=None), labels, pooling="mean")
    paired = kbl.with_text(pairs, tiny.preprocessor(), pairs=True)
    with pytest.raises(ValueError, match="`second` must read texts or pairs"):
        kbl.compare(always("bad"), paired, rows)


def test_rows_of_vectors_may_have_more_than_those_of_the_run(tmp_path):
    """A run on pairs is scored on triplets, and on pairs with a number."""
    model = kbl.with_text(kbl.sentence_encoder(tiny.encoder()), tiny.preprocessor())
    model.save(tmp_path / "model.keras")
    columns = {"text": "a", "text_pair": "b", "negative": None, "label": None}
    (tmp_path / "report.json").write_text(json.dumps({"columns": columns}))
    row = {"a": "fine weather", "b": "fine weather"}
    for more, score in (({}, "mrr@10"), ({"negative": "bad"}, "accuracy")):
        found = kbl.evaluate(tmp_path, [{**row, **more}])
        assert found["scores"][score] == 1
