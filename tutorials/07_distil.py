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
# # Distil a BERT
#
# A student that learns from a teacher learns from less text than one that learns
# from text alone. Two ways: an encoder with a vocabulary of its own that sees words
# as a larger one does, and a classifier of fewer layers that answers as a larger one
# does. It runs in a few minutes on a CPU and needs no download: the teacher comes
# with the package, the text is Python's own reference manual.
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
import time
from pathlib import Path
from pydoc_data.topics import topics

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # steps reuse memory

import keras
import numpy as np
from scipy.stats import spearmanr

import keras_bert_lite as kbl
from keras_bert_lite.demo import LABELS, messages

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The teacher
#
# `bert_mini_books` has four layers of width 256. It is a sentence encoder: the mean of
# its vectors tells what a text is about.

# %%
TEACHER = "bert_mini_books"
teacher = kbl.load_encoder(TEACHER)
teacher_preprocessor = kbl.load_preprocessor(TEACHER, sequence_length=64)
print(f"{teacher.count_params():,} weights")

# %% [markdown]
# ## A smaller encoder with its own vocabulary
#
# The manual's sentences, a paragraph a line; every tenth chapter is held out.


# %%
def paragraphs(chapter):
    """The prose of a chapter, a paragraph a line; grammars and code are indented."""
    for text in re.split(r"\n\s*\n", chapter):
        if text and not text.startswith((" ", "*", "=")):
            yield " ".join(text.split())


chapters = ["\n".join(paragraphs(text)) for _, text in sorted(topics.items())]
held_out = chapters[::10]
del chapters[::10]
(folder / "train.txt").write_text("\n\n".join(chapters), encoding="utf-8")
(folder / "held_out.txt").write_text("\n\n".join(held_out), encoding="utf-8")

# %% [markdown]
# The student has 2 layers of width 128 and 2,000 pieces. Its words are split into
# other pieces than the teacher's, but they are the same words, and
# `distill_token_vectors` trains the student to match the teacher's vector of each
# word, and of each text. The teacher is wider: it is reduced to its principal
# components.

# %%
pieces = kbl.pretraining.train_wordpiece(
    [folder / "train.txt"], 2000, show_progress=False
)
preprocessor = kbl.Preprocessor(kbl.WordPieceTokenizer(pieces), sequence_length=64)
config = kbl.EncoderConfig(
    vocabulary_size=preprocessor.tokenizer.vocabulary_size(),
    num_layers=2,
    num_heads=2,
    hidden_dim=128,
    intermediate_dim=512,
    max_sequence_length=64,
    dropout=0.0,
    attention_dropout=0.0,
    pooling=None,
)
student = kbl.encoder(config)
print(f"{student.count_params():,} weights")


# %%
def sentences(encoder, preprocessor):
    return kbl.with_text(kbl.sentence_encoder(encoder), preprocessor)


def similarities(model, texts):
    """How similar each two texts are, to the model."""
    vectors = model.predict(texts, verbose=0)["sentence_embedding"]
    return (vectors @ vectors.T)[np.triu_indices(len(texts), 1)]


texts = [x for chapter in held_out for x in chapter.split("\n") if len(x) > 40][:200]
wanted = similarities(sentences(teacher, teacher_preprocessor), texts)
before = spearmanr(wanted, similarities(sentences(student, preprocessor), texts))

# %% [markdown]
# The run is saved and goes on like one of `pretrain` (tutorial 06). In a shell it is
# `keras-bert-lite distil`. The loss is the sum of two distances, `1 - cosine`, of words
# and of texts.

# %%
history = kbl.distillation.distill_token_vectors(
    student,
    preprocessor,
    teacher,
    teacher_preprocessor,
    folder / "train.txt",
    folder / "run",
    steps=600,
    batch_size=32,
    learning_rate=2e-3,
    save_every=200,
    validation=folder / "held_out.txt",
    validation_steps=10,
    sentences="split",
    verbose=2,
)
after = spearmanr(wanted, similarities(sentences(student, preprocessor), texts))
print(
    "agreement on which held-out texts are similar: "
    f"{before.statistic:.2f} before, {after.statistic:.2f} after"
)
assert after.statistic > before.statistic + 0.1

# %% [markdown]
# ## A task: fewer layers
#
# The teacher is fine-tuned on messages to a shop, about an account, a delivery or a
# payment; 300 of them have labels.

# %%
training, evaluation = messages()
random.Random(0).shuffle(training)


def dataset(rows, **options):
    records = [{"text": text, "label": label} for text, label in rows]
    return kbl.text_dataset(records, teacher_preprocessor, batch_size=16, **options)


labelled, test = dataset(training[:300], shuffle=True), dataset(evaluation)


def compile_classifier(model, epochs, train, rate=3e-4):
    model.compile(
        optimizer=kbl.optimizers.bert_adamw(epochs * len(train), learning_rate=rate),
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": ["accuracy"]},
    )


def classifier(encoder):
    return kbl.text_classifier(encoder, LABELS, pooling="mean")


def accuracy(model):
    return model.evaluate(test, verbose=0, return_dict=True)["accuracy"]


large = classifier(kbl.with_hidden_states(kbl.load_encoder(TEACHER)))
compile_classifier(large, 5, labelled)
large.fit(labelled, epochs=5, shuffle=False, verbose=2)
print(f"teacher: {accuracy(large):.3f}")

# %% [markdown]
# The student takes every other layer of the teacher, as DistilBERT does, and learns
# from the labels, from the teacher's scores at a temperature of 2, which say more than
# a label does, and from the teacher's hidden states: what its two layers give is to
# be what the teacher's second and fourth give.

# %%
smaller = kbl.with_hidden_states(kbl.surgery.keep_layers(large, [1, 3]))
small = classifier(smaller)
distillation = kbl.distillation.distillation_model(
    small,
    large,
    [
        kbl.layers.LogitDistillation(temperature=2.0),
        kbl.layers.HiddenStateDistillation([(1, 2), (2, 4)]),
    ],
)
compile_classifier(distillation, 4, labelled)
distillation.fit(labelled, epochs=4, shuffle=False, verbose=2)

# %% [markdown]
# `small` shares its weights with the student inside; it is a classifier like any other.


# %%
def seconds(model):
    start = time.perf_counter()
    for _ in range(5):
        model.predict([text for text, _ in training[:400]], verbose=0)
    return time.perf_counter() - start


compile_classifier(small, 1, labelled)
served = kbl.with_text(small, teacher_preprocessor)
models = [kbl.with_text(large, teacher_preprocessor), served]
[seconds(model) for model in models]  # Keras traces
times = [seconds(model) for model in models]
print(f"teacher: {accuracy(large):.3f} of the held-out messages, {times[0]:.2f} s")
print(f"student: {accuracy(small):.3f} of the held-out messages, {times[1]:.2f} s")
assert accuracy(small) > 0.8

# %%
answers = served.predict(["Where is my parcel?", "I was charged twice!"], verbose=0)
print(answers["label"])
