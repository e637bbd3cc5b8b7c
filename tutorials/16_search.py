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
# # Search
#
# This tutorial builds a search: from a corpus to one SavedModel that takes a question
# and returns the best texts, by their meaning and by their words. The corpus is the
# reference of the Python language, which every Python has: a thousand paragraphs
# about statements, types and operators. It takes a few minutes on a CPU, without a
# download.
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
import os
import random
import re
import tempfile
import textwrap
from pathlib import Path
from pydoc_data.topics import topics

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # steps reuse memory

import keras
import tensorflow as tf

import keras_bert_lite as kbl

tf.get_logger().setLevel("ERROR")  # no lines about files that were written
keras.utils.set_random_seed(0)
rng = random.Random(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The corpus
#
# An encoder reads up to some hundred words, and a vector of a long text means a little
# of everything, so long texts are cut into paragraphs first. Each gets an id by its
# topic and its place.

# %%
corpus = {}
for topic, text in sorted(topics.items()):
    for number, paragraph in enumerate(text.split("\n\n")):
        paragraph = " ".join(paragraph.split())
        prose = paragraph[:1].isupper() and paragraph[-1:] == "."
        if prose and 80 < len(paragraph) < 450 and paragraph not in corpus.values():
            corpus[f"{topic} {number}"] = paragraph
print(len(corpus), "paragraphs of", len(topics), "topics")

# %% [markdown]
# ## Index and search
#
# `index` encodes the corpus and writes a SavedModel that holds all of it: the encoder,
# the vectors, the texts and the search. `load` opens it, and needs nothing else.

# %%
preprocessor = kbl.load_preprocessor("bert_mini_books")
encoder = kbl.with_text(kbl.load_model("bert_mini_books"), preprocessor)
path = kbl.search.index(encoder, corpus, folder / "vectors", k=10, verbose=0)
index = kbl.search.load(path)

QUESTIONS = [
    "stop a loop early",
    "give a function a default value for an argument",
    "what happens when an exception is not handled",
]


def show(index, questions=QUESTIONS, count=2):
    found = index.search(questions)
    for question, ids, texts in zip(
        questions, found["ids"], found["texts"], strict=True
    ):
        print(question)
        for name, text in zip(ids[:count], texts[:count], strict=True):
            print("   ", textwrap.shorten(f"[{name}] {text}", 100))


show(index)

# %% [markdown]
# The first question has neither `break` nor `terminates` in it, and the text found has
# neither `stop` nor `early`: vectors compare what is meant.
#
# ## Words and vectors
#
# How good is it? That takes questions whose answers are known. A cheap way to many of
# them: take a sentence out of a paragraph, and search for the paragraph that it came
# from. `RetrievalSet` holds the questions, the corpus and which text is right, and
# `evaluate` scores the index, with BM25, which counts shared words, beside it.

# %%
questions, right, others = {}, {}, []
for name, paragraph in corpus.items():
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", paragraph)
    if len(sentences) < 2:
        continue
    sentence = sentences.pop(rng.randrange(len(sentences)))
    corpus[name] = " ".join(sentences)
    if rng.random() < 0.4:
        questions[name], right[name] = sentence, {name: 1}
    else:
        others.append({"query": sentence, "positive": corpus[name]})
judged = kbl.data.RetrievalSet(questions, corpus, right)
print(len(questions), "questions, such as:", next(iter(questions.values())))

results = {}


def score(name, path):
    found = kbl.evaluate(path, judged)
    results.setdefault("BM25", found["baselines"]["BM25"])
    results[name] = found["scores"]


score("vectors", kbl.search.index(encoder, corpus, folder / "vectors", verbose=0))
both = kbl.search.index(encoder, corpus, folder / "both", hybrid=True, verbose=0)
score("both", both)
for name, scores in results.items():
    print(f"{name:8}", {x: round(scores[x], 3) for x in ("mrr@10", "recall@10")})
assert results["both"]["recall@10"] > results["BM25"]["recall@10"]

# %% [markdown]
# Vectors alone lose to plain words here: the encoder is small, and sentences of one
# paragraph share rare names. But each finds what the other misses, so both together
# find more than either. `hybrid=True` is nearly always worth it.

# %% [markdown]
# ## A ranker puts the best in order
#
# A *ranker* reads a question and a text together, which is more exact than comparing
# two vectors, and slower; so it reads only the best texts that the search has found. It
# learns from lists of a right text and wrong ones. The questions are the sentences of
# the other paragraphs, which were not asked for above; `mine_negatives` finds wrong
# texts that share words with them.

# %%
texts = [*corpus.values()]
lists = kbl.data.mine_negatives(others, texts=texts, negatives=4)
print(lists[0]["query"])
print(*(textwrap.shorten(x, 80) for x in lists[0]["candidates"]), sep="\n")

ranker = kbl.finetune("ranking", lists, encoder="bert_mini_books", epochs=1, verbose=0)
options = {"ranker": ranker.text_model, "rerank": 10, "verbose": 0}
path = kbl.search.index(encoder, corpus, folder / "ranked", hybrid=True, **options)
score("ranked", path)
for name, scores in results.items():
    print(f"{name:8}", {x: round(scores[x], 3) for x in ("mrr@10", "recall@10")})

# %% [markdown]
# This ranker makes the search worse, although the search's own score counts as much as
# the ranker's: two hundred lists are too few for a small encoder to learn more than the
# search knew. That is why there are judged questions: without them, it would have been
# served. A ranker needs some thousand lists, or one that was trained on them
# (`docs/how_to/rerank_search_results.md`). The index of vectors and words it is, then.
#
# ## Serve
#
# The index is a SavedModel like any other: `check_servable` says which servers run it,
# and a server answers over REST or gRPC. TensorFlow alone answers too:

# %%
print(kbl.check_servable(both))
served = tf.saved_model.load(str(both)).signatures["search"]
answer = served(text=tf.constant(QUESTIONS[:1]))
print({name: value.shape for name, value in answer.items()})
print(answer["ids"][0, 0].numpy().decode())

# %% [markdown]
# With Docker, these two lines start the official server and ask it (`FOLDER` stands for
# the `folder` of the first cell):
# ```sh
# docker run -p 8501:8501 -v "FOLDER/both:/models/search" -e MODEL_NAME=search \
#     tensorflow/serving:2.20.0
# curl -d '{"instances": ["stop a loop early"]}' \
#     http://localhost:8501/v1/models/search:predict
# ```
#
# ## More texts
#
# A version of an index is never changed. `add` and `remove` write the next one beside
# it, and encode only what is new; a server that watches the folder swaps them.

# %%
index = kbl.search.load(both)
note = "Press Ctrl and C to end a loop that never ends."
path = index.add({"my notes": note}, verbose=0)
changed = kbl.search.load(path)
print(path.name, len(index), len(changed))
show(changed, ["end a loop that never ends"])

# %% [markdown]
# ## With your own texts
#
# The same in a shell, from a file with a text per line, or JSON Lines with `id` and
# `text`. An encoder that was trained for sentences finds far more than the small one
# of this tutorial:
# ```sh
# keras-bert-lite index hf://sentence-transformers/all-MiniLM-L6-v2 texts.jsonl \
#     indexes/texts --hybrid
# keras-bert-lite search indexes/texts "stop a loop early"
# ```
# `docs/how_to/semantic_search_on_tf_serving.md` goes on: large corpora, vectors made on
# a cluster, prompts, and what goes over the wire.
