"""Checkpoints as Google's TF1 code writes them, and what that code computes.

The formulas are written from `modeling.py` and `run_pretraining.py` of
google-research/bert, albert and electra, in numpy and in double precision, by
the names of the variables alone.
"""

import json
import math

import numpy as np
import tensorflow as tf

from tests import formulas, tiny

SIZES = {
    "vocab_size": len(tiny.VOCABULARY),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
}
ALBERT = {**SIZES, "embedding_size": 8, "num_hidden_groups": 1, "inner_group_num": 1}
WORDS, PAIR = "cls/predictions", "cls/seq_relationship"


class Shapes(dict):
    """The shapes of variables, by name."""

    def dense(self, name, inputs, outputs):
        self[f"{name}/kernel"] = (inputs, outputs)
        self[f"{name}/bias"] = (outputs,)

    def norm(self, name, width):
        self[f"{name}/gamma"] = self[f"{name}/beta"] = (width,)

    def tables(self, scope, config, width):
        rows = {
            "word": config["vocab_size"],
            "position": config["max_position_embeddings"],
            "token_type": config["type_vocab_size"],
        }
        for name, count in rows.items():
            self[f"{scope}/embeddings/{name}_embeddings"] = (count, width)
        self.norm(f"{scope}/embeddings/LayerNorm", width)

    def layers(self, scope, config):
        width, inner = config["hidden_size"], config["intermediate_size"]
        for i in range(config["num_hidden_layers"]):
            layer = f"{scope}/encoder/layer_{i}"
            for name in ("query", "key", "value"):
                self.dense(f"{layer}/attention/self/{name}", width, width)
            self.dense(f"{layer}/attention/output/dense", width, width)
            self.norm(f"{layer}/attention/output/LayerNorm", width)
            self.dense(f"{layer}/intermediate/dense", width, inner)
            self.dense(f"{layer}/output/dense", inner, width)
            self.norm(f"{layer}/output/LayerNorm", width)

    def groups(self, config):
        width, inner = config["hidden_size"], config["intermediate_size"]
        for i in range(config["num_hidden_groups"]):
            group = f"bert/encoder/transformer/group_{i}/inner_group_0"
            for name in ("query", "key", "value"):
                self.dense(f"{group}/attention_1/self/{name}", width, width)
            self.dense(f"{group}/attention_1/output/dense", width, width)
            self.dense(f"{group}/ffn_1/intermediate/dense", width, inner)
            self.dense(f"{group}/ffn_1/intermediate/output/dense", inner, width)
            self.norm(f"{group}/LayerNorm", width)
            self.norm(f"{group}/LayerNorm_1", width)

    def pretraining(self, config, width):
        hidden = config["hidden_size"]
        self.dense("bert/pooler/dense", hidden, hidden)
        self.dense(f"{WORDS}/transform/dense", hidden, width)
        self.norm(f"{WORDS}/transform/LayerNorm", width)
        self[f"{WORDS}/output_bias"] = (config["vocab_size"],)
        self[f"{PAIR}/output_weights"], self[f"{PAIR}/output_bias"] = (2, hidden), (2,)


def bert(config=SIZES):
    shapes = Shapes()
    shapes.tables("bert", config, config["hidden_size"])
    shapes.layers("bert", config)
    shapes.pretraining(config, config["hidden_size"])
    return values(shapes)


def albert(config=ALBERT):
    shapes, width = Shapes(), config["embedding_size"]
    shapes.tables("bert", config, width)
    if width != config["hidden_size"]:
        name = "bert/encoder/embedding_hidden_mapping_in"
        shapes.dense(name, width, config["hidden_size"])
    shapes.groups(config)
    shapes.pretraining(config, width)
    return values(shapes)


def electra(config=SIZES, width=8, generator_size=8, own_tables=False):
    """Both halves, of which the generator is narrower."""
    shapes, hidden = Shapes(), config["hidden_size"]
    small = {
        **config,
        "hidden_size": generator_size,
        "intermediate_size": 4 * generator_size,
    }
    shapes.tables("electra", config, width)
    if own_tables:
        shapes.tables("generator", config, generator_size)
    for scope, half in {"electra": config, "generator": small}.items():
        inputs = generator_size if own_tables and scope == "generator" else width
        if inputs != half["hidden_size"]:
            shapes.dense(f"{scope}/embeddings_project", inputs, half["hidden_size"])
        shapes.layers(scope, half)
    outputs = generator_size if own_tables else width
    shapes.dense("generator_predictions/dense", generator_size, outputs)
    shapes.norm("generator_predictions/LayerNorm", outputs)
    shapes["generator_predictions/output_bias"] = (config["vocab_size"],)
    shapes.dense("discriminator_predictions/dense", hidden, hidden)
    shapes.dense("discriminator_predictions/dense_1", hidden, 1)
    return values(shapes)


def values(shapes):
    rng = np.random.default_rng(0)
    return {
        name: rng.normal(0, 0.5, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def save(prefix, variables):
    """Writes a checkpoint by names, as `tf.compat.v1.train.Saver` does."""
    names = sorted(variables)
    tensors = [tf.constant(variables[name]) for name in names]
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=tensors,
    )


def write(directory, variables, config=SIZES, name="bert"):
    save(directory / f"{name}_model.ckpt", variables)
    if config is not None:
        (directory / f"{name}_config.json").write_text(json.dumps(config))
    return directory


class Code:
    """What Google's code computes from the variables of a checkpoint."""

    def __init__(self, variables, config, scope="bert", tables="bert", gelu=None):
        self.variables = {k: np.float64(x) for k, x in variables.items()}
        self.config, self.scope, self.tables = config, scope, tables
        activations = {"gelu": gelu or formulas.gelu_tanh}
        activations |= {"relu": formulas.ACTIVATIONS["relu"], "tanh": np.tanh}
        self.activation = activations[config["hidden_act"]]

    def dense(self, name, x):
        return x @ self.variables[f"{name}/kernel"] + self.variables[f"{name}/bias"]

    def norm(self, name, x):
        centred = x - x.mean(-1, keepdims=True)
        x = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return x * self.variables[f"{name}/gamma"] + self.variables[f"{name}/beta"]

    def embeddings(self, inputs):
        name = f"{self.tables}/embeddings"
        ids = inputs["token_ids"]
        x = self.variables[f"{name}/word_embeddings"][ids]
        x = x + self.variables[f"{name}/token_type_embeddings"][inputs["segment_ids"]]
        x = x + self.variables[f"{name}/position_embeddings"][: ids.shape[1]]
        x = self.norm(f"{name}/LayerNorm", x)
        names = ("embeddings_project", "encoder/embedding_hidden_mapping_in")
        for projection in (f"{self.scope}/{name}" for name in names):
            if f"{projection}/kernel" in self.variables:
                x = self.dense(projection, x)
        return x

    def attention(self, name, x, mask):
        heads = self.config["num_attention_heads"]
        rows, length, width = x.shape

        def split(y):
            y = y.reshape(rows, length, heads, width // heads)
            return y.transpose(0, 2, 1, 3)

        query, key, value = (
            split(self.dense(f"{name}/{part}", x)) for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(2, 3) * (1 / math.sqrt(width // heads))
        scores = scores + (1 - mask[:, None, None, :]) * -10000.0
        attended = formulas.softmax(scores) @ value
        return attended.transpose(0, 2, 1, 3).reshape(x.shape)

    def bert_layer(self, i, x, mask):
        name = f"{self.scope}/encoder/layer_{i}"
        attended = self.attention(f"{name}/attention/self", x, mask)
        attended = self.dense(f"{name}/attention/output/dense", attended)
        x = self.norm(f"{name}/attention/output/LayerNorm", attended + x)
        inner = self.activation(self.dense(f"{name}/intermediate/dense", x))
        inner = self.dense(f"{name}/output/dense", inner)
        return self.norm(f"{name}/output/LayerNorm", inner + x)

    def albert_layer(self, i, x, mask):
        config = self.config
        group = int(i / config["num_hidden_layers"] * config["num_hidden_groups"])
        name = f"bert/encoder/transformer/group_{group}/inner_group_0"
        attended = self.attention(f"{name}/attention_1/self", x, mask)
        attended = self.dense(f"{name}/attention_1/output/dense", attended)
        x = self.norm(f"{name}/LayerNorm", attended + x)
        inner = self.activation(self.dense(f"{name}/ffn_1/intermediate/dense", x))
        inner = self.dense(f"{name}/ffn_1/intermediate/output/dense", inner)
        return self.norm(f"{name}/LayerNorm_1", inner + x)

    def sequence_output(self, inputs):
        layer = self.albert_layer if "num_hidden_groups" in self.config else None
        x, mask = self.embeddings(inputs), np.float64(inputs["padding_mask"])
        for i in range(self.config["num_hidden_layers"]):
            x = (layer or self.bert_layer)(i, x, mask)
        return x

    def pooled_output(self, x):
        return np.tanh(self.dense("bert/pooler/dense", x[:, 0]))

    def word_log_probabilities(self, x, head=f"{WORDS}/transform", bias=WORDS):
        x = self.norm(
            f"{head}/LayerNorm", self.activation(self.dense(f"{head}/dense", x))
        )
        table = self.variables[f"{self.tables}/embeddings/word_embeddings"]
        return log_softmax(x @ table.T + self.variables[f"{bias}/output_bias"])

    def pair_log_probabilities(self, pooled):
        weights = self.variables[f"{PAIR}/output_weights"]
        return log_softmax(pooled @ weights.T + self.variables[f"{PAIR}/output_bias"])

    def replaced_logits(self, x):
        head = "discriminator_predictions"
        hidden = self.activation(self.dense(f"{head}/dense", x))
        return self.dense(f"{head}/dense_1", hidden)[..., 0]


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))
