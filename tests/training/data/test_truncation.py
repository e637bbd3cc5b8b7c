"""The warning about texts that a data set truncates."""

import warnings

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.data import TruncationWarning
from keras_bert_lite.training.data import Records
from keras_bert_lite.training.data.truncation import _Count, unwarned
from tests import tiny

WORD = "day "
LONG, SHORT = WORD * 9, WORD * 2
ROWS = [{"text": text} for text in (SHORT, LONG, SHORT, LONG, LONG)]


def dataset(rows=ROWS, **options):
    preprocessor = tiny.preprocessor(sequence_length=8)
    return kbl.text_dataset(rows, preprocessor, label=None, batch_size=2, **options)


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_first_whole_pass_ends_with_their_number(shuffle):
    data = dataset(shuffle=shuffle)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(data.take(1))  # no whole pass
    with pytest.warns(TruncationWarning, match="3 of 5 texts .* 8 tokens") as found:
        list(data)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(data)  # once


def test_without_a_known_end_the_first_batch_tells():
    with pytest.warns(TruncationWarning, match="1 of 2 texts") as found:
        list(dataset(check=False, shuffle=False, rows=iter_rows()))
    assert len(found) == 1


def test_an_endless_stream_keeps_nothing():
    count = _Count(-1, 8)
    for number in range(9):
        count.add(number, 0, 2)
    assert len(count._found) == 1
    with pytest.warns(TruncationWarning, match="1 of 2 texts"):
        count.add(9, 1, 2)


def iter_rows():
    return Records(lambda: iter(ROWS))


def test_rows_that_fit_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(dataset([{"text": SHORT}, {"text": WORD * 6}]))
        with unwarned():
            list(dataset())


def test_choices_and_pairs_are_counted_with_their_text():
    preprocessor = tiny.preprocessor(sequence_length=8)
    rows = [{"text": SHORT, "choices": [WORD * 3, WORD * 4], "label": 0}]
    with pytest.warns(TruncationWarning, match="1 of 2 texts"):
        list(kbl.choice_dataset(rows, preprocessor))


def test_windows_read_all_of_a_text_behind_half_a_row():
    preprocessor = tiny.preprocessor(sequence_length=8, stride=1)
    found = [
        preprocessor.truncates(preprocessor.segments(texts)[0]).numpy().tolist()
        for texts in ([LONG], ([SHORT], [LONG]), ([LONG], [SHORT]))
    ]
    assert found == [[False], [False], [True]]
