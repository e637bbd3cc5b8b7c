# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Serve a model
#
# From a trained classifier to a service: export it, check that a stock server
# can run it, serve it, query it, replace it by a better version while clients
# are calling, and answer many texts offline. Then the same model as a LiteRT
# file. It runs in a few minutes on a CPU, from a checkout of the package.
#
# On Colab, install the package first, from a copy of its repository. It replaces
# Colab's TensorFlow and Keras by newer ones (docs/guide/install.md has the list);
# restart the session if asked to:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite[litert]"
    pass

# %%
import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.demo import LABELS, messages

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## A classifier
#
# The one of the first tutorial, trained a little: messages to a shop, about
# an account, a delivery or a payment.

# %%
training, evaluation = messages()
ENCODER = "bert_mini_books"
preprocessor = kbl.load_preprocessor(ENCODER, sequence_length=64)
model = kbl.text_classifier(kbl.load_encoder(ENCODER), LABELS, pooling="mean")
model.compile(
    optimizer=keras.optimizers.AdamW(3e-4),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)


def train(rows):
    texts, labels = zip(*rows, strict=True)
    pairs = tf.data.Dataset.from_tensor_slices((list(texts), list(labels)))
    batches = pairs.batch(32).map(lambda text, label: (preprocessor(text), label))
    model.fit(batches, shuffle=False)


train(training[: len(training) // 3])
classifier = kbl.with_text(model, preprocessor)

# %% [markdown]
# ## Export
#
# Each export is a numbered version, a folder that appears when it is complete.
# Before that, its warm-up requests have run: what a server runs, too, before it
# says that it is ready.

# %%
path = kbl.export_saved_model(classifier, folder / "messages")
facts = json.loads((path / "assets.extra" / "keras_bert_lite.json").read_text())
print(path.name, facts["signatures"], facts["labels"])

# %% [markdown]
# ## Check
#
# `check_servable` reads every operation and compares it with what stock TensorFlow
# Serving has, then loads and runs the model here: the warm-up requests, and mixed
# batches, which must get the answers that their texts get alone. In a shell it
# is `keras-bert-lite check saved_models/messages`.

# %%
report = kbl.check_servable(path)
print(report)
assert report.ok

# %% [markdown]
# ## Serve
#
# The files for Docker are written on request. With them, `docker compose up` in
# that folder starts the official image.

# %%
batching = kbl.serving.batching_parameters(max_batch_size=32)
for file in kbl.serving.write_server_files(folder / "messages", batching=batching):
    print(file.name)
print((folder / "messages" / "compose.yaml").read_text())

# %% [markdown]
# This notebook starts a stand-in instead, from the tests of the package: it loads
# the same folder and speaks the same protocol.

# %%
repository = next(x for x in Path.cwd().parents if (x / "tests/serving").is_dir())
sys.path.insert(0, str(repository))
from tests.serving.prediction_server import running

server = running(folder / "messages")
process, address = server.__enter__()

# %% [markdown]
# ## Query
#
# The client speaks gRPC. Strings go in, strings and numbers come out.

# %%
client = kbl.serving.Client(address, "messages", wait_for_ready=True)
questions = [
    "Where is my parcel?",
    "I was charged twice!",
    "Unlock my profile, please.",
]
answers = client.predict(questions)
for text, label, scores in zip(
    questions, answers["label"], answers["scores"], strict=True
):
    print(f"{label:>10}  {scores.max():.2f}  {text}")

# %% [markdown]
# Over REST the same is
# ```
# curl -d '{"instances": ["Where is my parcel?"]}' \
#     http://localhost:8501/v1/models/messages:predict
# ```
# What is wrong is refused with a reason, and the server goes on.

# %%
try:
    client.predict({"texts": questions})
except ValueError as error:
    print(error)

# %% [markdown]
# ## Swap a version
#
# Train further, export again: the server finds version 2 and moves to it.
# Clients that name no version get the newest one.

# %%
train(training)
kbl.export_saved_model(classifier, folder / "messages")
new = classifier.predict(questions, verbose=0)["scores"]
for _ in range(600):
    scores = client.predict(questions)["scores"]
    if abs(scores - new).max() < 1e-4:
        break
    time.sleep(0.1)
assert abs(scores - new).max() < 1e-4
client_labels = client.predict(questions)["label"].tolist()
print(client_labels, scores.round(2))

# %%
client.close()
server.__exit__(None, None, None)

# %% [markdown]
# ## Many texts, offline
#
# `predict_texts` takes any number of texts, from a generator too, and answers in
# their order. Texts of similar length share a batch.

# %%
texts = [text for text, _ in evaluation]
right = sum(
    answer["label"] == LABELS[label]
    for answer, (_, label) in zip(
        kbl.predict_texts(folder / "messages", texts), evaluation, strict=True
    )
)
print(f"\n{right / len(texts):.3f} of {len(texts)} right")
assert right / len(texts) > 0.8

# %% [markdown]
# ## Smaller: LiteRT
#
# A LiteRT file, here with weights of 8 bits, runs where TensorFlow Serving does
# not. The tokenizer runs beside it: the file carries its vocabulary, so
# `LiteRTModel` takes strings. `kbl.serving.export_onnx` and
# `kbl.serving.OnnxModel` do the same for ONNX Runtime.

# %%
kbl.serving.export_litert(classifier, folder / "messages.tflite", int8=True)
small = kbl.serving.LiteRTModel(folder / "messages.tflite")
print((folder / "messages.tflite").stat().st_size // 1000, "kB")
assert small.predict(questions)["label"].tolist() == client_labels
