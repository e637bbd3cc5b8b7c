"""Fused tensors as transformers reads them: a DeBERTa without relative positions.

It then computes what BERT does, but for a bias on the keys, so that our encoder
with these weights must have the same outputs.
"""

import keras
import numpy as np
import pytest

from keras_bert_lite.checkpoints.core.name_table import Fused, model_parts, targets
from keras_bert_lite.checkpoints.core.tensors import fill
from keras_bert_lite.checkpoints.hugging_face.names import BERT
from keras_bert_lite.checkpoints.hugging_face.safetensors_files import SafetensorsSource
from tests import tiny

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.parity

SIZES = {
    "vocab_size": 40,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}
THEIRS, OURS = "encoder.layer.{i}.attention.self.", "blocks.{i}.attention."
NAMES = {
    **{name: path for name, path in BERT.items() if "attention.self" not in name},
    f"{THEIRS}in_proj.weight": Fused(
        (f"{OURS}query.kernel", f"{OURS}key.kernel", f"{OURS}value.kernel"),
        by_head=True,
    ),
    f"{THEIRS}q_bias": f"{OURS}query.bias",
    f"{THEIRS}v_bias": f"{OURS}value.bias",
}


def test_deberta_v1_is_read_as_transformers_reads_it(tmp_path):
    torch.manual_seed(0)
    theirs = transformers.DebertaModel(transformers.DebertaConfig(**SIZES)).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    theirs.save_pretrained(tmp_path)
    ours = tiny.encoder(
        vocabulary_size=40,
        hidden_dim=24,
        num_heads=3,
        intermediate_dim=20,
        max_sequence_length=16,
        layer_norm_epsilon=theirs.config.layer_norm_eps,
        pooling=None,
    )
    source = SafetensorsSource(tmp_path)
    found = targets(NAMES, model_parts(ours))
    assert fill(source, found).unused == []
    random = np.random.default_rng(0)
    ids, segments = random.integers(1, 40, (3, 16)), random.integers(0, 2, (3, 16))
    mask = np.arange(16) < np.array([[16], [9], [1]])
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor(ids),
            token_type_ids=torch.tensor(segments),
            attention_mask=torch.tensor(mask),
        ).last_hidden_state.numpy()
    values = ours({"token_ids": ids, "segment_ids": segments, "padding_mask": mask})
    sequence = keras.ops.convert_to_numpy(values["sequence_output"])
    np.testing.assert_allclose(sequence[mask], expected[mask], atol=2e-5)
    for name, target in found.items():
        np.testing.assert_array_equal(target.read(), source.read(name))
