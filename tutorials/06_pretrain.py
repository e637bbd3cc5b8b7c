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
# # Pretrain a small BERT
#
# From plain text to an encoder: learn a vocabulary, write pretraining data, train a
# masked language model, stop it and let it go on, and look at what it has learned.
# Everything here scales: the same calls, or the commands `keras-bert-lite
# vocabulary`, `pretraining-data` and `pretrain`, read any amount of text in constant
# memory and can be killed at any moment. It runs in a few minutes on a CPU and needs
# no download: the text is Python's own reference manual, which comes with Python.
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
import re
import tempfile
from pathlib import Path
from pydoc_data.topics import topics

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

import keras_bert_lite as kbl

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The text
#
# Text files are UTF-8, with a blank line between documents. Within a document a line
# is a sentence or, with `sentences="split"`, a paragraph, which is split for you. The
# manual has some 80 chapters; every tenth is held out.


# %%
def paragraphs(chapter):
    """The prose of a chapter, a paragraph a line; grammars and code are indented."""
    for text in re.split(r"\n\s*\n", chapter):
        if text and not text.startswith((" ", "*", "=")):
            yield " ".join(text.split())


chapters = ["\n".join(paragraphs(text)) for _, text in sorted(topics.items())]
(folder / "held_out.txt").write_text("\n\n".join(chapters[::10]), encoding="utf-8")
del chapters[::10]
(folder / "train.txt").write_text("\n\n".join(chapters), encoding="utf-8")
print((folder / "train.txt").read_text(encoding="utf-8")[:500])

# %% [markdown]
# ## A vocabulary
#
# 2,000 pieces are enough for one book; BERT has 30,522.

# %%
pieces = kbl.pretraining.train_wordpiece(
    [folder / "train.txt"], 2000, show_progress=False
)
tokenizer = kbl.WordPieceTokenizer(pieces, special_tokens_in_text=True)
preprocessor = kbl.Preprocessor(tokenizer, sequence_length=64)
print(tokenizer.detokenize(tokenizer(["The with statement wraps a block."])))

# %% [markdown]
# ## Pretraining data
#
# `write_pretraining_data` tokenizes the text once, on all cores, and writes rows of
# token ids. There are three kinds of rows: pairs for next sentence prediction (BERT),
# pairs for sentence order prediction (ALBERT), or, as here, full sentences with
# nothing but masked words to guess (RoBERTa). `pack=True` puts several short texts into
# a row; they do not see each other. Which words are masked is not written down: it is
# drawn anew in every epoch.

# %%
recipe = {"objective": "none", "sentences": "split", "pack": True}
for name in ("train", "held_out"):
    done = kbl.pretraining.write_pretraining_data(
        folder / f"{name}.txt",
        folder / name,
        preprocessor,
        show_progress=False,
        **recipe,
    )
    print(name, done)

# %% [markdown]
# What the model sees, and what it is to guess:

# %%
inputs, targets, weights = next(
    iter(kbl.pretraining.pretraining_dataset(folder / "train", batch_size=2))
)
vocabulary = np.array(tokenizer.get_vocabulary())
print(*vocabulary[inputs["token_ids"][0]])
masked = weights["prediction_logits"][0] > 0
print("to guess:", *vocabulary[targets["prediction_logits"][0][masked]])

# %% [markdown]
# ## The run
#
# Two small layers. `masked_positions_model` makes the model that is trained: it has the
# weights of `masked_lm`, and scores the masked words only, a seventh of the work.
# Beside the loss, `fit` shows accuracy and perplexity: between how many words the
# model wavers.

# %%
config = kbl.EncoderConfig(
    vocabulary_size=tokenizer.vocabulary_size(),
    num_layers=2,
    num_heads=2,
    hidden_dim=128,
    intermediate_dim=512,
    max_sequence_length=64,
    dropout=0.0,
    attention_dropout=0.0,
)


def new_model():
    keras.utils.set_random_seed(0)
    return kbl.masked_lm(kbl.encoder(config))


def train(model, steps, **options):
    return kbl.pretraining.pretrain(
        kbl.pretraining.masked_positions_model(model, packed=True),
        folder / "train",
        folder / "run",
        steps=steps,
        batch_size=32,
        learning_rate=2e-3,
        warmup=0.1,
        save_every=100,
        validation=folder / "held_out",
        validation_steps=10,
        verbose=2,
        **options,
    )


# %% [markdown]
# Here something stops the run in the middle:


# %%
class PowerCut(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if self.model.optimizer.iterations == 150:
            raise KeyboardInterrupt


try:
    train(new_model(), 500, callbacks=[PowerCut()])
except KeyboardInterrupt:
    print("stopped at step 150")

# %% [markdown]
# The same call goes on behind the last save, at step 100, with the same optimizer
# state, the same order of the data and the same masks as if nothing had happened:

# %%
model = new_model()
history = train(model, 500).history
print("perplexity of held-out text:", [round(x) for x in history["val_perplexity"]])

# %% [markdown]
# ## What it has learned
#
# What kind of word comes, after so little text, and seldom which. The model that was
# trained shares its weights with `model`, and `with_text` makes it take strings.
# (`special_tokens_in_text`, above, lets a text have a `[MASK]`.)

# %%
guess = kbl.with_text(model, preprocessor, top_k=3).predict(
    [
        "Changed in [MASK] 3.10.",
        "The value is [MASK] to the name.",
    ],
    verbose=0,
)
for tokens in guess["tokens"]:
    print(tokens)

# %% [markdown]
# ## On to a task
#
# `encoder_of(model)` is what all builders take, and a saved model loads in this package
# and in Hugging Face transformers. To continue from an existing checkpoint on texts of
# your own, begin with `model = kbl.load_model(checkpoint)` instead.

# %%
kbl.save_hugging_face(model, preprocessor, folder / "model")
encoder = kbl.load_encoder(folder / "model", pooling="mean")
classifier = kbl.text_classifier(encoder, labels=["statement", "expression"])
print(sorted(path.name for path in (folder / "model").iterdir()))

# %%
assert history["val_perplexity"][-1] < 250, history["val_perplexity"]
assert history["val_accuracy"][-1] > 0.15
