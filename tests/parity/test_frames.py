"""pandas in: as rows, and as the texts of `predict`."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny

pandas = pytest.importorskip("pandas", reason="needs pandas")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.tensorflow(reason="strings need TensorFlow"),
]


def test_rows():
    frame = pandas.DataFrame({"text": ["a day", "fine"], "label": [0, 1]})
    assert list(kbl.data.read(frame)) == [
        {"text": "a day", "label": 0},
        {"text": "fine", "label": 1},
    ]
    frame["label"] = pandas.array([0, None], "Int64")  # `pandas.NA`
    assert list(kbl.data.read(frame))[1]["label"] is None
    frame.loc[1, "text"] = None
    with pytest.raises(ValueError, match="Record 1: `text` must be a string"):
        kbl.text_dataset(frame, tiny.preprocessor(), labels=["x", "y"])


@pytest.mark.parametrize("source", ["pandas", "datasets"])
def test_integers_that_are_names_of_other_labels(source):
    frame = pandas.DataFrame({"text": ["a day", "fine"], "label": [1, 0]})
    rows = frame
    if source == "datasets":
        rows = pytest.importorskip("datasets").Dataset.from_pandas(frame)
    with pytest.raises(ValueError, match=r"Record 0: .*a name from an index"):
        kbl.text_dataset(rows, tiny.preprocessor(), labels=["1", "0"])
    data = kbl.text_dataset(rows, tiny.preprocessor(), labels=["0", "1"])
    assert next(iter(data))[1].numpy().tolist() == [1, 0]
    model = kbl.with_text(tiny.classifier(["1", "0"]), tiny.preprocessor())
    answers = model.predict(["a day", "fine"], verbose=0)["label"]
    share = sum(answers == ["1", "0"]) / 2
    assert kbl.evaluate(model, rows)["scores"]["accuracy"] == share


def test_a_column_of_texts():
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor())
    texts = ["a day", "fine"]
    found = model.predict(pandas.Series(texts), verbose=0)["scores"]
    np.testing.assert_allclose(found, model.predict(texts, verbose=0)["scores"])


def test_a_data_set_of_hugging_face(tmp_path):
    pytest.importorskip("datasets", reason="needs datasets")
    (tmp_path / "train.csv").write_text("text,label\na day,x\nfine,y\n")
    rows = list(kbl.data.read(f"datasets://{tmp_path}:train"))
    assert rows == [{"text": "a day", "label": "x"}, {"text": "fine", "label": "y"}]
