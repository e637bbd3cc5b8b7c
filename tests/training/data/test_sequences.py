"""text_dataset, choice_dataset and ranking_dataset, into the models that take them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.training.data import (
    choice_dataset,
    ranking_dataset,
    text_dataset,
)
from tests import tiny
from tests.training.data.batches import assert_inputs, only

LABELS = ["bad", "fine"]
TEXTS = [*tiny.TEXTS, "a day"]
ROWS = {"text": TEXTS, "label": [1, 0, "bad", "fine", 1]}
PREPROCESSOR = tiny.preprocessor()
CHOICES = [
    {"text": "the day", "choices": ["is fine", "is bad"], "label": 1},
    {"text": "weather", "choices": ["", "not"], "label": 0},
]


class Stub:
    """Stands for the preprocessor in tests that are not about ids."""

    sequence_length = None

    def __init__(self, function):
        self._function = function

    def segments(self, texts):
        return texts, None

    def rows(self, texts, _):
        return self._function(texts)

    def truncates(self, texts):
        return False


def ids_of(texts):
    *_, last = texts.values()
    shape = tf.concat([tf.shape(last), [4]], 0)
    return {
        "token_ids": tf.fill(shape, 5),
        "segment_ids": tf.zeros(shape, tf.int32),
        "padding_mask": tf.fill(shape, True),
    }


as_strings = Stub(lambda texts: texts)
as_ids = Stub(ids_of)


def with_labels(labels, text=tiny.TEXTS[0], **columns):
    return [{"text": text, "label": label, **columns} for label in labels]


def train(model, loss, dataset):
    model.compile("sgd", loss, run_eagerly=True)
    (found,) = model.fit(dataset, shuffle=False, verbose=0).history["loss"]
    assert np.isfinite(found)
    return found


class TestTexts:
    def test_inputs_are_those_of_the_preprocessor(self):
        found = list(text_dataset(ROWS, PREPROCESSOR, labels=LABELS, batch_size=3))
        assert_inputs(found[0][0], PREPROCESSOR(TEXTS[:3]))
        assert_inputs(found[1][0], PREPROCESSOR(TEXTS[3:]))

    def test_pairs(self):
        source = {"a": TEXTS, "b": TEXTS[::-1]}
        inputs = only(text_dataset(source, as_strings, "a", "b", None))
        assert [x.decode() for x in inputs["text"].numpy()] == TEXTS
        assert [x.decode() for x in inputs["text_pair"].numpy()] == TEXTS[::-1]

    def test_columns_are_stacked(self):
        source = {"anchor": ["a", "b"], "positive": ["c", "d"]}
        columns = ["anchor", "positive"]
        dataset = text_dataset(source, as_strings, columns, label=None)
        inputs, targets = only(dataset)
        assert inputs["text"].numpy().tolist() == [[b"a", b"c"], [b"b", b"d"]]
        assert targets.numpy().tolist() == [0, 0]  # for losses that need none
        inputs, _ = only(text_dataset(source, as_ids, columns, label=None))
        assert inputs["token_ids"].shape == (2, 2, 4)

    def test_without_targets(self):
        inputs = only(text_dataset({"text": TEXTS}, as_strings, label=None))
        assert inputs["text"].numpy().tolist() == [text.encode() for text in TEXTS]

    def test_padding_to_a_fixed_length(self):
        preprocessor = tiny.preprocessor(padding="max_length")
        dataset = text_dataset(
            ROWS, preprocessor, labels=LABELS, batch_size=2, drop_remainder=True
        )
        assert dataset.element_spec[0]["token_ids"].shape == (2, 16)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (None, "`text` must be a string. Received: None"),
            (["a"], r"`text` must be a string. Received: \['a'\]"),
            ("\ud800", "`text` must be Unicode. Received: .*surrogates"),
        ],
    )
    def test_refuses_texts(self, text, message):
        source = [{"text": "a", "label": 1}, {"text": text, "label": 1}]
        with pytest.raises(ValueError, match=f"Record 1: {message}"):
            text_dataset(source, PREPROCESSOR, labels=LABELS)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"text": "sentence"}, "`text` must be one of .*Received: 'sentence'"),
            ({"text_pair": "b"}, r"`text_pair` .* \['text', 'label'\] .*Received: 'b'"),
            ({"label": "gold"}, "`label` must be one of the .*Received: 'gold'"),
            ({"weight": "w"}, "`weight` must be one of the columns.*Received: 'w'"),
        ],
    )
    def test_names_missing_columns(self, columns, message):
        with pytest.raises(ValueError, match=f"Record 0: {message}"):
            text_dataset(ROWS, PREPROCESSOR, labels=LABELS, **columns)


class TestLabels:
    def test_names_and_indices(self):
        _, targets = only(text_dataset(ROWS, as_strings, labels=LABELS))
        assert targets.dtype == "int32"
        assert targets.numpy().tolist() == [1, 0, 0, 1, 1]

    @pytest.mark.parametrize("label", [2, -1, "1", "Fine", 1.0, None, [1]])
    def test_refuses_others(self, label):
        source = with_labels([1, label])
        with pytest.raises(
            ValueError, match=r"Record 1: `label` must be one of \['bad'"
        ):
            text_dataset(source, as_strings, labels=LABELS)

    def test_multi_label(self):
        source = with_labels([["fine"], [], [1, 0, 1], ["odd", "bad"]])
        options = {"labels": ["bad", "fine", "odd"], "multi_label": True}
        _, targets = only(text_dataset(source, as_strings, **options))
        assert targets.dtype == "float32"
        expected = [[0, 1, 0], [0, 0, 0], [1, 0, 1], [1, 0, 1]]
        assert targets.numpy().tolist() == expected

    def test_multi_label_columns(self):
        source = {"text": TEXTS[:2], "bad": [0, 1], "fine": [1, 1]}
        options = {"label": LABELS, "labels": LABELS, "multi_label": True}
        _, targets = only(text_dataset(source, as_strings, **options))
        assert targets.numpy().tolist() == [[0, 1], [1, 1]]

    @pytest.mark.parametrize("label", ["fine", [2, 0], [1], ["poor"], ["fine", 1], 1])
    def test_refuses_other_label_lists(self, label):
        source = with_labels([[], label])
        with pytest.raises(ValueError, match=r"Record 1: `label` must be .*Received: "):
            text_dataset(source, as_strings, labels=LABELS, multi_label=True)

    def test_refuses_arguments(self):
        with pytest.raises(ValueError, match="`labels` must be at least two names"):
            text_dataset(ROWS, as_strings, labels=["bad"])
        with pytest.raises(ValueError, match="`multi_label` needs `labels`"):
            text_dataset(ROWS, as_strings, multi_label=True)
        with pytest.raises(ValueError, match="`weight` needs a `label`"):
            text_dataset(ROWS, as_strings, label=None, weight="w")


class TestNumbers:
    def test_one_or_several(self):
        _, targets = only(text_dataset(with_labels([0.5, 2]), as_strings))
        assert targets.dtype == "float32"
        assert targets.numpy().tolist() == [[0.5], [2]]
        source = with_labels([0.5, 2], other=3)
        dataset = text_dataset(source, as_strings, label=["label", "other"])
        assert only(dataset)[1].numpy().tolist() == [[0.5, 3], [2, 3]]

    @pytest.mark.parametrize(
        "label", [float("nan"), float("inf"), 1e39, -1e39, "0.5", None]
    )
    def test_refuses_others(self, label):
        with pytest.raises(ValueError, match="Record 1: `label` must be a number"):
            text_dataset(with_labels([1.0, label]), as_strings)

    def test_refuses_lists_of_other_length(self):
        with pytest.raises(ValueError, match="Record 1 must have as many values"):
            text_dataset(with_labels([[1.0, 2.0], [1.0]]), as_strings)

    def test_weights(self):
        source = [{**row, "w": i / 2} for i, row in enumerate(with_labels([1, 0, 1]))]
        dataset = text_dataset(source, as_strings, labels=LABELS, weight="w")
        assert only(dataset)[2].numpy().tolist() == [0, 0.5, 1]

    @pytest.mark.parametrize("weight", [-1, float("nan"), [1, 2], "1"])
    def test_refuses_weights(self, weight):
        source = with_labels([1], w=weight)
        with pytest.raises(ValueError, match="Record 0: `weight` must be "):
            text_dataset(source, as_strings, labels=LABELS, weight="w")


class TestChoices:
    def test_lists(self):
        inputs, targets = only(choice_dataset(CHOICES, PREPROCESSOR))
        assert inputs["token_ids"].shape[:2] == (2, 2)
        rows = PREPROCESSOR((["the day", "weather"], ["is bad", "not"]))
        width = rows["token_ids"].shape[1]
        assert_inputs({k: x[:, 1, :width] for k, x in inputs.items()}, rows)
        assert targets.dtype == "int32"
        assert targets.numpy().tolist() == [1, 0]

    def test_columns(self):
        source = {"text": ["a"], "b": ["c"], "d": ["e"]}
        inputs = only(choice_dataset(source, as_strings, "text", ["b", "d"], None))
        assert inputs["text"].numpy().tolist() == [b"a"]
        assert inputs["text_pair"].numpy().tolist() == [[b"c", b"e"]]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"choices": ["a", "b", "c"]}, "Record 2 must have as many values"),
            ({"choices": ["a"]}, "Record 2: `text_pair` must be a list of two texts"),
            ({"choices": "ab"}, "Record 2: `text_pair` must be a list of two texts"),
            ({"choices": ["a", None]}, "Record 2: `text_pair` must be a string"),
            ({"label": 2}, "Record 2: `label` must be the index of one of 2 choices"),
            ({"label": "a"}, "Record 2: `label` must be the index of one of 2"),
        ],
    )
    def test_refuses_records(self, changes, message):
        source = [*CHOICES, {**CHOICES[0], **changes}]
        with pytest.raises(ValueError, match=message):
            choice_dataset(source, PREPROCESSOR)


RANKED = [
    {"query": "the day", "candidates": ["fine", "bad weather"], "grades": [2, 0.5]},
    {"query": "is", "candidates": ["a day"], "grades": [True]},
]


class TestRanking:
    def test_lists_are_filled_up(self):
        inputs, targets = only(ranking_dataset(RANKED, PREPROCESSOR))
        assert targets.numpy().tolist() == [[2, 0.5], [1, 0]]
        real = inputs["padding_mask"].numpy().any(-1)
        assert real.tolist() == [[True, True], [True, False]]
        texts = {
            "text": ["the day", "is"],
            "candidates": [["fine", "bad weather"], ["a day"]],
        }
        assert_inputs(inputs, PREPROCESSOR(texts))
        assert_inputs(inputs, only(ranking_dataset(RANKED, PREPROCESSOR, grades=None)))

    def test_scores_of_a_teacher(self):
        rows = [{**RANKED[0], "scores": [-3, 1e3]}, {**RANKED[1], "scores": [0.1]}]
        _, targets = only(ranking_dataset(rows, PREPROCESSOR, teacher="scores"))
        np.testing.assert_allclose(targets, [[-3, 1e3], [0.1, 0]])
        rows[1]["scores"] = [1, 2]  # of other candidates
        with pytest.raises(ValueError, match="Record 1: `teacher` must be a list of 1"):
            ranking_dataset(rows, PREPROCESSOR, teacher="scores")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"candidates": []}, "`candidates` must be a list of one string or more"),
            ({"candidates": "ab"}, "`candidates` must be a list"),
            ({"candidates": ["a", ""]}, "none of them empty"),
            ({"candidates": ["a", "b\x1fc"]}, r"or with U\+001F"),
            ({"candidates": ["a", "\ud800"]}, "`candidates` must be Unicode"),
            ({"grades": [1]}, "`grades` must be a list of 2 numbers, one for each"),
            ({"grades": [1, -1]}, r"from 0 to 100. Received: \[1, -1\]"),
            ({"grades": [1, 101]}, "from 0 to 100"),
            ({"grades": [1, "1"]}, "must be a list of 2 numbers"),
            ({"grades": [1, float("nan")]}, "must be a list of 2 numbers"),
            ({"query": None}, "`query` must be a string"),
        ],
    )
    def test_refuses_records(self, changes, message):
        with pytest.raises(ValueError, match=f"Record 1: .*{message}"):
            ranking_dataset([RANKED[1], {**RANKED[0], **changes}], PREPROCESSOR)


class TestTraining:
    def test_classifier(self):
        dataset = text_dataset(
            ROWS, PREPROCESSOR, labels=LABELS, batch_size=2, shuffle=True
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        train(tiny.classifier(LABELS), loss, dataset)

    def test_multi_label_classifier(self):
        options = {"labels": LABELS, "multi_label": True}
        dataset = text_dataset(with_labels([["fine"], []]), as_ids, **options)
        model = kbl.multi_label_classifier(tiny.encoder(), LABELS)
        train(model, keras.losses.BinaryCrossentropy(from_logits=True), dataset)

    def test_regressor_with_weights(self):
        source = with_labels([0.5, 2.0], w=0.5)
        dataset = text_dataset(source, as_ids, weight="w")
        model = kbl.regressor(tiny.encoder(dropout=0.0, attention_dropout=0.0))
        inputs, targets, _ = only(dataset)
        logits = np.array(model(inputs)["logits"])
        found = train(model, keras.losses.MeanSquaredError(), dataset)
        expected = 0.5 * ((logits - targets.numpy()) ** 2).mean()
        np.testing.assert_allclose(found, expected, rtol=1e-4)

    def test_multiple_choice(self):
        dataset = choice_dataset(CHOICES, as_ids)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        train(kbl.multiple_choice(tiny.encoder()), loss, dataset)

    def test_choices_that_are_compared(self):
        inputs, _ = only(choice_dataset(CHOICES, as_ids, compare=True))
        texts = [[row["text"], *row["choices"]] for row in CHOICES]
        expected = ids_of({"text": texts})
        np.testing.assert_array_equal(inputs["token_ids"], expected["token_ids"])

    def test_predictions_without_targets(self):
        dataset = text_dataset(ROWS, as_ids, label=None, batch_size=2)
        model = tiny.classifier(LABELS)
        found = model.predict(dataset, verbose=0)["logits"]
        expected = np.array(model(ids_of({"text": TEXTS}))["logits"])
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_tokenizes_whole_batches_in_the_pipeline():
    shapes = []

    def preprocess(texts):
        shapes.append(tuple(texts["text"].shape))
        return texts

    stub = Stub(preprocess)
    dataset = text_dataset(ROWS, stub, labels=LABELS, shuffle=True, batch_size=2)
    assert len(list(dataset)) == 3
    assert shapes == [(None,)]
