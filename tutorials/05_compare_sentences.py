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
# Two ways to say how two texts belong together. A classifier of pairs reads both
# at once: exact, but each pair costs a run of the model. A sentence encoder turns
# each text into a vector, once, and vectors are compared at no cost: that is how
# to search in many texts. Both run in a minute or two on a CPU, without
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
# ## Pairs: does the reply answer the question?
#
# Questions and replies are about a time, a place, a price or a person; fewer than
# half of the pairs belong together. The sights, people and streets of the
# evaluation stand in no training pair, though the words of their names do.

# %%
QUESTIONS = {
    "time": ["When does SIGHT open?", "At what time may we visit SIGHT?"],
    "place": ["Where is SIGHT?", "How do I get to SIGHT?"],
    "price": ["How much is a ticket for SIGHT?", "What does SIGHT cost?"],
    "person": ["Who runs SIGHT?", "Whom do I ask about SIGHT?"],
}
REPLIES = {
    "time": ["At NUMBER in the morning.", "Daily from NUMBER until noon."],
    "place": ["In STREET, behind the station.", "Take the tram to STREET."],
    "price": ["NUMBER euros for adults.", "Children pay NUMBER euros each."],
    "person": ["NAME is the head of it.", "That would be NAME, our director."],
}
KINDS = ["old", "new", "royal", "national", "little", "southern", "town"]
SIGHTS = ["castle", "zoo", "mill", "tower", "museum", "garden", "library", "theatre"]
FILLERS = {
    "SIGHT": [f"the {x} {y}" for x in KINDS for y in SIGHTS],
    "NAME": [
        f"{x} {y}{z}"
        for x in ("Mrs", "Mr", "Dr")
        for y in ("Lor", "Pas", "Iv", "Tam", "Quis", "Dor", "Mel")
        for z in ("den", "ker", "el", "mond", "low")
    ],
    "STREET": [
        f"{x} {y}"
        for x in ("Mill", "Church", "Park", "Harbour", "Bridge", "Market", "Beech")
        for y in ("Road", "Lane", "Street", "Square", "Hill")
    ],
}
NUMBERS = [str(number) for number in range(6, 12)]
NEW, SEEN = {"NUMBER": NUMBERS}, {"NUMBER": NUMBERS}
for word, values in FILLERS.items():
    rng.shuffle(values)
    NEW[word], SEEN[word] = values[:10], values[10:]


# %%
def filled(form, fillers):
    for word, choices in fillers.items():
        form = form.replace(word, rng.choice(choices))
    return form


def write_pairs(path, fillers, number):
    """Writes a table: a line of names, then a pair a line, between tabs."""
    lines = ["question\treply\tlabel"]
    for _ in range(number):
        asked = rng.choice(list(QUESTIONS))
        told = asked if rng.random() < 0.25 else rng.choice(list(REPLIES))
        question = filled(rng.choice(QUESTIONS[asked]), fillers)
        reply = filled(rng.choice(REPLIES[told]), fillers)
        label = "answer" if asked == told else "unrelated"
        lines.append(f"{question}\t{reply}\t{label}")
    path.write_text("\n".join(lines))


write_pairs(folder / "train.tsv", SEEN, 2400)
write_pairs(folder / "test.tsv", NEW, 300)
print((folder / "train.tsv").read_text()[:300])

# %% [markdown]
# `read_csv` reads tables such as GLUE's, a row at a time, anew in each epoch.
# `text_dataset` makes the batches: `text_pair` names the column of the second
# text, `labels` says what a label's index is. A pair becomes one row,
# `[CLS] question [SEP] reply [SEP]`, with segment 1 from the reply on.

# %%
table = kbl.data.read_csv(folder / "train.tsv")
ENCODER = "bert_mini_books"
preprocessor = kbl.load_preprocessor(ENCODER, sequence_length=32)
tokenizer = preprocessor.tokenizer
LABELS = ["unrelated", "answer"]
columns = {"text": "question", "text_pair": "reply", "labels": LABELS}
train = kbl.text_dataset(table, preprocessor, **columns, shuffle=True)
test = kbl.text_dataset(
    kbl.data.read_csv(folder / "test.tsv"), preprocessor, **columns, batch_size=100
)
(inputs, labels) = next(iter(test))
print(*(tokenizer.id_to_token(i) for i in inputs["token_ids"][0].numpy()))
print(*inputs["segment_ids"][0].numpy(), LABELS[labels[0]])

# %% [markdown]
# ## A classifier of pairs
#
# Nothing but the data says that there are two texts. Where one label is rarer
# and matters more, F1 says more than accuracy: a model that always said
# "unrelated" would be right more often than not, with an F1 of 0 for the answers.
# `kbl.evaluation.on_rows` gives the mean of both labels' F1, among other scores.
#
# BERT's head reads the first token, `[CLS]`, which pretraining has taught
# to speak for the row; here the head reads the mean of all tokens
# (`pooling="mean"`), so that the encoder needs no pooler.
# `kbl.optimizers.bert_adamw` is BERT's optimizer: the rate rises at first, then
# falls.

# %%
EPOCHS = 2
model = kbl.text_classifier(kbl.load_encoder(ENCODER), LABELS, pooling="mean")
model.compile(
    optimizer=kbl.optimizers.bert_adamw(EPOCHS * len(train), learning_rate=3e-4),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(train, epochs=EPOCHS, validation_data=test, shuffle=False)
score = kbl.evaluation.on_rows(
    kbl.data.read_csv(folder / "test.tsv"),
    preprocessor,
    columns={"text": "question", "text_pair": "reply"},
)
scores = score(model)
print(f"new pairs: accuracy {scores['accuracy']:.3f}, F1 {scores['macro_f1']:.3f}")
assert scores["macro_f1"] > 0.8

# %% [markdown]
# On strings: `pairs=True` says that the model takes `text` and `text_pair`.

# %%
judge = kbl.with_text(model, preprocessor, pairs=True)
question = "How do I get to the royal library?"
replies = ["In Mill Road, behind the station.", "Children pay 9 euros each."]
answers = judge.predict(
    {"text": [question] * len(replies), "text_pair": replies}, verbose=0
)
for reply, label, shares in zip(
    replies, answers["label"], answers["scores"], strict=True
):
    print(f"{label:>10}  {shares.max():.2f}  {reply}")
assert answers["label"].tolist() == ["answer", "unrelated"]

# %% [markdown]
# ## Vectors: requests that mean the same
#
# A travel agent gets eight kinds of requests about twelve things, each put in
# several ways. Those with the same meaning share few words, those with another
# often more, so that counting common words does not help. A quarter of the 96
# meanings is kept for the evaluation.

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
# To learn from there are pairs with the same meaning, and nothing else: the second
# texts of all other pairs of a batch serve as wrong answers (in-batch negatives).
# A batch should therefore not hold a meaning twice. Each pass over the 72
# meanings makes three batches of 24, in the order written here.

# %%
pairs = []
for _ in range(30):
    rng.shuffle(known)
    texts = [put(meaning) for meaning in known]
    pairs += [
        {"a": text, "b": differently(meaning, text)}
        for meaning, text in zip(known, texts, strict=True)
    ]
for row in pairs[:3]:
    print(row["a"], "=", row["b"])

# %% [markdown]
# To evaluate with there are pairs with a mark: 1 for the same meaning, 0.5 for
# the same request or thing, 0 for neither.

# %%
marked = []
for one, two in itertools.product(new, new):
    text = put(one)
    mark = ((one[0] == two[0]) + (one[1] == two[1])) / 2
    if mark or rng.random() < 0.2:  # most pairs have nothing in common
        marked.append({"a": text, "b": differently(two, text), "mark": mark})
print([(mark, sum(row["mark"] == mark for row in marked)) for mark in (0, 0.5, 1)])

# %% [markdown]
# Several columns of texts are stacked, `(B, 2, S)`. `sentence_encoder_trainer` runs the
# sentence encoder on each; training it trains the encoder. `load_model` gives the
# encoder that comes with the package as the sentence encoder that it is.

# %%
train = kbl.text_dataset(
    pairs, preprocessor, text=["a", "b"], label=None, batch_size=24
)
test = kbl.text_dataset(
    marked, preprocessor, text=["a", "b"], label="mark", batch_size=100
)
sentences = kbl.load_model(ENCODER)
groups = kbl.sentence_encoder_trainer(sentences)
print(next(iter(train))[0]["token_ids"].shape)

# %% [markdown]
# The measure is Spearman's correlation of marks and cosines: do pairs that mean
# the more alike also get the higher number? The callback computes it at the end
# of every epoch, and adds it to the logs.

# %%
spearman = kbl.evaluation.spearman(test)
before = spearman(groups)["spearman"]
EPOCHS = 2
groups.compile(
    optimizer=kbl.optimizers.bert_adamw(EPOCHS * len(train), learning_rate=3e-4),
    loss=kbl.losses.InBatchNegativesLoss(),
)
history = groups.fit(
    train,
    epochs=EPOCHS,
    shuffle=False,
    callbacks=[kbl.evaluation.EvaluationCallback(spearman)],
).history
after = history["val_spearman"][-1]
print(f"Spearman on new meanings: {before:.3f} before, {after:.3f} after")
assert after > before + 0.1

# %% [markdown]
# ## Search
#
# Strings in, vectors out. They have length 1, so that a product of matrices gives
# all cosines. Of 24 requests, each in two wordings, does the second find the
# first?

# %%
to_vectors = kbl.with_text(sentences, preprocessor)
stored = [put(meaning) for meaning in new]
asked = [differently(*pair) for pair in zip(new, stored, strict=True)]


def vectors(texts):
    return to_vectors.predict(texts, verbose=0)["sentence_embedding"]


cosines = vectors(asked) @ vectors(stored).T
nearest = cosines.argmax(axis=1)
for row in range(4):
    print(f"{asked[row]}\n    {cosines[row].max():.2f}  {stored[nearest[row]]}")
found = np.mean(nearest == np.arange(len(new)))
print(f"{found:.2f} of the requests found")
assert found > 0.6

# %% [markdown]
# ## A SavedModel

# %%
path = kbl.export_saved_model(to_vectors, folder / "vectors")
served = tf.saved_model.load(str(path)).signatures["serving_default"]
again = served(text=tf.constant(asked))["sentence_embedding"].numpy()
np.testing.assert_allclose(again, vectors(asked), atol=1e-5)
print(path.name, again.shape)

# %% [markdown]
# ## With a pretrained encoder and real data
#
# For pairs, GLUE's tables, here MRPC's; only the names of files and columns change:
# ```python
# source = "hf://google-bert/bert-base-cased"
# encoder, preprocessor = kbl.load_encoder(source), kbl.load_preprocessor(source)
# train = kbl.text_dataset(
#     kbl.data.read_csv("MRPC/train.tsv", converters={"Quality": int}),
#     preprocessor,
#     text="#1 String",
#     text_pair="#2 String",
#     label="Quality",
#     labels=["different", "same"],
#     shuffle=True,
# )
# model = kbl.text_classifier(encoder, ["different", "same"])
# model.compile(
#     kbl.optimizers.bert_adamw(3 * len(train), learning_rate=2e-5),
#     keras.losses.SparseCategoricalCrossentropy(from_logits=True),
#     metrics=["accuracy"],
# )
# model.fit(train, epochs=3, shuffle=False)
# ```
# For vectors, `kbl.load_encoder("hf://sentence-transformers/all-MiniLM-L6-v2")`
# starts from an encoder that was trained for them. A question with several
# choices is `kbl.multiple_choice(encoder)` with `kbl.choice_dataset`; words to
# fill in, `kbl.masked_lm(encoder)`.
