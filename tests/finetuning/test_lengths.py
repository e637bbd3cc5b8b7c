"""How many tokens of a row a fine-tuned model reads."""

import numpy as np
import pytest

from keras_bert_lite.finetuning.kinds import KINDS
from keras_bert_lite.finetuning.lengths import FEW, count_tokens, limit_for
from tests import tiny


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
    kind = KINDS["text_classification"](text_pair=pair and "text_pair")
    kind.apart = apart
    preprocessor = tiny.preprocessor(num_separators=separators)
    rows = [{"text": "fine day", "text_pair": pair, "label": "x"}]
    assert count_tokens(rows, kind, preprocessor).tolist() == [count]
    if not apart:
        given = {"text": ["fine day"], "text_pair": [pair]} if pair else ["fine day"]
        mask = preprocessor(given)["padding_mask"]
        assert int(mask.numpy().sum()) == count
