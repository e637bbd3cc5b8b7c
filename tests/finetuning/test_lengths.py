"""How many tokens of a row a fine-tuned model reads."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.finetuning.lengths import count_tokens, limit_for, shorten
from keras_bert_lite.finetuning.recipe import RECIPE
from tests import tiny
from tests.finetuning import samples
from tests.text.token_samples import MAKERS

FEW = RECIPE.lengths_few


@pytest.mark.parametrize(
    ("longest", "rows", "most", "limit"),
    [
        (20, FEW, 512, 128),  # there is room for longer rows to come
        (130, FEW, 512, 192),
        (130, FEW - 1, 512, 384),  # few rows: twice the longest
        (600, FEW, 512, 512),
        (20, FEW, 24, 24),  # the encoder reads no more
        (600, FEW, None, 512),
    ],
)
def test_room_for_rows(longest, rows, most, limit):
    assert limit_for(np.full(rows, longest), most) == limit


def test_one_long_row_of_many_is_cut():
    assert limit_for(np.array([20] * 999 + [500]), 512) == 128


@pytest.mark.tensorflow(reason="strings need TensorFlow")
@pytest.mark.parametrize(
    ("pair", "apart", "separators", "count"),
    [
        (None, False, 1, 4),
        ("day", False, 1, 6),
        ("day", False, 2, 7),
        ("day", True, 1, 4),
    ],
)
def test_special_tokens_are_counted(pair, apart, separators, count):
    columns = {"text_pair": pair and "text_pair"}
    spec = samples.spec("text_classification", columns=columns, apart=apart)
    preprocessor = tiny.preprocessor(num_separators=separators)
    rows = [{"text": "fine day", "text_pair": pair, "label": "x"}]
    assert count_tokens(rows, spec, preprocessor).tolist() == [count]
    if not apart:
        given = {"text": ["fine day"], "text_pair": [pair]} if pair else ["fine day"]
        mask = preprocessor(given)["padding_mask"]
        assert int(mask.numpy().sum()) == count


LONG = [
    "fine weather, the day is not " * 90,
    "the fine\tday e\u0301 " * 90,
    "東京 fine 東京 " * 90,
    "f" * 900 + " fine",  # no white space to cut before
    "fine day" + " " * 900 + "day",
    "the bad weather",
]


@pytest.mark.tensorflow(reason="strings need TensorFlow")
@pytest.mark.parametrize("form", ["alone", "together", "apart"])
@pytest.mark.parametrize("tokenizer", MAKERS)
def test_the_same_ids_are_read_of_shortened_texts(tokenizer, form):
    column = None if form == "alone" else "text_pair"
    spec = samples.spec(
        "text_classification", columns={"text_pair": column}, apart=form == "apart"
    )
    rows = [{"text": x, "label": "x"} for x in LONG]
    if column:
        pairs = [*LONG[1:], LONG[0]]
        rows = [{**row, column: x} for row, x in zip(rows, pairs, strict=True)]
    preprocessor = kbl.Preprocessor(
        MAKERS[tokenizer](), 13, prompts={"x": "day: "}, default_prompt_name="x"
    )
    short = shorten(rows, spec, preprocessor)
    assert [row["label"] for row in short] == ["x"] * len(rows)
    inputs = [spec.texts(x) for x in (rows, short)]
    for name in inputs[0] if spec.apart else [None]:
        whole, beginnings = (preprocessor(x[name] if name else x) for x in inputs)
        for output, ids in whole.items():
            np.testing.assert_array_equal(ids, beginnings[output])
    assert [len(row["text"]) for row in rows] == list(map(len, LONG))
    lengths = [spec.format.length(row) for row in short]
    assert max(lengths[:2]) < 500
    assert lengths[-1] == spec.format.length(rows[-1]) or column


def test_texts_that_are_read_in_windows_remain_whole():
    spec = samples.spec("question_answering")
    rows = [{"question": "x", "context": LONG[0], "answers": {}}]
    assert shorten(rows, spec, tiny.preprocessor()) == rows
