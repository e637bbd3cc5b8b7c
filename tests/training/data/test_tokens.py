"""token_dataset against targets written out in Python."""

import functools

import keras
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.data.tokens import token_dataset
from tests import tiny
from tests.training.data.batches import assert_inputs, only

LENGTH, STRIDE = 10, 3
PREPROCESSOR = tiny.preprocessor(LENGTH, stride=STRIDE)
LABELS = ["O", "B-X", "I-X", "B-Y"]
RECORDS = [
    {"words": ["the", "finer", "weather"], "tags": ["O", "B-X", "I-X"]},
    {"words": ["days"], "tags": ["B-Y"]},
    {
        "words": ["Fine", "", "a-b", "\x01", "🙂", *"abcdef", "finer", "bads"],
        "tags": [1, 0, 1, 2, 3, *[0] * 6, "B-Y", "I-X"],
    },
    {"words": ["\x01", ""], "tags": ["B-X", "O"]},
]


def pieces_of(record):
    """Returns `(id, tag, is first)` of each piece, from each word's own ids."""
    tags = [LABELS.index(x) if isinstance(x, str) else x for x in record["tags"]]
    rows = PREPROCESSOR.tokenizer(record["words"]).to_list()
    return [
        (piece, tag, place == 0)
        for row, tag in zip(rows, tags, strict=True)
        for place, piece in enumerate(row)
    ]


def windows_of(length):
    room = LENGTH - 2
    step = room - min(STRIDE, room // 2)
    begins = range(0, max(length - room, 0) + step, step)
    return [range(x, min(x + room, length)) for x in begins]


def most_context(windows, token):
    """The window that shows most of what is around a token."""
    scores = {
        i: 100 * min(token - w.start, w.stop - 1 - token) + len(w)
        for i, w in enumerate(windows)
        if token in w
    }
    return max(scores, key=lambda i: (scores[i], -i))


def expected_rows(record, pieces):
    tokenizer, found = PREPROCESSOR.tokenizer, pieces_of(record)
    windows = windows_of(len(found))
    for number, window in enumerate(windows):
        ids, tags, weights = [tokenizer.cls_id], [0], [0.0]
        for token in window:
            piece, tag, first = found[token]
            if pieces == "all" and not first:
                tag = {1: 2}.get(tag, tag)
            counts = most_context(windows, token) == number
            counts = counts and (first or pieces == "all")
            ids.append(piece)
            tags.append(tag if counts else 0)
            weights.append(float(counts))
        yield [*ids, tokenizer.sep_id], [*tags, 0], [*weights, 0.0]


def all_rows(dataset):
    rows = []
    for ids, tags, weights in dataset:
        masks = ids["padding_mask"].numpy()
        parts = (ids["token_ids"].numpy(), tags.numpy(), weights.numpy())
        for mask, *row in zip(masks, *parts, strict=True):
            assert not row[2][~mask].any()
            rows.append(tuple(x[mask].tolist() for x in row))
    return rows


@functools.cache
def plain_rows(pieces="first"):
    options = {"pieces": pieces, "batch_size": 3}
    return all_rows(token_dataset(RECORDS, PREPROCESSOR, LABELS, **options))


@pytest.mark.parametrize("pieces", ["first", "all"])
def test_targets_are_the_labels_of_pieces(pieces):
    rows = plain_rows(pieces)
    assert rows == [row for x in RECORDS for row in expected_rows(x, pieces)]
    assert len(rows) > len(RECORDS)
    words = sum(first for x in RECORDS for _, _, first in pieces_of(x))
    if pieces == "first":
        assert sum(sum(weights) for *_, weights in rows) == words


def test_later_pieces_continue_only_where_there_is_such_a_label():
    labels = ["NOUN", "VERB"]
    source = [{"words": ["finer", "days"], "tags": ["NOUN", "VERB"]}]
    dataset = token_dataset(source, PREPROCESSOR, labels, pieces="all")
    _, tags, weights = only(dataset)
    assert tags.numpy().tolist() == [[0, 0, 0, 1, 1, 0]]
    assert weights.numpy().tolist() == [[0, 1, 1, 1, 1, 0]]


def test_inputs_are_those_of_the_preprocessor():
    ids, tags, weights = only(token_dataset(RECORDS[:2], PREPROCESSOR, LABELS))
    assert_inputs(ids, tiny.preprocessor(LENGTH)(["the finer weather", "days"]))
    assert (tags.dtype, weights.dtype) == ("int32", "float32")


def test_other_columns():
    source = [{"tokens": ["a", "day"], "ner_tags": [0, 3]}]
    columns = {"words": "tokens", "tags": "ner_tags"}
    _, tags, _ = only(token_dataset(source, PREPROCESSOR, LABELS, **columns))
    assert tags.numpy().tolist() == [[0, 0, 3, 0]]


def test_padding_to_a_fixed_length():
    preprocessor = tiny.preprocessor(LENGTH, stride=STRIDE, padding="max_length")
    options = {"batch_size": 2, "drop_remainder": True}
    dataset = token_dataset(RECORDS, preprocessor, LABELS, **options)
    assert [x.shape for x in dataset.element_spec[1:]] == [(2, LENGTH)] * 2
    plain = plain_rows()
    assert all_rows(dataset) == plain[: len(plain) // 2 * 2]


def test_shuffling_keeps_every_window():
    source = RECORDS * 30
    options = {"batch_size": 4, "shuffle": True, "seed": 1}
    rows = all_rows(token_dataset(source, PREPROCESSOR, LABELS, **options))
    plain = plain_rows() * 30
    assert rows != plain
    assert sorted(rows) == sorted(plain)


def test_trains():
    model = kbl.token_classifier(tiny.encoder(num_layers=1, pooling=None), LABELS)
    loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="mean_with_sample_weight"
    )
    model.compile("sgd", loss, run_eagerly=True)
    dataset = token_dataset(RECORDS, PREPROCESSOR, LABELS, batch_size=16)
    (found,) = model.fit(dataset, shuffle=False, verbose=0).history["loss"]
    assert 0 < found < 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tags": ["O"]}, r"`tags` must be a list of 2, .* \(1 tags\)"),
        ({"tags": ["O"] * 3}, r"`tags` must be a list of 2, .* \(3 tags\)"),
        ({"tags": "OO"}, "`tags` must be a list of 2, .* Received: 'OO'"),
        ({"tags": None}, "`tags` must be a list of 2, .* Received: None"),
        ({"tags": ["O", "B-Z"]}, "`tags` must be one of .* Received: 'B-Z'"),
        ({"tags": ["O", 4]}, "`tags` must be one of .* Received: 4"),
        ({"tags": ["O", -1]}, "`tags` must be one of .* Received: -1"),
        ({"tags": ["O", None]}, "`tags` must be one of .* Received: None"),
        ({"words": [], "tags": []}, r"`words` must be a list of one .*Received: \[\]"),
        ({"words": "ab"}, "`words` must be a list of one string or more"),
        ({"words": ["a", None]}, "`words` must be a list of one string or more"),
        ({"words": ["a", "b\x1f"]}, r"`words` must be .*without U\+001F"),
        ({"words": ["a", "\ud800"]}, "`words` must be Unicode"),
    ],
)
def test_refuses_records(changes, message):
    good = {"words": ["a", "day"], "tags": ["O", "B-X"]}
    with pytest.raises(ValueError, match=f"Record 1: {message}"):
        token_dataset([good, {**good, **changes}], PREPROCESSOR, LABELS)


@pytest.mark.parametrize("column", ["words", "tags"])
def test_names_missing_columns(column):
    good = {"words": ["a"], "tags": ["O"]}
    bad = {name: value for name, value in good.items() if name != column}
    with pytest.raises(ValueError, match=f"Record 1: `{column}` must be one of the"):
        token_dataset([good, bad], PREPROCESSOR, LABELS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pieces": "last"}, "`pieces` must be one of"),
        ({"labels": ["O"]}, "`labels` must be at least two names"),
        ({"labels": ["NOUN", "B-X"]}, "`labels` must be 'O' or one of the prefixes"),
        ({"source": []}, "`source` must hold records"),
    ],
)
def test_refuses_arguments(arguments, message):
    given = {"source": RECORDS, "labels": LABELS, **arguments}
    with pytest.raises(ValueError, match=message):
        token_dataset(given.pop("source"), PREPROCESSOR, **given)


def test_later_pieces_have_no_label_in_schemes_that_mark_the_last():
    with pytest.raises(ValueError, match=r'`pieces="all"` needs labels without `E`'):
        token_dataset(RECORDS, PREPROCESSOR, ["O", "B-X", "E-X", "S-X"], pieces="all")


@pytest.mark.parametrize("padding", ["max_length", [4, 16]])
def test_batches_have_the_width_of_the_preprocessor(padding):
    preprocessor = tiny.preprocessor(16, padding=padding)
    records = [{"words": ["a"] * n, "tags": ["O"] * n} for n in (1, 2, 6)]
    dataset = token_dataset(records, preprocessor, ["O", "B-X"], batch_size=2)
    widths = [
        tuple(x.shape[1] for x in (ids["token_ids"], y, w)) for ids, y, w in dataset
    ]
    first = 16 if padding == "max_length" else 4
    assert widths == [(first,) * 3, (16,) * 3]
    assert not any(w[:, 8:].numpy().any() for *_, w in dataset)


def test_fewer_windows_than_a_batch():
    with pytest.raises(ValueError, match=r"number of windows .* 1\. Received: 2"):
        token_dataset(
            [{"words": ["a"], "tags": ["O"]}],
            PREPROCESSOR,
            ["O", "B-X"],
            batch_size=2,
            drop_remainder=True,
        )
