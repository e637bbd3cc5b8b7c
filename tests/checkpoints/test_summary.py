import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.finetuning import samples


def test_counts_of_bert_mini_books():
    found = kbl.summary("bert_mini_books")
    encoder = kbl.load_encoder("bert_mini_books")
    assert found["parameters"]["all"] == encoder.count_params()
    assert found["megabytes"] == pytest.approx(
        4 * encoder.count_params() / 1e6, abs=0.1
    )


def test_operations_of_a_block(tmp_path):
    kbl.save_hugging_face(tiny.encoder(), tiny.preprocessor(), tmp_path)
    found = kbl.summary(tmp_path, length=10)
    # 4 H^2 and 2 H I of products and sums, and 2 S H for scores and for their use.
    a_block = 2 * (4 * 16 * 16 + 2 * 16 * 32) + 2 * 2 * 10 * 16
    assert found["flops_per_token"] == 2 * a_block


def test_refuses():
    with pytest.raises(ValueError, match="`length`"):
        kbl.summary(samples.encoder(), length=0)
