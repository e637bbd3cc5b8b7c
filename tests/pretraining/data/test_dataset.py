import math
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.pretraining.data.dataset import pretraining_dataset
from keras_bert_lite.pretraining.data.masking import Masking
from tests import tiny
from tests.pretraining.data.samples import rows_of, text, write


@pytest.fixture
def directory(tmp_path):
    def make(**options):
        path = tmp_path / "text.txt"
        path.write_text(text(), encoding="utf-8")
        write(path, tmp_path / "data", **options)
        return tmp_path / "data"

    return make


def batches(*arguments, number=5, **options):
    dataset = pretraining_dataset(*arguments, **options).take(number)
    return [tf.nest.map_structure(lambda x: x.numpy(), batch) for batch in dataset]


def same(a, b):
    tf.nest.map_structure(np.testing.assert_array_equal, a, b)


def restored(inputs, targets, weights):
    """The ids before the masking."""
    ids = inputs["token_ids"].copy()
    for row, places, were, there in zip(
        ids,
        inputs["masked_positions"],
        targets["prediction_logits"],
        weights["prediction_logits"] > 0,
        strict=True,
    ):
        row[places[there]] = were[there]
    return ids


@pytest.mark.parametrize("masking", [None, {"unit": "token"}])
def test_gives_every_row_once_an_epoch(directory, masking):
    place = directory(masking=masking)
    rows = rows_of(place)
    got = batches(place, len(rows), number=1)
    (inputs, targets, weights) = got[0]
    assert inputs["token_ids"].shape == (len(rows), 32)
    assert inputs["masked_positions"].shape == (len(rows), 5)
    seen = [
        (ids[mask].tolist(), segments[mask].sum().item(), label.item())
        for ids, mask, segments, label in zip(
            restored(inputs, targets, weights),
            inputs["padding_mask"],
            inputs["segment_ids"],
            targets["seq_relationship_logits"],
            strict=True,
        )
    ]
    if masking is None:
        want = [
            (x["token_ids"], len(x["token_ids"]) - x["second"][0], x["label"][0])
            for x in rows
        ]
        assert sorted(seen) == sorted(want)
    else:
        want = [x["token_ids"] for x in rows]
        ids = zip(inputs["token_ids"], inputs["padding_mask"], strict=True)
        assert sorted(x[mask].tolist() for x, mask in ids) == sorted(want)


def test_begins_anywhere(directory):
    place = directory()
    whole = batches(place, 7, number=40)  # beyond an epoch
    same(whole[30:], batches(place, 7, number=10, start=30))
    other = batches(place, 7, seed=1)
    assert (whole[0][0]["token_ids"] != other[0][0]["token_ids"]).any()


def test_epochs_have_masks_and_orders_of_their_own(directory):
    place = directory()
    number = len(rows_of(place))
    first, second = batches(place, number, number=2)
    assert (restored(*first) != restored(*second)).any()
    rows = [sorted(restored(*batch).tolist()) for batch in (first, second)]
    assert rows[0] == rows[1]
    masks = [batch[0]["masked_positions"].tolist() for batch in (first, second)]
    assert sorted(masks[0]) != sorted(masks[1])


def test_no_epoch_is_mixed_as_another(directory, monkeypatch):
    drawn, shuffle = [], tf.random.experimental.stateless_shuffle

    def noted(value, seed):
        tf.py_function(lambda x: drawn.append(tuple(x.numpy())), [seed], [])
        return shuffle(value, seed)

    place = directory()
    number = len(rows_of(place))
    monkeypatch.setattr(tf.random.experimental, "stateless_shuffle", noted)
    batches(place, number, number=4, shuffle=number // 3)
    assert len(drawn) >= 4 * 4  # the shards' order and three lots of rows an epoch
    assert len(set(drawn)) == len(drawn)


def test_packed_rows(directory):
    place = directory(objective="none", pack=True)
    lengths = {tuple(row["lengths"]) for row in rows_of(place)}
    for inputs, targets, _ in batches(place, 4):
        assert set(targets) == {"prediction_logits"}
        for ids, mask in zip(
            inputs["sequence_ids"], inputs["padding_mask"], strict=True
        ):
            assert (ids[~mask] == 0).all()
            assert tuple(np.bincount(ids[mask])[1:]) in lengths
            assert (np.diff(ids[mask]) >= 0).all()


@pytest.mark.parametrize("masking", [None, {}])
def test_targets_of_replaced_token_detection(directory, masking):
    place = directory(objective="none", masking=masking)
    for inputs, targets, weights in batches(place, 4, replaced=True):
        original = restored(inputs, targets, weights)
        np.testing.assert_array_equal(targets["replaced_logits"], original)
        assert (original != tiny.VOCABULARY.index("[MASK]")).all()
        real = inputs["padding_mask"].astype("float32")
        np.testing.assert_array_equal(weights["replaced_logits"], real)


@pytest.mark.parametrize("masking", [None, {}])
def test_rows_one_by_one(directory, masking):
    place = directory(masking=masking)
    rows = rows_of(place)
    seen = [
        restored(*batch)[0] if masking is None else batch[0]["token_ids"][0]
        for batch in batches(place, 1, number=len(rows))
    ]
    want = [row["token_ids"] + [0] * (32 - len(row["token_ids"])) for row in rows]
    assert sorted(x.tolist() for x in seen) == sorted(want)


def test_keras_knows_that_it_is_endless(directory):
    batches = pretraining_dataset(directory(), 4)
    assert batches.cardinality() == tf.data.INFINITE_CARDINALITY
    assert batches.take(3).cardinality() == 3


@pytest.mark.parametrize("masking", [None, {}])
def test_longest(directory, masking):
    place = directory(objective="none", short_share=0.9, masking=masking)
    got = batches(place, 2, padding="longest")
    shapes = {
        (x["token_ids"].shape[1], x["masked_positions"].shape[1]) for x, *_ in got
    }
    assert len(shapes) > 1
    assert all(most == math.ceil(0.15 * width) for width, most in shapes)


def test_refuses(directory, tmp_path):
    with pytest.raises(FileNotFoundError, match="must hold pretraining data"):
        pretraining_dataset(tmp_path, 2)
    place = directory(masking={})
    with pytest.raises(ValueError, match="`masking` must be None"):
        pretraining_dataset(place, 2, masking=Masking(tiny.tokenizer()))
    shard = next(iter(place.glob("*.tfrecord")))
    shard.write_bytes(shard.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"must have .* bytes.*write the pretraining"):
        pretraining_dataset(place, 2)


def test_says_that_a_shard_is_corrupt(directory):
    place = directory()
    shard = next(iter(place.glob("*.tfrecord")))
    data = bytearray(shard.read_bytes())
    data[40] ^= 255
    shard.write_bytes(bytes(data))
    with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
        batches(place, 2, number=1000)


@pytest.mark.parametrize("chunk_bytes", [1000, 10**6])  # many shards, or one
def test_parts_have_other_rows(directory, chunk_bytes):
    place = directory(objective="none", chunk_bytes=chunk_bytes)
    everything = Counter(tuple(row["token_ids"]) for row in rows_of(place))
    parts = []
    for index in range(2):
        rows = batches(place, 2, number=everything.total(), part=(index, 2))
        same(batches(place, 2, number=3, part=(index, 2), start=4), rows[4:7])
        masks = [inputs["padding_mask"][0] for inputs, *_ in rows]
        ids = [restored(*batch)[0] for batch in rows]
        parts.append([tuple(x[m].tolist()) for x, m in zip(ids, masks, strict=True)])
    begun = Counter(parts[0][:20] + parts[1][:20])  # within the first epoch
    assert begun <= everything
    assert set(parts[0] + parts[1]) == everything.keys()


@pytest.mark.parametrize(
    ("part", "message"),
    [((2, 2), "0 <= k < n"), ((0, 3), "a multiple of the 3 parts")],
)
def test_refuses_parts(directory, part, message):
    with pytest.raises(ValueError, match=message):
        pretraining_dataset(directory(), 4, part=part)
