"""Google's own check of its pretraining, at a tiny model's size."""

import keras
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.pretraining.data.samples import text, write


@pytest.mark.slow
def test_learns_a_small_corpus_by_heart(tmp_path):
    """As the README of google-research/bert has it: 20 steps, 0.985 and 1.0."""
    path = tmp_path / "text.txt"
    path.write_text(text(40), encoding="utf-8")
    rows = write(path, tmp_path / "data", masking={}, short_share=0.0)["rows"]
    keras.utils.set_random_seed(0)
    config = tiny.config(
        num_heads=4,
        hidden_dim=256,
        intermediate_dim=1024,
        max_sequence_length=32,
        dropout=0.0,
        attention_dropout=0.0,
        initializer_range=0.05,
    )
    model = kbl.pretraining.masked_positions_model(
        kbl.pretraining.bert_pretrainer(kbl.encoder(config))
    )
    kbl.pretraining.pretrain(
        model,
        tmp_path / "data",
        tmp_path / "run",
        steps=28,
        batch_size=rows,
        learning_rate=3e-3,
        warmup=0.2,
        save_every=28,
        beta_2=0.95,
        verbose=0,
    )
    data = kbl.pretraining.pretraining_dataset(tmp_path / "data", rows).take(1)
    scores = model.evaluate(data, verbose=0, return_dict=True)
    assert scores["prediction_logits_accuracy"] >= 0.98
    assert scores["seq_relationship_logits_accuracy"] == 1.0
