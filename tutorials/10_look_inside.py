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
# # A look inside
#
# What a BERT reads, what its heads attend to, what a word means in its sentence, what
# each layer knows; and then, of a classifier that was fine-tuned, when to trust it and
# why it said so. It runs in under two minutes on a CPU and needs no download: the
# encoder comes with the package, the sentences are made below or by it.
#
# On Colab, install the package first, from a copy of its repository or a wheel made
# there (it is not on PyPI yet). It replaces Colab's TensorFlow and Keras by newer ones
# (docs/guide/install.md has the list); restart the session if asked to:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite[plot]"
    pass

# %%
import os
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

import keras_bert_lite as kbl
from keras_bert_lite.demo import LABELS, messages

look = kbl.visualization
keras.utils.set_random_seed(0)
encoder = kbl.load_encoder("bert_mini_books")
preprocessor = kbl.load_preprocessor("bert_mini_books")

# %% [markdown]
# ## What it reads
#
# Words are spelled with the pieces of a vocabulary. Common words are one piece, rare
# ones several; those that continue a word begin with `##` and are orange.

# %%
look.plot_pieces(
    preprocessor.tokenizer, "The snowboarder was uncharacteristically quiet today."
)

# %% [markdown]
# Each piece is an id, and an id is a row of a table: its embedding. Added to it are the
# embeddings of the segment (is it the first text or the second?) and of the position.
# This is all that the first layer is given.

# %%
pair = ("The old man sat on the bank of the river.", "He was counting his money.")
look.plot_input(encoder, pair, preprocessor)

# %% [markdown]
# ## What its heads attend to
#
# In every layer, each token takes from the others what it needs, in several heads at
# once. How much it takes from each are numbers that sum to 1: attention. They are
# computed once, for all layers and heads.

# %%
maps = look.attention_maps(encoder, pair, preprocessor)
print(len(maps.tokens), "tokens,", maps.weights.shape, "weights")
maps.plot_grid()

# %% [markdown]
# Each square is a head; its rows are the tokens that look, its columns what they look
# at. Diagonals beside the middle are heads that look at a neighbour, vertical lines are
# tokens that all others look at. The patterns can be found by numbers: how much do
# tokens take, on average, from the token before, the token after, and `[SEP]`?

# %%
ends = np.flatnonzero(np.array(maps.tokens) == "[SEP]")
patterns = {
    "the token before": maps.weights.diagonal(-1, axis1=2, axis2=3).mean(axis=-1),
    "the token after": maps.weights.diagonal(1, axis1=2, axis2=3).mean(axis=-1),
    "[SEP]": maps.weights[..., ends].sum(axis=-1).mean(axis=-1),
}
found = {}
for name, shares in patterns.items():
    layer, head = (int(x) for x in np.unravel_index(shares.argmax(), shares.shape))
    found[name] = layer, head
    print(f"{name:>16}: {shares.max():.2f} in head {head} of layer {layer}")

# %% [markdown]
# The head that looks back most, as lines from token to token:

# %%
maps.plot_lines(*found["the token before"])

# %% [markdown]
# The same as a page, to be explored: choose a layer and a head, point at a token.
# `maps.to_html()` is this page as a string; the file needs no network.

# %%
maps

# %% [markdown]
# ## What a word means in its sentence
#
# A table of word vectors has one row for "bank". Here the vector of a word depends on
# its sentence: the mean of the hidden states of its pieces, on any layer.

# %%
sentences = [
    "They walked along the bank of the river.",
    "The boat was tied up at the bank of the stream.",
    "Reeds grew on the muddy bank of the lake.",
    "He put all his money into the bank.",
    "She asked the bank for a loan.",
    "The clerk of the bank counted the notes.",
]
meanings = ["water"] * 3 + ["money"] * 3
bank = look.word_vectors(encoder, sentences, "bank", preprocessor)
bank.plot_similarity()

# %% [markdown]
# Without context, all cosines are 1. In context they differ: is a bank at the water
# more like the others at the water than like those with money? The cosines of a small
# encoder are all high; what counts is how they differ.

# %%
same = np.equal.outer(meanings, meanings)
apart = ~np.eye(len(sentences), dtype=bool)
for layer in range(bank.states.shape[1]):
    cosines = bank.similarity(layer)
    alike, unlike = cosines[same & apart].mean(), cosines[~same].mean()
    print(f"layer {layer}: {alike:.3f} with one meaning, {unlike:.3f} with two")
assert alike > unlike

# %% [markdown]
# The vectors have 256 numbers. Two directions in which they differ most make a map; it
# says itself how much of the differences it shows.

# %%
words = {
    "animal": ["dog", "cat", "horse", "cow", "sheep", "wolf"],
    "colour": ["red", "green", "blue", "yellow", "white", "black"],
    "family": ["father", "mother", "sister", "brother", "uncle", "aunt"],
    "place": ["London", "Paris", "Rome", "England", "France"],
}
names = [x for group in words.values() for x in group]
groups = [name for name, group in words.items() for _ in group]
spoken = look.word_vectors(
    encoder, [f"We spoke about the {x} again." for x in names], names, preprocessor
)
look.plot_map(spoken.vectors(layer=4), names, groups)

# %% [markdown]
# ## What each layer knows
#
# Messages to a shop are about an account, a delivery or a payment. As in real data,
# some labels are wrong: one in ten.

# %%
rng = random.Random(0)
written = [(text, LABELS[label]) for text, label in messages()[0]]
others = {label: [x for x in LABELS if x != label] for label in LABELS}
rows = [
    {"text": text, "label": rng.choice(others[label]) if rng.random() < 0.1 else label}
    for text, label in written
]
train, validation, test = rows[:600], rows[600:800], rows[800:]
print(len(train), "messages to learn from, such as", train[0])

# %% [markdown]
# A probe is a small model that learns to tell them apart from what the encoder
# computes, which itself stays as it is. `LayerMix` learns how much of each layer
# helps: at first all count the same, as the dashed line says.

# %%
encoder.trainable = False
states = kbl.with_hidden_states(encoder, attentions=False)
mix = kbl.layers.LayerMix()
x = mix(states.output["hidden_states"])
x = kbl.layers.Pooler("mean")(x, padding_mask=states.input["padding_mask"])
probe = keras.Model(states.input, keras.layers.Dense(len(LABELS))(x))
probe.compile(
    keras.optimizers.Adam(0.02),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)


def arrays(rows):
    ids = preprocessor([row["text"] for row in rows])
    return ids, np.array([LABELS.index(row["label"]) for row in rows])


probe.fit(*arrays(train), epochs=4, verbose=0)
loss, accuracy = probe.evaluate(*arrays(validation), verbose=0)
print(f"accuracy of the probe: {accuracy:.3f}")
look.plot_layer_mix(mix)

# %% [markdown]
# ## A classifier: how it learned, and when to trust it
#
# `finetune` starts from a linear model of the encoder's vectors, trains the whole
# encoder and keeps the best weights; what it reports can be drawn. Evaluation 0 is the
# linear model.

# %%
run = kbl.finetune(
    "text_classification", train, validation, epochs=2, baseline=False, verbose=0
)
look.plot_history(run)

# %%
answers = run.text_model.predict([row["text"] for row in test], verbose=0)
expected = np.array([row["label"] for row in test])
right = answers["label"] == expected
print(f"{right.mean():.3f} of {len(test)} other messages are right")
assert right.mean() > 0.8
look.plot_confusion(expected, answers["label"], LABELS)

# %% [markdown]
# A classifier that says 0.8 should be right in eight of ten answers. The bars show how
# often it is, by what it said.

# %%
look.plot_reliability(answers["scores"].max(axis=1), right)

# %% [markdown]
# ## Why it said so
#
# Attention shows where a head takes its vectors from, not what the answer depends on;
# a token may be looked at and change nothing. Integrated gradients say what each piece
# adds to the score of an answer: they sum to the difference between the score and that
# of a text without words. Orange raises the score, blue lowers it.

# %%
text = "Good morning. My parcel was left in the rain, who will pay for the box?"
why = kbl.explain(run.text_model, text)
difference = why.score - why.baseline_score
print(f"{why.target}: the pieces add {why.attributions.sum():.3f} of {difference:.3f}")
assert why.error <= 0.01
why

# %% [markdown]
# The pieces that count most for this answer:

# %%
for i in np.argsort(-np.abs(why.attributions))[:5]:
    print(f"{why.pieces[i].token:>12} {why.attributions[i]:+.3f}")

# %% [markdown]
# And what would speak for another one:

# %%
kbl.explain(run.text_model, text, target="payment")
