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
# # Find names in texts
#
# Named entity recognition, end to end: label every word of a sentence, train with
# and without a conditional random field (CRF), measure whole names rather than
# words, and get from raw text to names with their place in it, also in texts
# longer than the model reads at once. It runs in a few minutes on a CPU and needs no
# download: the encoder comes with the package, the sentences are made below.
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
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # steps reuse memory

import keras
import seqeval.metrics
import tensorflow as tf

import keras_bert_lite as kbl

keras.utils.set_random_seed(0)
rng = random.Random(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The data
#
# Short news about people (`PER`), places (`LOC`) and organizations (`ORG`). All
# names are put together from the same syllables, so that a name does not tell
# its type: `Borsina` may be a woman, a town or a company. What stands around it
# does. The names kept for the evaluation stand in no training sentence.

# %%
BEGINNINGS = [x + y for x in "BDFGHKLM" for y in ("al", "or")]
SYLLABLES = [x + y for x in "dklmnrst" for y in "ai"]
NAMES = [
    first + middle + last
    for first in BEGINNINGS
    for middle in ["", *SYLLABLES]
    for last in SYLLABLES
]
rng.shuffle(NAMES)
HELD_OUT = len(NAMES) // 4

FORMS = {
    "PER": ["*", "* *", "Dr *"],
    "LOC": ["*", "*", "New *", "* Island"],
    "ORG": ["*", "* Foods", "* and *", "Bank of *", "* Motors"],
}
TEMPLATES = [
    "PER moved from LOC to LOC last year .",
    "PER , who was born in LOC , now works for ORG .",
    "The offices of ORG in LOC were closed on Monday .",
    "ORG has bought ORG , said PER .",
    "PER and PER met at the harbour of LOC .",
    "It rained in LOC when PER arrived .",
    "Shares in ORG fell after PER resigned .",
    "PER told reporters that ORG will hire in LOC .",
    "LOC is a town of ten thousand people .",
    "The mayor of LOC thanked PER .",
    "PER has been chairman of ORG since May .",
    "Nobody was hurt , and the trains were on time .",
    "A spokesman for ORG did not answer our calls .",
    "ORG opens a factory near LOC .",
]


# %% [markdown]
# A record has words and as many tags. A name's first word has the tag `B-`
# (begin), its others `I-` (inside), all other words `O` (outside). This is what
# `kbl.data.read_conll(path, scheme="bio")` reads from files in CoNLL's columns.


# %%
def news(names):
    words, tags = [], []
    for _ in range(rng.choice([1, 2])):
        for part in rng.choice(TEMPLATES).split():
            form = rng.choice(FORMS.get(part, [part])).split()
            words += [rng.choice(names) if x == "*" else x for x in form]
            inside = [f"I-{part}"] * (len(form) - 1)
            tags += [f"B-{part}", *inside] if part in FORMS else ["O"]
    return {"words": words, "tags": tags}


training = [news(NAMES[HELD_OUT:]) for _ in range(1200)]
evaluation = [news(NAMES[:HELD_OUT]) for _ in range(300)]
LABELS = ["O", *(f"{x}-{kind}" for kind in FORMS for x in "BI")]
for word, tag in zip(*training[0].values(), strict=True):
    print(f"{tag:6}", word)

# %% [markdown]
# ## From words to ids
#
# `sequence_length` is what the model reads at once; longer texts are cut into windows
# that share `stride` tokens. The encoder's tokenizer lower-cases. Capital letters say
# much about names: on real text, a checkpoint named "cased" finds more.

# %%
ENCODER = "bert_mini_books"
preprocessor = kbl.load_preprocessor(ENCODER, sequence_length=64, stride=16)
tokenizer = preprocessor.tokenizer

# %% [markdown]
# A word may become several pieces, but it has one tag. `token_dataset` gives the
# tag to its first piece, and weight 0 to the others, to `[CLS]`, to `[SEP]` and to
# padding: loss and metrics pass over these. That is BERT's way; `pieces="all"`
# labels every piece.

# %%
train = kbl.token_dataset(training, preprocessor, LABELS, batch_size=16, shuffle=True)
test = kbl.token_dataset(evaluation, preprocessor, LABELS, batch_size=64)
inputs, targets, weights = next(iter(test))
for i, target, weight in zip(
    inputs["token_ids"][0].numpy(), targets[0].numpy(), weights[0].numpy(), strict=True
):
    print(f"{tokenizer.id_to_token(i):10}", LABELS[target] if weight else "-")

# %% [markdown]
# ## Each word by itself
#
# The head gives every token a score for each label, and each label is chosen
# by itself. The loss must be the mean over the words, not over all positions:
# `reduction="mean_with_sample_weight"`.
#
# Most words are `O`, so accuracy says little. `EntityF1` counts whole names: one
# is right if all of its words and its type are. It needs the weights, and Keras
# gives these to `weighted_metrics` only.
#
# `kbl.optimizers.bert_adamw` is BERT's optimizer: the rate rises at first, then
# falls, for which it asks how many batches there will be.

# %%
encoder = kbl.load_encoder(ENCODER)
plain = kbl.token_classifier(encoder, LABELS)
plain.compile(
    optimizer=kbl.optimizers.bert_adamw(2 * len(train), learning_rate=1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="mean_with_sample_weight"
    ),
    weighted_metrics=[kbl.metrics.EntityF1(LABELS)],
)
plain.fit(train, epochs=2, validation_data=test, shuffle=False)

# %% [markdown]
# Nothing keeps neighbours consistent: an `I-ORG` may follow an `O`, or a `B-PER`.
# The string-in model, made to take split words, returns the label of each word,
# so that this can be counted.


# %%
def broken(tags):
    """Counts the tags that continue nothing."""
    return sum(
        tag.startswith("I-") and before[2:] != tag[2:]
        for before, tag in zip(["O", *tags], tags, strict=False)
    )


sentences = [record["words"] for record in evaluation]
by_words = kbl.with_text(plain, preprocessor, split_words=True)
labels = by_words.predict(sentences, verbose=0)["labels"]
print(sum(map(broken, labels.tolist())), "tags continue nothing")

# %% [markdown]
# `decoding="constrained"` asks for the best sequence of labels that the scheme
# allows. It needs no training and suits any model.

# %%
by_words = kbl.with_text(plain, preprocessor, split_words=True, decoding="constrained")
labels = by_words.predict(sentences, verbose=0)["labels"].tolist()
print(sum(map(broken, labels)), "tags continue nothing")
assert not any(map(broken, labels))

# %% [markdown]
# ## Whole sequences: a CRF
#
# A conditional random field learns, besides the scores of labels, how well one
# label follows another, and is trained on the probability of the whole sequence.
# With `constrained=True` it also knows from the start what cannot follow. The
# metric finds the best path (Viterbi's algorithm) by itself.
#
# The field here goes on from the encoder trained above, to save time: do not
# take the difference between the two scores for its merit alone.

# %%
model = kbl.token_classifier(encoder, LABELS, crf=True, constrained=True)
model.compile(
    optimizer=kbl.optimizers.bert_adamw(len(train), learning_rate=5e-4),
    loss=kbl.losses.CRFLoss(),
    weighted_metrics=[kbl.metrics.EntityF1(LABELS)],
)
model.fit(train, epochs=1, validation_data=test, shuffle=False)

# %% [markdown]
# ## The report
#
# seqeval prints the numbers that papers give: for each type, and over all. Their F1
# is also what `kbl.evaluation.on_rows` counts from the words; in a callback,
# `kbl.evaluation.EvaluationCallback` adds it to the logs of each epoch.

# %%
by_words = kbl.with_text(model, preprocessor, split_words=True)
answers = by_words.predict(sentences, verbose=0)["labels"].tolist()
tags = [record["tags"] for record in evaluation]
found = [row[: len(known)] for row, known in zip(answers, tags, strict=True)]
print(seqeval.metrics.classification_report(tags, found, digits=3))
report = kbl.evaluation.on_rows(evaluation, preprocessor)(model)
assert abs(report["f1"] - seqeval.metrics.f1_score(tags, found)) < 1e-5
assert report["f1"] > 0.9

# %% [markdown]
# ## Raw text in, names out
#
# `with_text` puts the tokenizer in front and reads the names off the labels. A
# name comes with its type, its place (characters of the text as it was given) and
# a score: the mean probability of its words' labels.

# %%
finder = kbl.with_text(model, preprocessor)
texts = [
    "Dalka moved from Mordi to New Borsina last year.",
    "Shares in Borsina Motors fell after Dr Mordi resigned.",
    "It rained.",
]
answers = finder.predict(texts, verbose=0)


def names_in(answers, row):
    fields = ("entities", "entity_labels", "entity_starts", "entity_ends")
    rows = zip(*(answers[x][row].tolist() for x in fields), strict=True)
    return [name for name in rows if name[1]]  # behind the last: empty strings


def shown(text, names):
    for _, kind, start, end in reversed(names):
        text = f"{text[:start]}[{text[start:end]} {kind}]{text[end:]}"
    return text


for row, text in enumerate(texts):
    names = names_in(answers, row)
    assert all(text[start:end] == name for name, _, start, end in names)
    print(shown(text, names))

# %% [markdown]
# ## A long text
#
# All news of the evaluation's first dozen in one text, which is several times
# longer than the model reads at once. It is cut into windows that overlap, and a
# word's label is read in the window that shows most of what is around it.


# %%
def joined(records):
    """Returns a text, and the true names in it."""
    text, names = "", []
    for record in records:
        for word, tag in zip(record["words"], record["tags"], strict=True):
            text += word if word in ".," else f" {word}" if text else word
            start = len(text) - len(word)
            if tag.startswith("B-"):
                names.append([tag[2:], start, len(text)])
            elif tag.startswith("I-"):
                names[-1][2] = len(text)
    return text, {(text[s:e], kind, s, e) for kind, s, e in names}


long_text, true = joined(evaluation[:12])
found = names_in(finder.predict([long_text], verbose=0), 0)
windows = preprocessor([long_text])["token_ids"].shape[1]
right = len(true & set(found))
print(len(tokenizer(long_text)), "tokens in", windows, "windows")
print(f"{right} of {len(true)} names found, and {len(found) - right} that are none")
print(shown(long_text[: found[5][3]], found[:6]), "...")
assert windows > 3
assert 2 * right / (len(true) + len(found)) > 0.8

# %% [markdown]
# ## A SavedModel
#
# Text in, names out, windows and CRF included: TensorFlow and tensorflow-text are
# all it takes to run this, and TensorFlow Serving does.

# %%
path = kbl.export_saved_model(finder, folder / "names")
served = tf.saved_model.load(str(path)).signatures["serving_default"]
answer = {
    k: v.numpy() for k, v in served(text=tf.constant([*texts, long_text])).items()
}
for name, kind in zip(answer["entities"][0], answer["entity_labels"][0], strict=True):
    if kind:
        print(name.decode(), kind.decode())
again = [
    (name.decode(), kind.decode(), start, end)
    for name, kind, start, end in names_in(answer, len(texts))
]
assert again == found

# %% [markdown]
# ## With a pretrained encoder and real data
#
# A checkpoint knows the language already; three epochs with a small learning
# rate are BERT's recipe for CoNLL-2003. The rest of this notebook stays as it is.
# ```python
# source = "hf://google-bert/bert-base-cased"
# encoder = kbl.load_encoder(source)
# preprocessor = kbl.Preprocessor(
#     kbl.load_tokenizer(source), sequence_length=512, stride=128
# )
# training = kbl.data.read_conll("eng.train", scheme="bio")
# LABELS = sorted({tag for record in training for tag in record["tags"]})
# train = kbl.token_dataset(training, preprocessor, LABELS, shuffle=True)
# model = kbl.token_classifier(encoder, LABELS, crf=True, constrained=True)
# optimizer = kbl.optimizers.bert_adamw(3 * len(train), learning_rate=3e-5)
# model.compile(optimizer, kbl.losses.CRFLoss())
# model.fit(train, epochs=3, shuffle=False)
# ```
