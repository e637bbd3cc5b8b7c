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
# # Compare sentences
#
# A *sentence encoder* turns a text into one vector. Texts that mean the same should
# get vectors that point the same way, so that a search compares numbers instead of
# words. This tutorial compares some sentences, measures how good a search by vectors
# is, trains it, and lets a second model put its results in order. It takes a few
# minutes on a CPU, without a download: the encoder comes with the package, the
# requests are made below.
#
# On Colab, install the package first, from a copy of its repository or a wheel made
# there (it is not on PyPI yet). It replaces Colab's TensorFlow and Keras by newer ones
# (docs/guide/install.md has the list); restart the session if asked to:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite[evaluation]"
    pass

# %%
import itertools
import os
import random
import tempfile
from pathlib import Path

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
# ## Compare
#
# `load_model` opens the encoder that comes with the package as the sentence encoder
# that it is: the mean of its tokens, scaled to length 1. Of such vectors, a product
# is the cosine of the angle between two of them: 1 for the same direction, 0 for
# nothing in common.

# %%
ENCODER = "bert_mini_books"
preprocessor = kbl.load_preprocessor(ENCODER)
untrained = kbl.with_text(kbl.load_model(ENCODER), preprocessor)
texts = [
    "The weather was lovely this morning.",
    "It was a bright and sunny day.",
    "He owes the bank a great deal of money.",
]
vectors = untrained.predict(texts, verbose=0)["sentence_embedding"]
cosines = vectors @ vectors.T
print(vectors.shape)
print(cosines.round(2))
assert cosines[0, 1] > cosines[0, 2]

# %% [markdown]
# The first two share hardly a word, and still are the closest. That is what vectors are
# for. Whether they suit *your* texts is another question.
#
# ## Requests to a travel agent
#
# There are eight kinds of requests about twelve things, each put in several ways. Those
# that mean the same share few words, those that do not often more, so counting common
# words does not help. A quarter of the 96 meanings is kept to evaluate with.

# %%
REQUESTS = {
    "cancel": ["Please cancel THING.", "I want to call off THING."],
    "pay": ["How can I pay for THING?", "Which cards do you take for THING?"],
    "move": ["Please move THING to Monday.", "I would like THING at a later date."],
    "confirm": ["Is THING booked?", "I need proof of my order of THING."],
    "price": ["What does THING cost?", "Tell me how expensive THING is."],
    "complain": ["I am not happy with THING.", "We had bad luck with THING."],
    "give": ["I want to give away THING.", "My sister should get THING as a present."],
    "papers": ["I lost the papers for THING.", "Send the documents of THING again."],
}
THINGS = [
    ("the flight", "our journey by plane"),
    ("the hotel room", "my two nights in town"),
    ("the rental car", "that hired vehicle"),
    ("the dinner", "our table at the restaurant"),
    ("the train ticket", "my seat on the railway"),
    ("the concert", "our evening with the orchestra"),
    ("the city tour", "that walk with a guide"),
    ("the ferry", "my passage on the boat"),
    ("the ski lesson", "our hour with the teacher on snow"),
    ("the bicycle", "my two wheels"),
    ("the insurance", "our policy against accidents"),
    ("the bus ride", "that coach to the airport"),
]
meanings = list(itertools.product(REQUESTS, THINGS))
rng.shuffle(meanings)
known, new = meanings[24:], meanings[:24]


def put(meaning):
    request, thing = meaning
    text = rng.choice(REQUESTS[request]).replace("THING", rng.choice(thing))
    return text[0].upper() + text[1:]


def differently(meaning, text):
    """Puts a meaning in other words."""
    return next(other for other in iter(lambda: put(meaning), "") if other != text)


# %% [markdown]
# ## How good is the search?
#
# A *retrieval set* has queries, a corpus to search, and judgements of which texts are
# right for which query. Here the corpus holds the new requests in one wording, and the
# queries ask for them in another.

# %%
corpus = {str(i): put(meaning) for i, meaning in enumerate(new)}
queries = {
    f"q{i}": differently(meaning, corpus[str(i)]) for i, meaning in enumerate(new)
}
right = {f"q{i}": {str(i): 1} for i in range(len(new))}
search = kbl.data.RetrievalSet(queries, corpus, right)
print(queries["q0"], "->", corpus["0"])

before = kbl.evaluate(untrained, search)
for name, scores in {"vectors": before["scores"], **before["baselines"]}.items():
    print(f"{name:8}", {metric: round(x, 2) for metric, x in scores.items()})

# %% [markdown]
# `accuracy@1` is how often the first text found is the right one, and `mrr@10` the mean
# of 1, 1/2, 1/3 and so on for a right text in the first, second or third place. BM25
# searches by words alone and needs no training, so it stands beside every such score: a
# model that does worse is no use as a search.
#
# ## Train
#
# To learn from there are pairs that mean the same, and nothing else. The second texts
# of the other pairs in a batch serve as wrong answers (*in-batch negatives*), so no
# text may occur twice in a batch; `finetune` sees to that.

# %%
pairs = []
for _ in range(10):
    for meaning in known:
        text = put(meaning)
        pairs.append({"text": text, "text_pair": differently(meaning, text)})
for row in pairs[:3]:
    print(row["text"], "=", row["text_pair"])

tuned = kbl.finetune("sentence_embedding", pairs, encoder=ENCODER, verbose=0)
print(tuned.report.scores)

# %% [markdown]
# The scores of the report are of pairs that were held out: is the second text found
# among all second texts? They are low, since many of those mean the same, and only
# one counts as right. The retrieval set has a single right text for each query, and
# meanings that did not occur in training:

# %%
after = kbl.evaluate(tuned.text_model, search)
for metric, score in after["scores"].items():
    low, high = after["intervals"][metric]
    was = before["scores"][metric]
    print(f"{metric:11} {was:.2f} -> {score:.2f}  (95 %: {low:.2f} to {high:.2f})")
assert after["scores"]["mrr@10"] > before["scores"]["mrr@10"] + 0.1

# %% [markdown]
# Nearly every request is found now. Of 24 queries, even all found mean only that
# accuracy is above 0.86 or so with 95 % confidence: a real evaluation needs hundreds.
# `after["worst"]` has the queries that went most wrong.
#
# ## The same with `fit`
#
# `finetune` chose the loss by the columns of the rows; triplets (`negative`) and pairs
# with a number (`label`) have others (`docs/how_to/which_loss_for_sentence_vectors.md`
# lists them). With Keras's own `fit` you choose: `text_dataset` stacks the columns,
# `(B, 2, S)`, and `sentence_encoder_trainer` runs the sentence encoder on each text. It
# shares its weights, so training it trains the encoder.

# %%
columns = ["text", "text_pair"]
options = {"label": None, "batch_size": 24, "shuffle": True, "distinct": True}
train = kbl.text_dataset(pairs, preprocessor, columns, **options)
trainer = kbl.sentence_encoder_trainer(kbl.load_model(ENCODER))
print(next(iter(train))[0]["token_ids"].shape)
kbl.compile(
    trainer,
    steps=len(train),
    learning_rate=3e-4,
    loss=kbl.losses.InBatchNegativesLoss(),
)
history = trainer.fit(train, shuffle=False)  # the data set shuffles

# %% [markdown]
# ## Put the best in order
#
# A vector is made without knowing what it will be compared with. A *ranker* reads the
# query and one candidate together, which is slower and more exact: it suits the best
# few texts that a search has found. It learns from lists, of which some texts are
# wrong. `mine_negatives` finds wrong texts that the search takes for right ones. The
# texts to choose from are those of other meanings.

# %%
once = [
    {"query": row["text"], "positive": row["text_pair"]} for row in pairs[: len(known)]
]
lists = kbl.data.mine_negatives(once, encoder=tuned.text_model, negatives=3)
print(lists[0]["query"])
print(*zip(lists[0]["grades"], lists[0]["candidates"], strict=True), sep="\n")

ranker = kbl.finetune("ranking", lists, encoder=ENCODER, epochs=4, verbose=0)
answer = ranker.text_model.predict(
    {"text": [queries["q0"]], "candidates": [[*corpus.values()][:5]]}, verbose=0
)
print(answer["order"])

# %% [markdown]
# `kbl.evaluate(ranker.text_model, search)` puts what BM25 finds in order;
# `docs/how_to/rerank_search_results.md` goes on from here.
#
# ## A SavedModel

# %%
path = kbl.export_saved_model(tuned.text_model, folder / "vectors")
served = tf.saved_model.load(str(path)).signatures["serving_default"]
asked = [*queries.values()]
again = served(text=tf.constant(asked))["sentence_embedding"].numpy()
expected = tuned.text_model.predict(asked, verbose=0)["sentence_embedding"]
np.testing.assert_allclose(again, expected, atol=1e-5)
print(path.name, again.shape)

# %% [markdown]
# ## With your own data
#
# One command trains, from a table with the columns `text` and `text_pair`, and another
# evaluates, on a retrieval set in the files of BEIR:
# ```sh
# keras-bert-lite fit sentence_embedding pairs.tsv --minutes 10 --directory run \
#     --encoder hf://sentence-transformers/all-MiniLM-L6-v2
# keras-bert-lite evaluate run beir/scifact/qrels/test.tsv
# ```
# An encoder that was trained for sentences, such as all-MiniLM-L6-v2, is the better
# start by far. Where pairs carry a label of their own (does the reply answer the
# question?) and need no search, a classifier of pairs reads both at once:
# `kbl.finetune("text_classification", rows)` with `text`, `text_pair` and `label`.
