"""batches: order, size, streaming."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.training.data import batches, read_csv
from tests.training.data.files import write

SOURCE = {"number": list(range(10))}


def row(record):
    return {"number": np.array(record["number"], np.int32)}


def numbers(**options):
    return batches(SOURCE, row, lambda batch: batch["number"], 4, **options)


def order(dataset):
    return [x for batch in dataset for x in batch.numpy().tolist()]


@pytest.mark.parametrize("check", [True, False])
def test_keeps_the_order_and_knows_its_size(check):
    dataset = numbers(check=check)
    assert len(dataset) == 3
    assert [batch.shape[0] for batch in dataset] == [4, 4, 2]
    assert order(dataset) == SOURCE["number"]
    assert len(numbers(drop_remainder=True)) == 2
    assert order(numbers(drop_remainder=True)) == SOURCE["number"][:8]


PAIRS = {
    "a": ["x", "x", "y", "z", "v", "w", "x"],
    "b": ["1", "2", "y", "3", "4", "5", "1"],
}


def distinct(size=2, **options):
    def row(record):
        return {"text": np.array([record["a"].encode(), record["b"].encode()], object)}

    options = {"shuffle": True, "distinct": True, **options}
    return batches(PAIRS, row, lambda x: x["text"], size, **options)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_no_text_occurs_twice_in_a_batch(size):
    dataset = distinct(size, seed=1)
    assert len(dataset) == 7 // size
    epochs = [[x.numpy().tolist() for x in dataset] for _ in range(4)]
    assert [len(epoch) for epoch in epochs] == [7 // size] * 4
    for batch in (batch for epoch in epochs for batch in epoch):
        assert len(batch) == size
        # A row may repeat its own text.
        texts = [text for pair in batch for text in set(pair)]
        assert len(texts) == len(set(texts))
    assert epochs[0] != epochs[1]
    again = distinct(size, seed=1)
    assert [[x.numpy().tolist() for x in again] for _ in range(4)] == epochs


def test_rows_that_repeat_a_text_wait_for_a_later_batch():
    """Of eight rows with one text, each comes once in an epoch of eight batches."""
    texts = {"a": ["x"] * 8 + list("abcdefgh"), "b": [str(i) for i in range(16)]}

    def row(record):
        return {"text": np.array([record["a"].encode(), record["b"].encode()], object)}

    options = {"shuffle": True, "distinct": True, "seed": 0}
    dataset = batches(texts, row, lambda x: x["text"], 2, **options)
    numbers = [int(b) for batch in dataset for _, b in batch.numpy()]
    assert len(numbers) == 16
    assert {i for i in numbers if i < 8} == set(range(8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 6}, "`batch_size` must be at most 5"),
        ({"shuffle": False}, "`distinct` needs `shuffle=True`"),
        ({"shuffle": 4}, "`distinct` needs `shuffle=True`"),
        ({"group_by_length": True}, "without `group_by_length`"),
    ],
)
def test_refuses_distinct_batches(options, message):
    with pytest.raises(ValueError, match=message):
        distinct(**options)


@pytest.mark.parametrize("shuffle", [True, 6])
@pytest.mark.parametrize("group_by_length", [False, True])
def test_shuffles_every_epoch_anew_by_the_seed(shuffle, group_by_length):
    def row(record):
        text = np.array(b"a" * record["number"], object)
        return {"number": np.array(record["number"], np.int32), "text": text}

    def epochs(seed):
        options = {"shuffle": shuffle, "group_by_length": group_by_length}
        dataset = batches(SOURCE, row, lambda x: x["number"], 2, seed=seed, **options)
        assert len(dataset) == 5
        return [order(dataset) for _ in range(3)]

    first = epochs(7)
    assert all(sorted(epoch) == SOURCE["number"] for epoch in first)
    assert len({tuple(epoch) for epoch in [*first, SOURCE["number"]]}) == 4
    assert epochs(7) == first != epochs(8)
    keras.utils.set_random_seed(0)
    first = epochs(None)
    keras.utils.set_random_seed(0)
    assert epochs(None) == first


def test_groups_by_length():
    texts = ["é" * (17 * i % 60) for i in range(60)]

    def row(record):
        return {"text": np.array([record["text"].encode(), b""], object)}

    def lengths(batch):
        return tf.strings.length(batch["text"][:, 0], "UTF8_CHAR")

    options = {"shuffle": True, "group_by_length": True}
    dataset = batches({"text": texts}, row, lengths, 8, **options)
    found = [batch.numpy() for batch in dataset]
    assert len(found) == len(dataset) == 8
    assert sorted(np.concatenate(found)) == list(range(60))
    assert all(np.ptp(batch) == len(batch) - 1 for batch in found)
    dropped = batches({"text": texts}, row, lengths, 8, drop_remainder=True, **options)
    assert [len(batch) for batch in dropped] == [8] * 7
    assert len(dropped) == 7


@pytest.mark.parametrize("shuffle", [False, 100])
def test_streams(shuffle):
    read = itertools.count()

    def endless():
        for number in itertools.count():
            next(read)
            yield {"number": number}

    dataset = batches(
        endless, row, lambda x: x["number"], 4, shuffle=shuffle, check=False
    )
    assert dataset.cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert len(order(dataset.take(3))) == 12
    assert next(read) < 2000


def test_reads_a_file_in_every_epoch(tmp_path):
    path = write(tmp_path, "a.tsv", "number\n1\n2\n3\n4\n5\n")
    rows = read_csv(path, converters={"number": int})
    dataset = batches(rows, row, lambda x: x["number"], 2)
    assert len(dataset) == 3
    assert [order(dataset) for _ in range(2)] == [[1, 2, 3, 4, 5]] * 2


def test_reads_a_data_set_inside_a_data_set():
    source = tf.data.Dataset.from_tensor_slices(SOURCE).filter(lambda x: True)
    dataset = batches(source, row, lambda x: x["number"], 4)
    assert order(dataset) == SOURCE["number"]
    assert len(dataset) == 3


@pytest.mark.parametrize("shuffle", [True, False])
def test_names_the_record(shuffle):
    def refuse(record):
        if record["number"] == 3:
            raise ValueError("`number` must not be 3. Received: 3")
        return row(record)

    def widen(record):
        return {"number": np.zeros(1 + record["number"] // 7)}

    with pytest.raises(ValueError, match="Record 3: `number` must not be 3"):
        batches(SOURCE, refuse, dict, shuffle=shuffle)
    with pytest.raises(ValueError, match=r"Record 7 must have as many .*\(2,\)"):
        batches(SOURCE, widen, dict, shuffle=shuffle)


def test_without_check_the_error_comes_later():
    def refuse(record):
        if record["number"] == 3:
            raise ValueError("`number` must not be 3. Received: 3")
        return row(record)

    dataset = batches(SOURCE, refuse, dict, check=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Record 3: `number` must"):
        list(dataset)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "`batch_size` must be a positive integer"),
        ({"shuffle": 0}, "`shuffle` must be a positive integer"),
        ({"group_by_length": True}, "`group_by_length` changes .*shuffle=False"),
        ({"drop_remainder": True}, "`batch_size` must be at most .*10.*Received: 32"),
    ],
)
def test_refuses_options(options, message):
    with pytest.raises(ValueError, match=message):
        batches(SOURCE, row, dict, **options)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("check", [True, False])
def test_refuses_sources_without_records(shuffle, check):
    with pytest.raises(ValueError, match="`source` must hold records"):
        batches([], row, dict, shuffle=shuffle, check=check)
