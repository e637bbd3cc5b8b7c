import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.tasks.pretraining.bert import (
    bert_pretrainer,
    masked_positions_model,
)
from tests import tiny
from tests.conformance import assert_all_close, randomize, to_numpy
from tests.models import samples

POSITIONS = np.array([[1, 3, 0], [2, 4, 4]], "int32")


def inputs(**more):
    ids = samples.ids()
    return {**ids, "masked_positions": POSITIONS[: len(ids["token_ids"])], **more}


MODELS = {
    "masked_lm": lambda encoder: kbl.masked_lm(encoder),
    "untied": lambda encoder: kbl.masked_lm(encoder, tied=False),
    "bert_pretrainer": bert_pretrainer,
}


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("embedding_dim", [None, 8])
def test_scores_are_those_of_the_whole_model(build, embedding_dim):
    model = build(kbl.encoder(tiny.config(embedding_dim=embedding_dim)))
    randomize(model)
    masked = masked_positions_model(model)
    assert masked.count_params() in (model.count_params(), model.count_params() - 272)
    whole, some = model(samples.ids()), masked(inputs())
    assert set(whole) == set(some)
    logits = to_numpy(whole["prediction_logits"])
    want = np.take_along_axis(logits, POSITIONS[: len(logits), :, None], axis=1)
    assert_all_close(some["prediction_logits"], want)
    if "seq_relationship_logits" in whole:
        name = "seq_relationship_logits"
        assert_all_close(some[name], to_numpy(whole[name]))


def test_packed_rows_equal_rows_of_their_own():
    model = kbl.masked_lm(kbl.encoder(tiny.config()))
    randomize(model)
    rng = np.random.default_rng(0)
    first, second = (rng.integers(5, 30, (1, n)).astype("int32") for n in (7, 4))
    ids = np.concatenate([first, second, [[0, 0]]], 1).astype("int32")
    sequence_ids = np.array([[1] * 7 + [2] * 4 + [0] * 2], "int32")
    packed = masked_positions_model(model, packed=True)(
        {
            "token_ids": ids,
            "segment_ids": 0 * ids,
            "padding_mask": sequence_ids > 0,
            "masked_positions": np.array([[0, 6, 7, 10]], "int32"),
            "sequence_ids": sequence_ids,
        }
    )
    alone = [
        to_numpy(
            model({"token_ids": x, "segment_ids": 0 * x, "padding_mask": x > 0})[
                "prediction_logits"
            ]
        )[0]
        for x in (first, second)
    ]
    want = np.stack([alone[0][0], alone[0][6], alone[1][0], alone[1][3]])[None]
    assert_all_close(packed["prediction_logits"], want)


def test_survives_saving(tmp_path):
    model = masked_positions_model(
        kbl.masked_lm(kbl.encoder(tiny.config())), packed=True
    )
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    given = inputs(sequence_ids=np.ones_like(samples.ids()["token_ids"]))
    got, want = (to_numpy(x(given)["prediction_logits"]) for x in (loaded, model))
    assert_all_close(got, want)


def test_sequence_positions():
    ids = np.array([[1, 1, 1, 2, 3, 3, 0, 0], [4, 4, 4, 4, 4, 4, 4, 4]], "int32")
    got = to_numpy(kbl.layers.SequencePositions()(ids))
    assert got.tolist() == [[0, 1, 2, 0, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5, 6, 7]]
    assert got.dtype == np.int32


def test_refuses():
    encoder = kbl.encoder(tiny.config())
    with pytest.raises(
        ValueError, match="must be made by `masked_lm` or `bert_pretrainer`"
    ):
        masked_positions_model(kbl.text_classifier(encoder, ["a", "b"]))
    with pytest.raises(
        ValueError, match="`packed` needs a model that does not classify"
    ):
        masked_positions_model(bert_pretrainer(encoder), packed=True)
