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
# # Classify text, end to end
#
# From sentences to a model that a server can run: take a small pretrained BERT,
# fine-tune it with `model.fit`, evaluate it, and export it as a SavedModel that
# takes raw strings. It runs in a few minutes on a CPU and needs no download: the
# encoder comes with the package, the sentences are made by it.
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
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # steps reuse memory

import keras
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.demo import LABELS, messages

keras.utils.set_random_seed(0)

# %% [markdown]
# ## The data
#
# Messages to a shop, each about an account, a delivery or a payment. What is
# said in the messages kept for the evaluation is said in no training message.

# %%
training, evaluation = messages()
print(len(training), "messages to learn from,", len(evaluation), "to evaluate on")
for text, label in training[:4]:
    print(f"{LABELS[label]:>10}: {text}")

# %% [markdown]
# ## From strings to ids
#
# The tokenizer is a Keras layer; its vocabulary is the encoder's. `bert_mini_books` is
# the name of the encoder that comes with the package; a directory, or a name on
# Hugging Face's hub such as `hf://google-bert/bert-base-uncased`, goes in its place.

# %%
ENCODER = "bert_mini_books"
tokenizer = kbl.load_tokenizer(ENCODER)
ids, starts, ends = tokenizer.tokenize_with_offsets("My parcel was unlocked!")
for i, start, end in zip(ids.numpy(), starts.numpy(), ends.numpy(), strict=True):
    print(f"{i:4d}  {tokenizer.id_to_token(i):10}  characters {start} to {end}")

# %% [markdown]
# The preprocessor adds `[CLS]` and `[SEP]`, and pads to the longest row of the
# batch, not to a fixed length: `sequence_length` is only the most there may be.

# %%
preprocessor = kbl.load_preprocessor(ENCODER, sequence_length=64)
preprocessor(["Where is it?", "Where is the parcel that I ordered?"])


# %% [markdown]
# In `tf.data` the same layer runs in the input pipeline.


# %%
def dataset(rows):
    texts, labels = zip(*rows, strict=True)
    pairs = tf.data.Dataset.from_tensor_slices((list(texts), list(labels)))
    return pairs.batch(32).map(lambda text, label: (preprocessor(text), label))


# %% [markdown]
# ## The model
#
# An encoder is a plain functional `keras.Model` on ids; a task's builder adds a
# head. This one reads the mean of all tokens' vectors, which the encoder was trained
# to make tell what a text is about.

# %%
model = kbl.text_classifier(kbl.load_encoder(ENCODER), LABELS, pooling="mean")
model.summary()

# %%
model.compile(
    optimizer=keras.optimizers.AdamW(3e-4),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(dataset(training), shuffle=False)
loss, accuracy = model.evaluate(dataset(evaluation), verbose=0)
print(f"accuracy on messages held out: {accuracy:.3f}")
assert accuracy > 0.9

# %% [markdown]
# ## Strings in, labels out
#
# `with_text` puts the preprocessor in front and names the answers behind. The
# result takes Python strings, and one file holds all of it, vocabulary included.

# %%
classifier = kbl.with_text(model, preprocessor)
questions = [
    "Where is my parcel?",
    "I was charged twice!",
    "Unlock my profile, please.",
]
answers = classifier.predict(questions, verbose=0)
for text, label, scores in zip(
    questions, answers["label"], answers["scores"], strict=True
):
    print(f"{label:>10}  {scores.max():.2f}  {text}")

# %%
folder = tempfile.mkdtemp()
classifier.save(f"{folder}/classifier.keras")
again = keras.models.load_model(f"{folder}/classifier.keras")
assert (again.predict(questions, verbose=0)["label"] == answers["label"]).all()

# %% [markdown]
# ## A SavedModel for TF Serving
#
# The export has a signature on strings and one on ids. To load it, TensorFlow
# and tensorflow-text are enough; a server needs only its own ops.

# %%
path = kbl.export_saved_model(classifier, f"{folder}/messages")
served = tf.saved_model.load(str(path))
answer = served.signatures["serving_default"](text=tf.constant(questions))
print(path.name, answer["label"].numpy())
assert [x.decode() for x in answer["label"].numpy()] == answers["label"].tolist()

# %% [markdown]
# With the folder mounted in TensorFlow Serving's image, a request over REST is
# ```
# curl -d '{"instances": ["Where is my parcel?"]}' \
#     http://localhost:8501/v1/models/messages:predict
# ```

# %% [markdown]
# ## A head of your own
#
# Any Keras layers can follow an encoder. Its outputs carry Keras's mask, so an LSTM
# ignores the padding of a batch. Here only the head is trained, on the encoder that was
# trained above; `docs/how_to/my_own_head.md` has attention, two towers and numbers
# beside the text.

# %%
encoder = kbl.encoder_of(model)
encoder.trainable = False
tokens = encoder(encoder.input)["sequence_output"]
x = keras.layers.LSTM(16)(tokens)
outputs = {"logits": keras.layers.Dense(len(LABELS))(x)}
own = keras.Model(encoder.input, outputs)
own.compile(
    optimizer=keras.optimizers.AdamW(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
own.fit(dataset(training), shuffle=False)
logits = kbl.with_text(own, preprocessor).predict(questions, verbose=0)["logits"]
for text, row in zip(questions, logits, strict=True):
    print(f"{LABELS[row.argmax()]:>10}  {text}")
