"""records: every source comes out the same."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.training.data import records

ROWS = [{"text": "a é", "label": 1}, {"text": "", "label": 0}]
COLUMNS = {"text": ["a é", ""], "label": [1, 0]}


def generator():
    yield from ROWS


def encoded():
    return tf.data.Dataset.from_tensor_slices(COLUMNS)


@pytest.mark.parametrize(
    ("source", "size"),
    [
        (ROWS, 2),
        (tuple(ROWS), 2),
        (COLUMNS, 2),
        ({"text": np.array(["a é", ""]), "label": np.array([1, 0])}, 2),
        ({"text": ["a é".encode(), b""], "label": (1, 0)}, 2),
        (generator, None),
        (lambda: iter(ROWS), None),
        (records(ROWS), 2),
        (encoded(), 2),
        (encoded().filter(lambda row: True), None),
    ],
)
def test_every_source_gives_the_same(source, size):
    rows = records(source)
    assert rows.size == size
    for _ in range(2):
        assert list(rows) == ROWS
        assert [type(x) for row in rows for x in row.values()] == [str, int] * 2


def test_nested_values_are_plain():
    answers = {"text": tf.constant(["é"]), "answer_start": np.array([3])}
    words = tf.ragged.constant([["a"], ["b", "c"]])
    (row,) = records([{"answers": answers, "words": words, "score": np.float32(0.5)}])
    assert row == {
        "answers": {"text": ["é"], "answer_start": [3]},
        "words": [["a"], ["b", "c"]],
        "score": 0.5,
    }
    assert type(row["score"]) is float


def test_ragged_data_sets():
    words = tf.ragged.constant([["a"], ["b", "c"]])
    source = tf.data.Dataset.from_tensor_slices({"words": words})
    assert list(records(source)) == [{"words": ["a"]}, {"words": ["b", "c"]}]


def test_reads_lazily():
    rows = records(lambda: ({"number": i} for i in itertools.count()))
    assert list(itertools.islice(rows, 3)) == [{"number": i} for i in range(3)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (iter(ROWS), "an iterator cannot; .*Received: an object of type list_iterator"),
        (generator(), "`source` must give .*Received: an object of type generator"),
        ("train.tsv", "a file needs a reader.*Received: 'train.tsv'"),
        (3, "`source` must be a list of dictionaries.*Received: 3"),
        (
            {"train": ROWS[0]},
            "pass one split, not a dictionary of splits. Received: dict",
        ),
        ({"train": encoded()}, "column 'train' must be a list.*Dataset"),
        ({"text": "ab"}, "column 'text' must be a list.*Received: str"),
    ],
)
def test_refuses_other_sources(source, message):
    with pytest.raises(TypeError, match=message):
        records(source)


def test_refuses_columns_of_different_length():
    with pytest.raises(ValueError, match=r"Received: {'a': 2, 'b': 1}"):
        records({"a": [1, 2], "b": [1]})


def test_refuses_sources_without_an_end():
    with pytest.raises(ValueError, match="`source` must be finite"):
        records(encoded().repeat())


def test_names_the_record():
    with pytest.raises(TypeError, match=r"Record 1 must be a dict.*Received: \('a', 1"):
        list(records([ROWS[0], ("a", 1)]))
    with pytest.raises(ValueError, match=r"Record 1 must be UTF-8. Received: .*0xff"):
        list(records([{"text": b"a"}, {"text": b"\xff"}]))


def test_empty():
    for source in ([], {}, {"text": []}, lambda: []):
        assert list(records(source)) == []


@pytest.mark.parity
def test_hugging_face_datasets():
    datasets = pytest.importorskip("datasets")
    source = datasets.Dataset.from_dict(COLUMNS)
    for each in (source, source.with_format("numpy"), source.with_format("torch")):
        assert list(records(each)) == ROWS
        assert records(each).size == 2
    assert list(records({name: source[name] for name in COLUMNS})) == ROWS
    stream = source.to_iterable_dataset()
    assert records(stream).size is None
    assert [list(records(stream)) for _ in range(2)] == [ROWS, ROWS]
    with pytest.raises(TypeError, match="column 'train' must be a list"):
        records(datasets.DatasetDict({"train": source}))


@pytest.mark.parity
def test_tensorflow_datasets(tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets")
    features = tfds.features.FeaturesDict(
        {
            "text": tfds.features.Text(),
            "label": tfds.features.ClassLabel(names=["no", "yes"]),
            "words": tfds.features.Sequence(tfds.features.Text()),
            "answers": tfds.features.Sequence(
                {"text": tfds.features.Text(), "start": np.int32}
            ),
        }
    )
    answers = [{"text": "é", "start": 3}, {"text": "f", "start": 4}]
    row = {"text": "a é", "label": 1, "words": ["a", "é"], "answers": answers}
    builder = tfds.dataset_builders.store_as_tfds_dataset(
        name="tiny",
        version="1.0.0",
        features=features,
        split_datasets={"train": [(0, row), (1, row)]},
        data_dir=tmp_path,
        config="plain",
        disable_shuffling=True,
    )
    rows = records(builder.as_dataset("train"))
    expected = {**row, "answers": {"text": ["é", "f"], "start": [3, 4]}}
    assert list(rows) == list(rows) == [expected, expected]
    assert rows.size == 2
    with pytest.raises(TypeError, match="pass one"):
        records(builder.as_dataset())
