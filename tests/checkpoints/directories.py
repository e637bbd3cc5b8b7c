"""Directories in Hugging Face layout."""

import json

import keras
import numpy as np
import safetensors.numpy

from tests import tiny

CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": len(tiny.VOCABULARY),
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 16,
    "intermediate_size": 32,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}
CLASSIFIER = {
    "architectures": ["BertForSequenceClassification"],
    "id2label": {"0": "bad", "1": "fine", "2": "great"},
}
DENSE = {"weight": (16, 16), "bias": (16,)}
NORM = {"LayerNorm.weight": (16,), "LayerNorm.bias": (16,)}


def shapes():
    tables = {"word": len(tiny.VOCABULARY), "position": 24, "token_type": 2}
    all_shapes = {
        f"embeddings.{name}_embeddings.weight": (rows, 16)
        for name, rows in tables.items()
    }
    all_shapes |= {f"embeddings.{name}": shape for name, shape in NORM.items()}
    for i in range(2):
        parts = {
            **{f"attention.self.{x}": DENSE for x in ("query", "key", "value")},
            "attention.output.dense": DENSE,
            "intermediate.dense": {"weight": (32, 16), "bias": (32,)},
            "output.dense": {"weight": (16, 32), "bias": (16,)},
        }
        for part, dense in parts.items():
            for name, shape in dense.items():
                all_shapes[f"encoder.layer.{i}.{part}.{name}"] = shape
        for part in ("attention.output", "output"):
            for name, shape in NORM.items():
                all_shapes[f"encoder.layer.{i}.{part}.{name}"] = shape
    return all_shapes | {f"pooler.dense.{name}": shape for name, shape in DENSE.items()}


def tensors():
    rng = np.random.default_rng(0)
    return {
        name: rng.normal(0, 0.1, shape).astype(np.float32)
        for name, shape in shapes().items()
    }


def write(directory, weights=None, **changes):
    weights = tensors() if weights is None else weights
    safetensors.numpy.save_file(weights, directory / "model.safetensors")
    config = {k: v for k, v in {**CONFIG, **changes}.items() if v is not None}
    (directory / "config.json").write_text(json.dumps(config))
    return directory


def outputs(model):
    return {
        name: keras.ops.convert_to_numpy(value)
        for name, value in model(tiny.preprocessor()(tiny.TEXTS)).items()
    }


def assert_same(first, second, atol=1e-6):
    first, second = outputs(first), outputs(second)
    assert sorted(first) == sorted(second)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], atol=atol)


def with_head(rows=3):
    weights = {f"bert.{name}": value for name, value in tensors().items()}
    rng = np.random.default_rng(1)
    weights["classifier.weight"] = rng.normal(0, 1, (rows, 16)).astype(np.float32)
    weights["classifier.bias"] = np.zeros(rows, np.float32)
    return weights
