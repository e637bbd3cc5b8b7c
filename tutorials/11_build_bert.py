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
# # Build BERT by hand
#
# A BERT made of Keras's own layers, line by line: the embeddings that are summed, the
# attention, the feed-forward network, the blocks, and the head that fills masked words.
# Each formula stands before the code that computes it. The model is trained on a
# language so small that we know all of its sentences, so that we can tell what it has
# learned and how much there was to learn. In the end its weights go into the encoder of
# this package, and both give the same numbers. It runs in about two minutes on a CPU
# and needs no download.
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
import math
import os
import random
from collections import Counter, defaultdict

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

import keras_bert_lite as kbl

keras.utils.set_random_seed(0)

# %% [markdown]
# ## A language that we know wholly
#
# Each text has two sentences: somebody does something, and why. Verbs agree with their
# subject, not with the noun that stands next to them; animals chase, people read; who
# drinks is thirsty. These are the rules, and this is every text that follows them.

# %%
ANIMALS = [("cat", "cats"), ("dog", "dogs"), ("horse", "horses")]
PEOPLE = [("child", "children"), ("farmer", "farmers"), ("sailor", "sailors")]
DRINK = ("drinks", "drink"), ("water", "milk"), "thirsty"
EAT = ("eats", "eat"), ("bread", "apples"), "hungry"
CHASE = ("chases", "chase"), ("birds", "leaves"), "playful"
READ = ("reads", "read"), ("books", "letters"), "curious"
PLACES = ["house", "houses", "river", "rivers", "boat", "boats", "tree", "trees"]


def texts_about(nouns, pronoun, actions):
    """All texts about some nouns, as pairs of sentences."""
    for noun in nouns:
        for plural, who, is_ in ((0, pronoun, "is"), (1, "they", "are")):
            for adjective in ("", "old ", "young ", "small "):
                for place in ("", *(f" near the {x}" for x in PLACES)):
                    for verb, objects, why in actions:
                        for thing in objects:
                            yield (
                                f"the {adjective}{noun[plural]}{place} "
                                f"{verb[plural]} {thing} .",
                                f"{who} {is_} {why} .",
                            )


language = [
    *texts_about(ANIMALS, "it", [DRINK, EAT, CHASE]),
    *texts_about(PEOPLE, "she", [DRINK, EAT, READ]),
]
random.Random(0).shuffle(language)
training, held_out = language[:2000], language[2000:]
print(len(language), "texts,", len(training), "to learn from, such as")
for first, second in training[:3]:
    print("  ", first, second)

# %% [markdown]
# ## From words to ids
#
# A model reads numbers. Each word gets one, its place in the vocabulary. BERT's has
# 30,522 pieces, some of them parts of words; here all words are in it. Two sentences
# become one row, `[CLS] first [SEP] second [SEP]`, and shorter rows are filled up with
# `[PAD]`. Beside the ids go the *segments*, 0 in the first sentence and 1 in the
# second, and a *mask* that tells real tokens from padding.

# %%
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = SPECIAL + sorted(
    {word for pair in language for x in pair for word in x.split()}
)
ID = {word: i for i, word in enumerate(WORDS)}
PAD, MASK = ID["[PAD]"], ID["[MASK]"]
LENGTH = 16  # of the longest row


def rows(pairs):
    """Arrays of (B, S) for the texts: what the model reads."""
    token_ids = np.full((len(pairs), LENGTH), PAD, "int32")
    segment_ids = np.zeros((len(pairs), LENGTH), "int32")
    for i, (first, second) in enumerate(pairs):
        tokens = ["[CLS]", *first.split(), "[SEP]", *second.split(), "[SEP]"]
        token_ids[i, : len(tokens)] = [ID[x] for x in tokens]
        segment_ids[i, tokens.index("[SEP]") + 1 : len(tokens)] = 1
    return {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": token_ids != PAD,
    }


example = ("the old cats near the house drink milk .", "they are thirsty .")
short = ("the dog chases birds .", "it is playful .")
batch = rows([example, short])
for name, array in batch.items():
    print(name, array.astype(int)[1], sep="\n")
print(len(WORDS), "words in the vocabulary")

# %% [markdown]
# ## Sizes
#
# In formulas and shapes these sizes are letters. $B$, the number of rows in a batch, is
# left open.
#
# | | here | BERT-base |
# |---|---|---|
# | $V$, words in the vocabulary | 56 | 30,522 |
# | $S$, the longest row | 16 | 512 |
# | $H$, numbers in a token's vector | 64 | 768 |
# | $N$, heads | 4 | 12 |
# | $D = H / N$, numbers in a head | 16 | 64 |
# | $F$, width of the feed-forward network | 256 | 3,072 |
# | $L$, blocks | 2 | 12 |

# %%
V, S, H, N, F, L = len(WORDS), LENGTH, 64, 4, 256, 2
D = H // N
EPSILON, DROPOUT = 1e-12, 0.1
# BERT's weights begin as random numbers of this size. A vector of H numbers with
# variance 1 is taken to numbers of the size 0.02 * sqrt(768) = 0.55; here as well.
STDDEV = 0.02 * math.sqrt(768 / H)


def small():
    """Other random numbers in each layer."""
    return keras.initializers.TruncatedNormal(stddev=STDDEV)


def norm(name):
    return keras.layers.LayerNormalization(epsilon=EPSILON, name=name)


# %% [markdown]
# ## Embeddings: three tables, one sum
#
# A table has a vector for each word. Another has one for each position, since attention
# by itself does not know in which order its tokens stand; a third one for each of the
# two sentences. A token's input is the sum of its three vectors,
#
# $$x_i = \mathrm{LayerNorm}\left(E_{t_i} + S_{s_i} + P_i\right),$$
#
# where $t_i$ is the id of token $i$ and $s_i$ its segment. A sum of three seems to lose
# what they were; but in $H$ dimensions there is room to keep them in different
# directions, and the model can learn to.
#
# Layer normalization brings each vector to mean 0 and variance 1. Then it stretches and
# moves each dimension as was learned:
#
# $$\mathrm{LayerNorm}(x) =
# \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta, \qquad
# \mu = \frac{1}{H} \sum_j x_j, \quad
# \sigma^2 = \frac{1}{H} \sum_j (x_j - \mu)^2 .$$

# %%
token_table = keras.layers.ReversibleEmbedding(
    V, H, embeddings_initializer=small(), name="embeddings_token_embedding"
)
segment_table = keras.layers.Embedding(
    2, H, embeddings_initializer=small(), name="embeddings_segment_embedding"
)
position_table = keras.layers.Embedding(
    S, H, embeddings_initializer=small(), name="embeddings_position_embedding"
)
embedding_norm = norm("embeddings_layer_norm")


def embed(token_ids, segment_ids):
    """(B, S) -> (B, S, H)"""
    positions = ops.cumsum(ops.ones_like(token_ids), axis=1) - 1  # 0, 1, 2, ...
    x = token_table(token_ids) + segment_table(segment_ids) + position_table(positions)
    return keras.layers.Dropout(DROPOUT)(embedding_norm(x))


# %% [markdown]
# Dropout sets a tenth of the numbers to zero, in training only. The formula of the
# normalization, computed by hand, is what Keras computes:

# %%
x = np.random.default_rng(0).normal(3.0, 2.0, (2, H)).astype("float32")
mu, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
by_hand = (x - mu) / np.sqrt(variance + EPSILON)  # at first, gamma is 1 and beta 0
assert np.allclose(by_hand, norm("any")(x), atol=1e-5)

# %% [markdown]
# The sum, of random tables, for the words of one row. Each row of a square is a token,
# each column one of the first 32 dimensions.


# %%
def heatmap(axes, matrix, title, rows=(), columns=(), **options):
    """Draws a matrix with the names of its rows and columns."""
    image = axes.imshow(matrix, aspect="auto", cmap="cividis", **options)
    axes.set_title(title, fontsize=10)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.set_xticks(range(len(columns)), columns, fontsize=8, rotation=90)
    return image


def tokens_of(row):
    return [WORDS[i] for i in row if i != PAD]


parts = {
    "word": token_table(batch["token_ids"][:1]),
    "segment": segment_table(batch["segment_ids"][:1]),
    "position": position_table(np.arange(S)[None]),
}
parts["their sum, normalized"] = embedding_norm(sum(parts.values()))
figure, axes = plt.subplots(1, 4, figsize=(11, 3.6), sharey=True, layout="constrained")
names = tokens_of(batch["token_ids"][0])
for axis, (title, part) in zip(axes, parts.items(), strict=True):
    heatmap(axis, ops.convert_to_numpy(part)[0, :, :32], title, names)
plt.show()

# %% [markdown]
# ## Attention
#
# Each token asks the others for what it needs. It makes a *query*, $q_i$; each token
# also makes a *key*, $k_j$, which says what it has, and a *value*, $v_j$, which it
# gives. How well key $j$ fits query $i$ is their dot product. A softmax turns these
# scores into weights that sum to 1, and the token receives the weighted mean of the
# values:
#
# $$a_{ij} = \frac{\exp(s_{ij})}{\sum_{j'} \exp(s_{ij'})}, \qquad
# s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}}, \qquad
# z_i = \sum_j a_{ij} v_j,$$
#
# for all tokens at once
#
# $$\mathrm{Attention}(Q, K, V) =
# \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{D}}\right) V .$$
#
# With numbers that we choose: three words, $D = 2$. The query of *drinks* points where
# the key of *cat* points, so that *drinks* learns who it is that drinks.

# %%
words = ["the", "cat", "drinks"]
query = np.array([[0.0, 1.0], [0.5, 0.0], [3.0, 0.0]])
key = np.array([[0.0, 1.0], [2.0, 0.0], [-1.0, 0.0]])
value = np.array([[0.1, 0.0], [1.0, 0.5], [0.0, 1.0]])

scores = query @ key.T / np.sqrt(2)
weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
received = weights @ value

figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
for axis, matrix, title, columns in (
    (axes[0], scores, "scores", words),
    (axes[1], weights, "weights: each row sums to 1", words),
    (axes[2], received, "received", ["1", "2"]),
):
    heatmap(axis, matrix, title, words, columns)
    middle = (matrix.max() + matrix.min()) / 2
    for (i, j), number in np.ndenumerate(matrix):
        colour = "black" if number > middle else "white"
        axis.text(j, i, f"{number:.2f}", ha="center", va="center", color=colour)
plt.show()

# %% [markdown]
# Why $\sqrt{D}$? The dot product of two vectors of $D$ random numbers with variance 1
# has variance $D$. Without the root, scores of wide heads are so large that the softmax
# gives nearly all weight to one token, and a softmax that is sure has next to no
# gradient: it cannot learn. The largest of 16 weights, for random queries and keys:

# %%
rng = np.random.default_rng(0)
widths = [1, 4, 16, 64, 256]
largest = {"$q \\cdot k$": [], "$q \\cdot k / \\sqrt{D}$": []}
for width in widths:
    scores = np.sum(
        rng.normal(size=(2000, 1, width)) * rng.normal(size=(16, width)), -1
    )
    for name, scale in zip(largest, (1.0, math.sqrt(width)), strict=True):
        weights = ops.softmax(scores / scale)
        largest[name].append(float(ops.mean(ops.max(weights, axis=-1))))

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for (name, means), style in zip(largest.items(), ("o--", "s-"), strict=True):
    axes.plot(widths, means, style, label=name)
axes.set(xscale="log", xlabel="D", ylabel="largest weight, mean", ylim=(0, 1))
axes.set_xticks(widths, widths)
axes.axhline(1 / 16, color="grey", linewidth=1)
axes.text(1, 1 / 16 + 0.02, "all the same", color="grey")
axes.legend()
plt.show()

# %% [markdown]
# One softmax is one question. So there are $N$ *heads* of $D = H / N$ dimensions, each
# with its own projections, and what they receive is put side by side and mixed by one
# more matrix:
#
# $$Q_n = X W^Q_n + b^Q_n, \quad K_n = X W^K_n + b^K_n, \quad V_n = X W^V_n + b^V_n,
# \qquad \mathrm{out} = \left[Z_1; \ldots; Z_N\right] W^O + b^O .$$
#
# `EinsumDense` is a dense layer that says which axes it multiplies: `"bsh,hnd->bsnd"`
# takes each vector of $H$ numbers to $N$ vectors of $D$. Scores of padding become
# $-10^9$, which the softmax turns into weights of 0. Every other token may be looked
# at, before and behind: that is what the B of BERT stands for, *bidirectional*.


# %%
def project(x, name):
    """(B, S, H) -> (B, S, N, D)"""
    shape = (None, N, D)
    layer = keras.layers.EinsumDense(
        "bsh,hnd->bsnd", shape, bias_axes="nd", kernel_initializer=small(), name=name
    )
    return layer(x)


def attention(x, mask, name):
    """(B, S, H) -> (B, S, H)"""
    query = project(x, f"{name}_query")
    key = project(x, f"{name}_key")
    value = project(x, f"{name}_value")
    scores = ops.einsum("bqnd,bknd->bnqk", query, key) / math.sqrt(D)
    scores = ops.where(mask[:, None, None, :], scores, -1e9)
    weights = keras.layers.Softmax(name=f"{name}_weights")(scores)  # (B, N, S, S)
    weights = keras.layers.Dropout(DROPOUT)(weights)
    received = ops.einsum("bnqk,bknd->bqnd", weights, value)
    mix = keras.layers.EinsumDense(
        "bqnd,ndh->bqh",
        (None, H),
        bias_axes="h",
        kernel_initializer=small(),
        name=f"{name}_output_dense",
    )
    return mix(received)


# %% [markdown]
# These dozen lines are Keras's `MultiHeadAttention`, which we could have used. The same
# weights give the same numbers, with padding too:

# %%
x = keras.Input((None, H))
mask = keras.Input((None,), dtype="bool")
ours = keras.Model([x, mask], attention(x, mask, "by_hand"))
keras_layer = keras.layers.MultiHeadAttention(N, key_dim=D)
keras_layer.build((None, None, H), (None, None, H))
keras_layer.set_weights(
    [
        weight
        for part in ("query", "key", "value", "output_dense")
        for weight in ours.get_layer(f"by_hand_{part}").get_weights()
    ]
)

vectors = rng.normal(size=(2, S, H)).astype("float32")
real = batch["padding_mask"]
expected = keras_layer(vectors, vectors, attention_mask=real[:, None, :])
assert np.allclose(ours([vectors, real]), expected, atol=1e-5)

# %% [markdown]
# ## The feed-forward network
#
# What a token has received, it works on alone: two dense layers, the same at each
# position, with a bend between them,
#
# $$\mathrm{FFN}(x) = W_2\, \mathrm{GELU}(W_1 x + b_1) + b_2, \qquad
# \mathrm{GELU}(x) = x\, \Phi(x) = \frac{x}{2}
# \left(1 + \mathrm{erf}\frac{x}{\sqrt{2}}\right),$$
#
# where $\Phi$ is the distribution function of the normal distribution. GELU is a ReLU
# with a round corner. Google's code approximates it by a tanh. The two differ by less
# than 0.0005; still, a model should be run with the one that it was trained with.

# %%
x = np.linspace(-4, 4, 401).astype("float32")
exact = keras.activations.gelu(x, approximate=False)
erf = np.array([math.erf(number / math.sqrt(2)) for number in x])
assert np.allclose(x / 2 * (1 + erf), exact, atol=1e-6)
by_tanh = keras.activations.gelu(x, approximate=True)

figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
axes[0].plot(x, exact, label="GELU")
axes[0].plot(x, np.maximum(x, 0), "--", label="ReLU")
axes[0].legend()
axes[1].plot(x, by_tanh - exact)
axes[1].set_title("the approximation by tanh, minus GELU", fontsize=10)
plt.show()


# %%
def gelu(x):
    return keras.activations.gelu(x, approximate=False)


def feed_forward(x, name):
    """(B, S, H) -> (B, S, H)"""
    wide = keras.layers.Dense(
        F, gelu, kernel_initializer=small(), name=f"{name}_intermediate_dense"
    )
    narrow = keras.layers.Dense(
        H, kernel_initializer=small(), name=f"{name}_output_dense"
    )
    return narrow(wide(x))


# %% [markdown]
# ## A block
#
# Both parts add to what is there, rather than replace it, and each sum is normalized:
#
# $$y = \mathrm{LayerNorm}(x + \mathrm{Attention}(x)), \qquad
# z = \mathrm{LayerNorm}(y + \mathrm{FFN}(y)) .$$
#
# ```
# x ─┬─ attention ─ dropout ─┐
#    └───────────────────── (+) ─ norm ─ y ─┬─ feed-forward ─ dropout ─┐
#                                           └──────────────────────── (+) ─ norm ─ z
# ```


# %%
def block(x, mask, name):
    """(B, S, H) -> (B, S, H)"""
    attended = attention(x, mask, f"{name}_attention")
    y = norm(f"{name}_attention_norm")(x + keras.layers.Dropout(DROPOUT)(attended))
    fed = feed_forward(y, f"{name}_feed_forward")
    return norm(f"{name}_output_norm")(y + keras.layers.Dropout(DROPOUT)(fed))


# %% [markdown]
# ## The encoder
#
# Embeddings, then blocks. That is all of it.

# %%
inputs = {
    "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
    "segment_ids": keras.Input((None,), dtype="int32", name="segment_ids"),
    "padding_mask": keras.Input((None,), dtype="bool", name="padding_mask"),
}
x = embed(inputs["token_ids"], inputs["segment_ids"])
for i in range(L):
    x = block(x, inputs["padding_mask"], f"block_{i}")
encoder = keras.Model(inputs, x, name="encoder")


def parameters(V, S, H, F, L):
    """How many numbers an encoder learns."""
    embeddings = (V + S + 2) * H + 2 * H
    attention = 4 * (H * H + H)
    network = (H * F + F) + (F * H + H)
    return embeddings + L * (attention + network + 2 * 2 * H)


assert encoder.count_params() == parameters(V, S, H, F, L)
print(f"{encoder.count_params():,} numbers here,", end=" ")
print(f"{parameters(30522, 512, 768, 3072, 12):,} in BERT-base")
for weight in encoder.weights:
    if "block_1" not in weight.path:  # whose shapes are those of block_0
        print(f"{weight.shape!s:>13}  {weight.path}")

# %% [markdown]
# (BERT also has a *pooler*, $\tanh(W x_{\mathrm{[CLS]}} + b)$, for tasks about whole
# texts. Masked words do not need it.)
#
# ## Masked words
#
# To guess a hidden word, its vector goes through one more layer and is compared with
# the embeddings of all words: the table $E$ is used again, the other way around.
#
# $$\mathrm{logits}_i = \mathrm{LayerNorm}(\mathrm{GELU}(W h_i + b))\, E^\top + c$$
#
# `ReversibleEmbedding` knows that way. For the bias $c$ Keras has no layer; so this is
# one.


# %%
@keras.saving.register_keras_serializable("build_bert")
class VocabularyBias(keras.layers.Layer):
    def build(self, shape):
        self.bias = self.add_weight(
            shape=(shape[-1],), initializer="zeros", name="bias"
        )

    def call(self, x):
        return x + self.bias


transform = keras.layers.Dense(
    H, gelu, kernel_initializer=small(), name="prediction_transform_dense"
)
h = norm("prediction_transform_layer_norm")(transform(encoder.output))
logits = VocabularyBias(name="prediction_bias")(token_table(h, reverse=True))
model = keras.Model(inputs, logits, name="masked_lm")
print(model.output.shape, "for each token, a score of each word")

# %% [markdown]
# In each row 15 % of the words are to be guessed, other ones in each epoch. If all of
# them became `[MASK]`, the model would have nothing to do at words that it can see, and
# there are no masks in the texts of later tasks. So BERT hides 80 % of them, replaces
# 10 % by random words and leaves 10 % as they are. The loss is the cross-entropy of the
# chosen places $M$,
#
# $$\mathcal{L} = -\frac{1}{|M|} \sum_{i \in M} \log p_i(t_i), \qquad
# p_i = \mathrm{softmax}(\mathrm{logits}_i) .$$


# %%
class MaskedWords(keras.utils.PyDataset):
    """Batches of masked rows: (inputs, the words that stood there, which count)."""

    def __init__(self, pairs, batch_size, seed):
        super().__init__()
        self.rows, self.batch_size = rows(pairs), batch_size
        self.rng = np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self):
        return len(self.order) // self.batch_size

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.rows["token_ids"]))

    def __getitem__(self, index):
        chosen = self.order[index * self.batch_size : (index + 1) * self.batch_size]
        batch = {name: array[chosen] for name, array in self.rows.items()}
        words = batch["token_ids"]
        guessed = (words >= len(SPECIAL)) & (self.rng.random(words.shape) < 0.15)
        draw = self.rng.random(words.shape)
        other = self.rng.integers(len(SPECIAL), V, words.shape)
        hidden = np.where(draw < 0.8, MASK, np.where(draw < 0.9, other, words))
        batch["token_ids"] = np.where(guessed, hidden, words)
        return batch, words, guessed.astype("float32")


masked, words, counted = MaskedWords(training, 32, seed=0)[0]
print("is read:   ", *tokens_of(masked["token_ids"][0]))
print("to guess:  ", *(WORDS[i] for i in words[0][counted[0] > 0]))

# %% [markdown]
# ## How good can a guess be?
#
# In a language that we know wholly this has an answer. Hide one word of a text. If $n$
# words of the language fit there, all are equally likely, and the best loss is
# $\log n$. In "the old cats near the house [MASK] milk . they are thirsty .", only
# "drink" fits, and $\log 1 = 0$. The texts held out are masked so, one word at a time.

# %%
fitting = defaultdict(set)  # for each text with a hole, the words that fill it
for pair in language:
    row = rows([pair])["token_ids"][0]
    for place in np.flatnonzero(row >= len(SPECIAL)):
        fitting[(*row[:place], MASK, *row[place + 1 :])].add(int(row[place]))

holes = {name: [] for name in ("token_ids", "segment_ids", "padding_mask")}
answers, places = [], []
for array in [rows([pair]) for pair in held_out]:
    for place in np.flatnonzero(array["token_ids"][0] >= len(SPECIAL)):
        ids = array["token_ids"][0].copy()
        ids[place] = MASK
        for name, value in {**array, "token_ids": ids[None]}.items():
            holes[name].append(value[0])
        answers.append(array["token_ids"][0])
        places.append(np.arange(LENGTH) == place)
holes = {name: np.array(value) for name, value in holes.items()}
answers, places = np.array(answers), np.array(places)

best = np.mean([math.log(len(fitting[tuple(row)])) for row in holes["token_ids"]])
counts = Counter(answers[places].tolist())
shares = np.array(list(counts.values())) / len(answers)
frequencies = -np.sum(shares * np.log(shares))
print(f"{len(answers)} holes. The loss of who")
print(f"  takes all words for equally likely: {math.log(V):.3f}")
print(f"  knows how frequent each word is:    {frequencies:.3f}")
print(f"  knows the language:                 {best:.3f}")

# %% [markdown]
# ## Training
#
# As BERT was: AdamW, a rate that rises at first and then falls. Half a minute.

# %%
# The mean over the words that count, not over all places.
loss = keras.losses.SparseCategoricalCrossentropy(
    from_logits=True, reduction="mean_with_sample_weight"
)
EPOCHS = 32
data = MaskedWords(training, 64, seed=0)
schedule = keras.optimizers.schedules.CosineDecay(
    0.0, EPOCHS * len(data), warmup_target=2e-3, warmup_steps=100
)
model.compile(keras.optimizers.AdamW(schedule), loss)
history = model.fit(
    data,
    epochs=EPOCHS,
    validation_data=(holes, answers, places.astype("float32")),
    validation_batch_size=1024,
    validation_freq=4,
    verbose=0,
).history
print(f"loss of the model: {history['val_loss'][-1]:.3f}, of who knows all: {best:.3f}")
assert history["val_loss"][-1] < best + 0.05

# %%
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
epochs = np.arange(1, EPOCHS + 1)
axes.plot(epochs, history["loss"], ".-", label="training: several words masked")
axes.plot(epochs[3::4], history["val_loss"], "s-", label="held out: one word masked")
for level, title in (
    (math.log(V), "all words equally likely"),
    (frequencies, "frequency of words"),
    (best, "the language"),
):
    axes.axhline(level, color="grey", linewidth=1, linestyle=":")
    axes.text(EPOCHS, level - 0.05, title, color="grey", ha="right", va="top")
axes.set(xlabel="epoch", ylabel="loss", ylim=(0, 4.4))
axes.legend(loc="center right")
plt.show()

# %% [markdown]
# All that is below the line of the frequencies was learned from the other words of the
# text. (The training loss stays above: two hidden words can need each other.)
#
# ## What it has learned
#
# Does its first guess fit? These texts were not in the training.

# %%
logits = model.predict(holes, batch_size=1024, verbose=0)[places]
fits = [
    int(guess) in fitting[tuple(row)]
    for guess, row in zip(logits.argmax(-1), holes["token_ids"], strict=True)
]
print(f"{np.mean(fits):.1%} of first guesses fit")
assert np.mean(fits) > 0.95


def fill(*pair):
    """Prints the likeliest words for each mask of a text."""
    inputs = rows([pair])
    chances = ops.convert_to_numpy(ops.softmax(model(inputs)))[0]
    print(*pair)
    for place in np.flatnonzero(inputs["token_ids"][0] == MASK):
        top = np.argsort(-chances[place])[:4]
        print("   ", *(f"{WORDS[i]} {chances[place, i]:.2f}  " for i in top))


fill("the old cats near the house [MASK] milk .", "they are thirsty .")
fill("the young [MASK] near the river reads letters .", "she is curious .")
fill("the horse near the boats eats [MASK] .", "it is [MASK] .")
fill("the small children near the [MASK] drink milk .", "they are thirsty .")

# %% [markdown]
# Where one word fits, it is sure; where several fit, it gives each its share. Is it the
# subject that decides on the verb, and not the noun that stands before it? The second
# sentence would give it away, so its first two words are hidden too.

# %%
fill("the old cats near the house [MASK] milk .", "[MASK] [MASK] thirsty .")
fill("the old cat near the houses [MASK] milk .", "[MASK] [MASK] thirsty .")

# %% [markdown]
# ## Where it looks
#
# The weights of attention, $a_{ij}$, for each head: rows are the tokens that ask,
# columns the tokens that they receive from. Light is much.

# %%
hidden = ("the old cats near the house [MASK] milk .", "[MASK] [MASK] thirsty .")
layers = [encoder.get_layer(f"block_{i}_attention_weights").output for i in range(L)]
looking = keras.Model(inputs, layers)
maps = [ops.convert_to_numpy(x)[0] for x in looking(rows([hidden]))]
names = tokens_of(rows([hidden])["token_ids"][0])

figure, axes = plt.subplots(
    L, N, figsize=(12, 6.6), sharex=True, sharey=True, layout="constrained"
)
for (i, n), axis in np.ndenumerate(axes):
    heatmap(axis, maps[i][n], f"block {i}, head {n}", names, names, vmin=0, vmax=1)
plt.show()

# %% [markdown]
# What each hidden word takes most from, over all heads of a block:

# %%
for place, word in zip(
    (i for i, name in enumerate(names) if name == "[MASK]"),
    ("drink", "they", "are"),
    strict=True,
):
    for i in range(L):
        head, source = np.unravel_index(maps[i][:, place].argmax(), (N, S))
        share = maps[i][head, place, source]
        print(f"{word:>5} in block {i}: {share:.2f} from {names[source]} {source}")

# %% [markdown]
# When this was written, *they* and *are* looked at *cats* in the first block, and the
# verb at *thirsty*, which says what is done. What it is to agree with came by other
# ways: in the second block a token takes from others what these have received in the
# first. That is what several blocks are for.
#
# [A look inside](10_look_inside.ipynb) shows attention in an encoder of real English,
# and says why it is no explanation yet.
#
# ## The same as `kbl.encoder`
#
# The package builds the same encoder from a configuration. Its weights have the names
# of ours, with slashes. Its attention keeps the heads side by side in one matrix, so
# $(H, N, D)$ becomes $(H, N \cdot D)$.

# %%
config = kbl.EncoderConfig(
    vocabulary_size=V,
    num_layers=L,
    num_heads=N,
    hidden_dim=H,
    intermediate_dim=F,
    max_sequence_length=S,
    dropout=DROPOUT,
    attention_dropout=DROPOUT,
    layer_norm_epsilon=EPSILON,
    activation="gelu",
    pooling=None,
)
their_encoder = kbl.encoder(config)
theirs = kbl.masked_lm(their_encoder)
for weight in theirs.weights:
    *path, kind = weight.path.removeprefix("blocks/").split("/")
    [value] = [x for x in model.get_layer("_".join(path)).weights if x.name == kind]
    weight.assign(ops.reshape(value, weight.shape))
assert theirs.count_params() == model.count_params()

# %%
batch = rows(held_out)
real = batch["padding_mask"]
for name, our_model, their_output in (
    ("vectors", encoder, their_encoder(batch)["sequence_output"]),
    ("scores of words", model, theirs(batch)["prediction_logits"]),
):
    ours = ops.convert_to_numpy(our_model(batch))[real]
    difference = np.abs(ours - ops.convert_to_numpy(their_output)[real]).max()
    print(f"{name}: {ours.shape}, largest difference {difference:.1e}")
    assert difference < 1e-5

# %% [markdown]
# All real tokens of all texts held out, and no number differs by more than 0.00001.
# (Vectors of padding mean nothing. Ours are what they are; the package does not compute
# them and gives zeros.)
#
# So you know what is inside of `kbl.encoder`. Around it are what this notebook did
# without: tokenizers for real text, weights that others have trained
# ([Load and convert](09_load_and_convert.ipynb)), training on gigabytes
# ([Pretrain a small BERT](06_pretrain.ipynb)), and heads for tasks
# ([Classify text](01_classify_text.ipynb)).
#
# ## Read on
#
# - Vaswani et al., 2017, [Attention Is All You Need](https://arxiv.org/abs/1706.03762)
# - Devlin et al., 2019, [BERT](https://arxiv.org/abs/1810.04805)
# - Ba et al., 2016, [Layer Normalization](https://arxiv.org/abs/1607.06450)
# - Hendrycks and Gimpel, 2016, [Gaussian Error Linear Units](https://arxiv.org/abs/1606.08415)
# - Press and Wolf, 2017, [Using the Output Embedding](https://arxiv.org/abs/1608.05859),
#   why the table of words serves twice
