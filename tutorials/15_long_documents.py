# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Long documents
#
# BERT reads 512 tokens, because it has a vector for each position, and because every
# token looks at every other: twice the length is four times the work. ModernBERT
# changed both. It turns queries and keys by their positions (rotary positions), which
# needs no vectors, and two of three layers look at nearby tokens only (local
# attention). So it reads 8,192 tokens, and most of its work grows with the length.
#
# Here such an encoder, a small one with random weights, learns to find one sentence in
# contracts of thousands of words. Then it is exported and reads a document of 8,192
# tokens. It runs in a few minutes on a CPU and needs no download: the contracts are
# made from Python's own reference manual, which comes with Python.
#
# On Colab, install the package first, from a copy of its repository or a wheel made
# there (it is not on PyPI yet). It replaces Colab's TensorFlow and Keras by newer ones
# (docs/guide/install.md has the list); restart the session if asked to:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite"
    pass

# %%
import os
import random
import re
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # steps reuse memory

import keras
import numpy as np
import tensorflow as tf

import keras_bert_lite as kbl

keras.utils.set_random_seed(0)
rng = random.Random(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Documents in which one sentence counts
#
# A contract has some hundred paragraphs, and one sentence in it says who pays for
# repairs. It may stand anywhere.

# %%
paragraphs = [
    " ".join(text.split())
    for _, chapter in sorted(topics.items())
    for text in re.split(r"\n\s*\n", chapter)
    if len(text) > 80 and not text.startswith((" ", "*", "="))
]
WHO = ["tenant", "landlord"]


def contract(who, count):
    parts = rng.sample(paragraphs, count)
    parts.insert(rng.randrange(count + 1), f"The {WHO[who]} pays for all repairs.")
    return " ".join(parts)


def contracts(number):
    for _ in range(number):
        who = rng.randrange(2)
        yield {"text": contract(who, rng.randint(4, 12)), "label": WHO[who]}


train, held_out = list(contracts(160)), list(contracts(48))

# %% [markdown]
# The tokenizer is the one that comes with the package. `sequence_length` is only the
# longest length: batches are as long as their longest text.

# %%
preprocessor = kbl.load_preprocessor("bert_mini_books", sequence_length=8192)
mask = preprocessor([x["text"] for x in train])["padding_mask"]
tokens = np.sum(mask, axis=1)
print(f"{tokens.min():,} to {tokens.max():,} tokens")

# %% [markdown]
# ## An encoder by its configuration
#
# There is no class for ModernBERT: its differences from BERT are fields.
# `global_every` says which layers look at all tokens; the others look at
# `window // 2` tokens on either side. (`kbl.EncoderConfig.named("modernbert_base")` has
# the published sizes, and `kbl.load_encoder` takes its checkpoints.)

# %%
config = kbl.EncoderConfig(
    family="modernbert",
    vocabulary_size=preprocessor.tokenizer.vocabulary_size(),
    num_layers=3,
    num_heads=2,
    hidden_dim=64,
    intermediate_dim=96,
    gated=True,
    max_sequence_length=8192,
    num_segments=0,
    rotary={"base": 160_000.0, "local_base": 10_000.0},
    local_attention={"window": 128, "global_every": 3},
    norms={
        "before": True,
        "after": False,
        "first": False,
        "final": True,
        "bias": False,
    },
    biases={
        "query": False,
        "key": False,
        "value": False,
        "attention_output": False,
        "intermediate": False,
        "output": False,
    },
    dropout=0.0,
    attention_dropout=0.0,
    pooling=None,
)

# %% [markdown]
# ## Training
#
# As any classifier. Only real tokens are computed, so a batch of contracts of unequal
# lengths costs what their words cost. `pooling="max"` asks of each feature where in the
# text it is strongest: right for a needle.

# %%
keras.utils.set_random_seed(0)
model = kbl.text_classifier(kbl.encoder(config), labels=WHO, pooling="max")
kbl.compile(model, learning_rate=2e-3)
data = kbl.data.text_dataset(train, preprocessor, labels=WHO, batch_size=8)
begin = time.perf_counter()
model.fit(data, epochs=3, verbose=2)
print(f"{time.perf_counter() - begin:.0f} seconds")

# %%
reader = kbl.with_text(model, preprocessor)
texts, labels = (np.array([x[name] for x in held_out]) for name in ("text", "label"))
right = reader.predict(texts, verbose=0)["label"] == labels
print("right:", right.mean())
assert right.mean() > 0.9

# %% [markdown]
# The same model, if it reads only the first 128 tokens, as many a BERT is used, mostly
# guesses:

# %%
short = kbl.load_preprocessor("bert_mini_books", sequence_length=128)
right = kbl.with_text(model, short).predict(texts, verbose=0)["label"] == labels
print("right:", right.mean())

# %% [markdown]
# ## Work that grows with the length
#
# Seconds for one text of each length: an encoder with local attention in two of three
# layers, and one whose layers are all global.

# %%
encoders = {
    "local": kbl.encoder(config),
    "global": kbl.encoder(config.replace(local_attention=None)),
}
words = " ".join(paragraphs).split()
for length in (512, 2048, 8192):
    cut = kbl.load_preprocessor("bert_mini_books", sequence_length=length)
    inputs = cut([" ".join(words[:length])])
    seconds = {}
    for name, encoder in encoders.items():
        encoder.predict(inputs, verbose=0)  # builds the graph
        begin = time.perf_counter()
        encoder.predict(inputs, verbose=0)
        seconds[name] = round(time.perf_counter() - begin, 2)
    print(inputs["token_ids"].shape[1], seconds)

# %% [markdown]
# ## Served
#
# The export is like any other: strings in, labels out, in a stock TF Serving. Longer
# texts than `sequence_length` are cut, with `windows="max"` or `"mean"` read in parts.

# %%
path = kbl.export_saved_model(reader, folder / "contracts")
served = tf.saved_model.load(str(path)).signatures["serving_default"]
document = contract(1, 120)
print(len(document.split()), "words:", served(text=tf.constant([document]))["label"])
assert served(text=tf.constant([document]))["label"].numpy() == [b"landlord"]
