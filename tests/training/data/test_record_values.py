"""Which label a value is: by name, or by index."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.data.record_values import index_in, indicators
from keras_bert_lite.training.data.records import plain
from tests import tiny


@pytest.mark.parametrize(
    ("labels", "value", "index"),
    [
        (["bad", "good"], "good", 1),
        (["bad", "good"], 1, 1),
        (["0", "1"], 1, 1),  # by name and by index
        (["1", "0"], "1", 0),
        (["1", "2", "3"], 3, 2),  # no index
        (["0", "2", "4"], 4, 2),
        (["1", "2", "x"], 0, 0),  # no name
        (["True", "False"], "False", 1),
        (["False", "True"], True, 1),
        (["0.5", "1.5"], 1.5, 1),
    ],
)
def test_a_name_or_an_index(labels, value, index):
    assert index_in(labels)(value) == index


@pytest.mark.parametrize(
    ("labels", "value"),
    [(["1", "0"], 1), (["1", "2", "3"], 1), (["0", "2", "4"], 2), (["1", "0"], True)],
)
@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.array])
def test_a_name_that_is_another_index_is_refused(labels, value, kind):
    if value is True:
        labels = ["True", "False"]
        kind = np.bool_ if kind is np.array else bool
    with pytest.raises(ValueError, match=r"a name from an index.*the name of label"):
        index_in(labels)(plain(kind(value)))


def test_several_labels():
    convert = indicators(["1", "0"])
    assert convert(["1"]).tolist() == [1, 0]
    assert convert([1]).tolist() == [1, 0]
    assert convert([0]).tolist() == [0, 1]
    for value in ([1, 0], [1, 1]):  # names of both and of the first, or 0 and 1
        with pytest.raises(ValueError, match="names from 0 and 1 for each label"):
            convert(value)
    assert indicators(["a", "b"])([0, 1]).tolist() == [0, 1]


@pytest.mark.tensorflow(reason="strings need TensorFlow")
@pytest.mark.parametrize("task", ["text", "pair", "tags", "intents", "slots"])
@pytest.mark.parametrize("kind", [int, np.int32, str])
def test_data_sets_of_every_task(task, kind):
    labels = ["1", "0"]
    row = {
        "text": "a day",
        "text_pair": "fine",
        "label": kind(1),
        "words": ["a", "day"],
        "tags": [kind(1) if task in ("tags", "slots") else "1", "0"],
        "intent": kind(1) if task == "intents" else "1",
    }
    makers = {
        "text": lambda x: kbl.text_dataset(x, PREPROCESSOR, labels=labels),
        "pair": lambda x: kbl.text_dataset(
            x, PREPROCESSOR, text_pair="text_pair", labels=labels
        ),
        "tags": lambda x: kbl.token_dataset(x, PREPROCESSOR, labels),
        "intents": lambda x: kbl.intent_and_slot_dataset(
            x, PREPROCESSOR, labels, labels
        ),
    }
    make = makers.get(task, makers["intents"])
    if kind is not str:
        with pytest.raises(ValueError, match=r"Record 0: .*a name from an index"):
            make([row])
        return
    targets = next(iter(make([row])))[1]
    first = targets["intent_logits"] if task == "intents" else targets
    first = targets["slot_logits"] if task == "slots" else first
    assert np.ravel(first)[1 if task in ("tags", "slots") else 0] == 0


PREPROCESSOR = tiny.preprocessor()
