"""The exchange with KerasHub under another backend, and on to transformers."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests.checkpoints import test_keras_hub as hub


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")  # of a pooler that KerasHub does not have
@pytest.mark.parametrize("name", hub.BACKBONES)
def test_from_keras_hub_to_transformers(name, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    theirs = hub.backbone(name)
    ours = kbl.from_keras_hub(theirs)
    kbl.save_hugging_face(ours, None, tmp_path)
    model, report = transformers.AutoModel.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert all("pooler" in key for key in report["missing_keys"])
    assert not report["unexpected_keys"]
    roberta = name in ("Roberta", "XLMRoberta")
    inputs = hub.inputs(padding_id=int(roberta))
    if ours.get_layer("embeddings").num_segments < 2:
        inputs["segment_ids"][:] = 0
    wanted = theirs({x.name: inputs[x.name] for x in theirs.inputs})
    wanted = wanted["sequence_output"] if isinstance(wanted, dict) else wanted
    with torch.no_grad():
        got = model.eval()(
            torch.from_numpy(inputs["token_ids"]).long(),
            attention_mask=torch.from_numpy(inputs["padding_mask"]),
            **_segments(ours, torch.from_numpy(inputs["segment_ids"]).long()),
        ).last_hidden_state.numpy()
    wanted = np.asarray(wanted)[hub.MASK]
    np.testing.assert_allclose(got[hub.MASK], wanted, atol=1e-5)


def _segments(model, segment_ids):
    if not model.get_layer("embeddings").num_segments:
        return {}
    return {"token_type_ids": segment_ids}
