"""How many tokens of a row a fine-tuned model reads."""

import numpy as np
import pytest

from keras_bert_lite.finetuning.lengths import FEW, limit_for


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
