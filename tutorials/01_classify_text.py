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
# From sentences to a model that a server can run: learn a vocabulary, build a
# small BERT, train it with `model.fit`, evaluate it, and export it as a
# SavedModel that takes raw strings. It runs in a few minutes on a CPU and
# needs no download: the sentences are made by the package.
#
# On Colab, install the package first (and restart the runtime if asked to):

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet keras-bert-lite
    pass

# %%
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

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
# The tokenizer is a Keras layer. Its vocabulary is learned from the training
# text; with a checkpoint at hand, `kbl.load_tokenizer(directory)` reads that one.

# %%
vocabulary = kbl.learn_vocabulary(
    [text for text, _ in training], vocabulary_size=1000, show_progress=False
)
tokenizer = kbl.WordPieceTokenizer(vocabulary)
ids, starts, ends = tokenizer.tokenize_with_offsets("My parcel was unlocked!")
for i, start, end in zip(ids.numpy(), starts.numpy(), ends.numpy(), strict=True):
    print(f"{i:4d}  {tokenizer.id_to_token(i):10}  characters {start} to {end}")

# %% [markdown]
# The preprocessor adds `[CLS]` and `[SEP]`, and pads to the longest row of the
# batch, not to a fixed length: `sequence_length` is only the most there may be.

# %%
preprocessor = kbl.Preprocessor(tokenizer, sequence_length=64)
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
# head. Here the encoder has the size of BERT-Tiny and starts from random
# weights. A pretrained one comes with
# `kbl.load_encoder("hf://sentence-transformers/all-MiniLM-L6-v2")`, its
# preprocessor with `kbl.load_preprocessor` of the same name.

# %%
config = kbl.EncoderConfig.named(
    "bert_tiny_uncased", vocabulary_size=tokenizer.vocabulary_size()
)
model = kbl.text_classifier(kbl.encoder(config), labels=LABELS)
model.summary()

# %%
model.compile(
    optimizer=keras.optimizers.AdamW(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(dataset(training), epochs=2, shuffle=False)
loss, accuracy = model.evaluate(dataset(evaluation), verbose=0)
print(f"accuracy on messages held out: {accuracy:.3f}")
assert accuracy > 0.8

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
