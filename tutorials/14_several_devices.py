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
# # Several devices, and TPUs
#
# One call finds the devices, and the same training runs on all of them: batches shared
# out, then weights cut as well; stopped and resumed on other devices; and the weights
# trained under JAX become a SavedModel that takes strings. On a CPU it runs in minutes:
# JAX then simulates four devices, which are slower than one and give the same numbers.
# The same cells are for a TPU or several GPUs; there they have not been run yet.
#
# On Colab, choose a TPU as the runtime's type, and install the package first, from a
# copy of its repository or a wheel made there (it is not on PyPI yet). It replaces
# Colab's TensorFlow, Keras and JAX by others (docs/guide/install.md has the list);
# restart the session if asked to. With one device, as a "v5e-1" has, every cell runs
# too; what is compared is then the same:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite[tpu]"
    pass

# %% [markdown]
# Keras looks for its backend when it is imported, and JAX for its devices when it is
# first used, so both are told before. The last line makes four devices of a CPU; TPUs
# and GPUs do not read it.

# %%
import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

import keras_bert_lite as kbl
from keras_bert_lite.demo import LABELS, messages

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The devices
#
# `setup` comes first, right behind the imports. It finds the devices of all hosts and
# tells Keras to share each batch over them. TensorFlow, which reads and tokenizes the
# texts, is kept off them.

# %%
devices = kbl.distribution.setup()
print(devices)

# %% [markdown]
# ## The data
#
# The compiler makes a program for each shape, so shapes are few: every row has 32
# tokens, and every batch 32 rows, of all devices together. `check_batch` says before
# anything is compiled whether they can be shared out:

# %%
ENCODER = "bert_mini_books"
preprocessor = kbl.load_preprocessor(ENCODER, sequence_length=32, padding="max_length")
training, evaluation = messages()
rows = [{"text": text, "label": LABELS[label]} for text, label in training[: 10 * 32]]
batches = kbl.data.text_dataset(rows, preprocessor, labels=LABELS, batch_size=32)
print(len(batches), "batches")

kbl.distribution.check_batch(32, 32)
if devices.num_devices > 1:
    try:
        kbl.distribution.check_batch(33)
    except ValueError as error:
        print(error)

# %% [markdown]
# ## Data parallel: every device has the whole model
#
# Each device computes the gradients of its rows, and their sum is everyone's. Nothing
# in the model or in `fit` says so. Two layers of the encoder are enough here,
# without dropout, of which more below.


# %%
def train(epochs=2, **options):
    keras.utils.set_random_seed(0)
    encoder = kbl.load_encoder(ENCODER, dropout=0.0, attention_dropout=0.0)
    encoder = kbl.surgery.keep_layers(encoder, [0, 1])
    model = kbl.text_classifier(encoder, LABELS, pooling="mean")
    kbl.compile(model, steps=2 * len(batches), learning_rate=1e-3)
    history = model.fit(batches, epochs=epochs, shuffle=False, verbose=0, **options)
    return model, history.history["loss"]


_, shared = train()
print("losses:", np.round(shared, 4))

# %% [markdown]
# The same on one device. Devices may add up in another order, and then the last digits
# differ.

# %%
keras.distribution.set_distribution(None)
_, alone = train()
print("largest difference:", np.abs(np.subtract(shared, alone)).max())
np.testing.assert_allclose(shared, alone, rtol=1e-3)

# %% [markdown]
# ## The model axis: weights cut too
#
# A model that one device cannot hold is cut. `model=2` cuts the large matrices of each
# block in two, and the table of tokens by its width; the others share the batch. With
# four devices that is a grid of two by two. `BackupAndRestore` saves the run after each
# epoch; more of it below.

# %%
parts = 2 if devices.num_devices % 2 == 0 else 1
print(kbl.distribution.setup(model=parts))


def backup():
    return keras.callbacks.BackupAndRestore(folder / "backup", delete_checkpoint=False)


cut, losses = train(1, callbacks=[backup()])
print("the loss of the first epoch:", np.round(losses, 4), "alone:", np.round(alone, 4))
np.testing.assert_allclose(losses, alone[:1], rtol=1e-3)

# %% [markdown]
# What of some weights lies on one device:

# %%
for weight in cut.weights:
    if "block_0/" in weight.path and weight.path.endswith("kernel"):
        part = weight.value.addressable_shards[0].data.shape
        print(f"{weight.path.split('block_0/')[1]:40} {weight.shape} {part}")

# %% [markdown]
# For BERT-base one chip is enough: it is cut if rows are long or the model is large,
# since devices then wait for each other twice in each block.
#
# ## Stopped, and resumed on other devices
#
# On the grid only one epoch was trained, as if the run had been stopped behind it. The
# backup has weights, optimizer and epoch, and none of it says how many devices there
# were: the second epoch is trained by all devices with whole weights. What it leaves
# out are the random numbers of dropout. `kbl.pretraining.pretrain` has them in its own
# saves, every so many steps, and goes on when it is called again.

# %%
kbl.distribution.setup()
model, rest = train(callbacks=[backup()])
print("the loss of the second epoch:", np.round(rest, 4), "alone:", np.round(alone, 4))
np.testing.assert_allclose(rest, alone[1:], rtol=1e-3)

# %% [markdown]
# ## From JAX to a server
#
# Strings are TensorFlow's: a model that takes them is made under its backend, and so is
# the SavedModel for a server. The weights are the same. So the model on ids is saved
# here, and another process, whose backend is TensorFlow, exports it:

# %%
model.save(folder / "model.keras")
EXPORT = f"""
import keras
import keras_bert_lite as kbl
model = keras.models.load_model("model.keras")
preprocessor = kbl.load_preprocessor("{ENCODER}")
print(kbl.export_saved_model(kbl.with_text(model, preprocessor), "served"))
"""
done = subprocess.run(
    [sys.executable, "-c", EXPORT],
    cwd=folder,
    env={**os.environ, "KERAS_BACKEND": "tensorflow"},
    check=True,
    capture_output=True,
    text=True,
)
print(done.stdout)

# %% [markdown]
# The SavedModel answers strings as the model under JAX answers their ids:

# %%
texts = [text for text, _ in evaluation[:32]]
answers = list(kbl.predict_texts(folder / "served", texts, progress=False))
for text, answer in list(zip(texts, answers, strict=True))[:4]:
    print(f"{answer['label']:>10}: {text}")

logits = model.predict(preprocessor(texts), verbose=0)["logits"]
scores = np.stack([answer["scores"] for answer in answers])
np.testing.assert_allclose(keras.ops.softmax(logits), scores, atol=1e-3)

# %% [markdown]
# On several hosts the program is the same, started on each; `setup` finds the others in
# the environment of Slurm, Cloud TPU or Kubernetes, or in its arguments.
