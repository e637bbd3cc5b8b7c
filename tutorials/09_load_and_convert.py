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
# # Load and convert any checkpoint
#
# Weights of BERTs come in many forms: Hugging Face's directories, the checkpoints of
# Google's TF1 code, SavedModels of TF Hub, presets of KerasHub. One call reads them
# all, and gives the same encoder. Here each form is written first, so that nothing is
# downloaded, then loaded and compared; and files that are wrong are refused. It runs in
# a minute or two on a CPU.
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
import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_bert_lite as kbl

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## One argument for every source
#
# `load_encoder`, `load_model` (with the head), `load_tokenizer` and `load_preprocessor`
# take the same `source`. It is a directory, in whatever form; or a name:
#
# | source | what it is |
# |---|---|
# | `"bert_mini_books"` | the encoder that comes with the package |
# | `"my_bert"` | a directory: Hugging Face, sentence-transformers, Google, SavedModel |
# | `"hf://google-bert/bert-base-uncased"` | a repository on Hugging Face's hub |
# | `"keras-hub://bert_tiny_en_uncased"` | a preset of KerasHub, by name or directory |
#
# Names of the last two kinds download, so these lines are not run here:
#
# ```
# encoder = kbl.load_encoder("hf://google-bert/bert-base-uncased")
# encoder = kbl.load_encoder("hf://FacebookAI/xlm-roberta-base")
# encoder = kbl.load_encoder("keras-hub://bert_tiny_en_uncased")
# ```
#
# What is in a checkpoint, before it is used:

# %%
kbl.summary("bert_mini_books")

# %% [markdown]
# ## Hugging Face, with a head
#
# A classifier whose head is still random, which is all the same to files. Its
# directory is what transformers reads and writes: the configuration, the weights, and
# the files of the tokenizer.

# %%
preprocessor = kbl.load_preprocessor("bert_mini_books")
encoder = kbl.load_encoder("bert_mini_books")
classifier = kbl.text_classifier(encoder, labels=["calm", "stormy"])
kbl.save_hugging_face(classifier, preprocessor, folder / "weather")
for path in sorted((folder / "weather").iterdir()):
    print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}")

# %% [markdown]
# `load_model` reads the head with its labels. `load_encoder` leaves it out, and says
# so: what a checkpoint lacks, and what it has that is not used, is one warning.

# %%
again = kbl.load_model(folder / "weather")
texts = ["The sea was quiet.", "Waves broke over the deck."]
rows = kbl.load_preprocessor(folder / "weather")(texts)
print(again.name, kbl.with_text(again, preprocessor).predict(texts, verbose=0)["label"])
assert np.array_equal(again(rows)["logits"], classifier(rows)["logits"])

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kbl.load_encoder(folder / "weather")
for warning in caught:
    print(str(warning.message).replace(f"{folder}/", ""))

# %% [markdown]
# ## Every family
#
# Which family a checkpoint is of stands in its config.json; nobody has to say it. Small
# ones with random weights, written and read:

# %%
sizes = {
    "vocabulary_size": 100,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 32,
    "intermediate_dim": 64,
}
published = {
    "bert": "bert_base_uncased",
    "roberta": "roberta_base",
    "distilbert": "distilbert_base_uncased",
    "albert": "albert_base_v2",
    "electra": "electra_small",
    "deberta-v2": "deberta_v3_small",
}
ids = {
    "token_ids": np.array([[2, 20, 21, 22, 3]]),
    "segment_ids": np.zeros((1, 5), "int32"),
    "padding_mask": np.ones((1, 5), "bool"),
}


def vectors(model):
    inputs = {tensor.name: ids[tensor.name] for tensor in model.inputs}
    return np.array(model(inputs)["sequence_output"])


for family, name in published.items():
    small = kbl.encoder(kbl.EncoderConfig.named(name, **sizes))
    kbl.save_hugging_face(small, None, folder / family)
    loaded = kbl.load_encoder(folder / family)
    assert np.array_equal(vectors(loaded), vectors(small))
    fields = json.loads((folder / family / "config.json").read_text())
    print(f"{fields['model_type']:>12}: {loaded.count_params():,} parameters, the same")

# %% [markdown]
# ## Google's TF1 checkpoints
#
# The zip files of [google-research/bert](https://github.com/google-research/bert) hold
# `bert_config.json`, `vocab.txt` and `bert_model.ckpt` in parts. One like that, of a
# small BERT, by Google's names of its variables:

# %%
bert = kbl.encoder(
    kbl.EncoderConfig.named(
        "bert_tiny_uncased",
        vocabulary_size=preprocessor.tokenizer.vocabulary_size(),
        activation="gelu_tanh",  # Google's GELU
    )
)
GOOGLE = {
    "blocks/block_": "encoder/layer_",
    "attention/output_dense": "attention/output/dense",
    "attention_norm": "attention/output/LayerNorm",
    "attention/query": "attention/self/query",
    "attention/key": "attention/self/key",
    "attention/value": "attention/self/value",
    "feed_forward/intermediate_dense": "intermediate/dense",
    "feed_forward/output_dense": "output/dense",
    "output_norm": "output/LayerNorm",
    "layer_norm": "LayerNorm",
    "token_embedding/embeddings": "word_embeddings",
    "segment_embedding/embeddings": "token_type_embeddings",
    "position_embedding/embeddings": "position_embeddings",
}
variables = {}
for weight in bert.weights:
    name = weight.path
    for ours, googles in GOOGLE.items():
        name = name.replace(ours, googles)
    variables[f"bert/{name}"] = weight.numpy()

google = folder / "uncased_L-2_H-128_A-2"
google.mkdir()
tf.raw_ops.SaveV2(
    prefix=str(google / "bert_model.ckpt"),
    tensor_names=list(variables),
    shape_and_slices=[""] * len(variables),
    tensors=list(variables.values()),
)
config = kbl.EncoderConfig.named("bert_tiny_uncased")
(google / "bert_config.json").write_text(
    json.dumps(
        {
            "vocab_size": preprocessor.tokenizer.vocabulary_size(),
            "hidden_size": config.hidden_dim,
            "num_hidden_layers": config.num_layers,
            "num_attention_heads": config.num_heads,
            "intermediate_size": config.intermediate_dim,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
            "max_position_embeddings": config.max_sequence_length,
            "type_vocab_size": config.num_segments,
            "initializer_range": 0.02,
        }
    )
)
(google / "vocab.txt").write_text("\n".join(preprocessor.tokenizer.get_vocabulary()))

# %%
loaded = kbl.load_encoder(google)
rows = kbl.load_preprocessor(google)(texts)
assert np.array_equal(loaded(rows)["pooled_output"], bert(rows)["pooled_output"])
print(*sorted(path.name for path in google.iterdir()))
print(kbl.load_tokenizer(google)(texts))

# %% [markdown]
# Hugging Face says `"gelu"` and means the exact function; Google's code says `"gelu"`
# and computes the approximation by tanh. The loader knows which is meant.
#
# ## SavedModels
#
# TF Hub's BERTs are pairs of SavedModels: one from strings to ids, one from ids to
# vectors. `export_tf_hub` writes such a pair; the second one is a source.

# %%
kbl.serving.export_tf_hub(bert, kbl.load_preprocessor(google), folder / "hub")
loaded = kbl.load_encoder(folder / "hub" / "encoder")
assert np.array_equal(loaded(rows)["pooled_output"], bert(rows)["pooled_output"])

# %% [markdown]
# ## KerasHub
#
# A backbone of KerasHub goes in and out as an object (`from_keras_hub`,
# `to_keras_hub`); the directory of a preset is a source behind `keras-hub://`.

# %%
backbone = kbl.to_keras_hub(bert)
backbone.save_to_preset(str(folder / "preset"))
loaded = kbl.load_encoder(f"keras-hub://{folder / 'preset'}")
assert np.array_equal(loaded(rows)["pooled_output"], bert(rows)["pooled_output"])
print(type(backbone).__name__, "and back")

# %% [markdown]
# ## From any form to any other
#
# `convert` reads what the functions above read, and writes one of four forms, with the
# head and the tokenizer where the form has them.

# %%
for form in ("hugging_face", "keras", "saved_model", "keras_hub"):
    source = google if form == "keras_hub" else folder / "weather"
    path = kbl.convert(source, folder / "converted" / form, form=form)
    print(f"{form:>12}: {sorted(x.name for x in path.iterdir())}")

# %% [markdown]
# In a shell it is
#
# ```
# keras-bert-lite summary hf://google-bert/bert-base-uncased
# keras-bert-lite convert uncased_L-2_H-128_A-2 my_bert
# keras-bert-lite convert my_bert served --form saved_model
# ```
#
# Half as large: `dtype="float16"` stores Hugging Face's weights so. They are loaded as
# float32, rounded.

# %%
for dtype in ("float32", "float16"):
    path = kbl.convert(google, folder / dtype, dtype=dtype)
    size = (path / "model.safetensors").stat().st_size
    stored = np.array(kbl.load_encoder(path)(rows)["pooled_output"])
    difference = np.abs(stored - bert(rows)["pooled_output"]).max()
    print(f"{dtype}: {size / 1e6:.2f} MB, largest difference {difference:.1e}")

# %% [markdown]
# ## What is refused
#
# A checkpoint that does not fit is refused before any weight is assigned, by a message
# that says what was found. Nothing starts from random weights without a word.


# %%
def refused(source, load=kbl.load_encoder):
    try:
        load(source)
    except ValueError as error:
        print(str(error).replace(f"{folder}/", ""), end="\n\n")
    else:
        raise AssertionError(f"{source} was loaded")


def changed(name, **fields):
    """A copy of the small BERT's directory with another config.json."""
    path = folder / name
    shutil.copytree(folder / "bert", path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **fields}))
    return path


refused("bert_base")  # no such directory, and no name that comes with the package
refused(changed("decoder", is_decoder=True))
refused(changed("relative", position_embedding_type="relative_key"))
refused(changed("gpt", model_type="gpt2"))
refused(changed("deeper", num_hidden_layers=3))
refused(changed("wider", hidden_size=48, num_attention_heads=3))

# %% [markdown]
# Pickles run code when they are opened, so they are not; the message has what converts
# them. A truncated file is told from a whole one.

# %%
pickled = changed("pickled")
(pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
refused(pickled)

cut = changed("cut")
weights = (cut / "model.safetensors").read_bytes()
(cut / "model.safetensors").write_bytes(weights[: len(weights) // 2])
refused(cut)

refused(folder / "bert", kbl.load_tokenizer)  # which was saved without a tokenizer

# %% [markdown]
# ## From here
#
# What was loaded is a plain `keras.Model`. `kbl.encoder_of(model)` is the encoder of a
# model with a head; `kbl.surgery` has `add_tokens`, `resize` (more positions) and
# `keep_layers` (fewer). [Classify text](01_classify_text.ipynb) goes on with training,
# [Many languages](13_many_languages.ipynb) shows the other kinds of tokenizers.

# %%
longer = kbl.surgery.resize(bert, max_sequence_length=1024, positions="interpolate")
shorter = kbl.surgery.keep_layers(encoder, [0, 2, 4])
print(f"{bert.count_params():,} and {longer.count_params():,} parameters,", end=" ")
print(f"{encoder.count_params():,} and {shorter.count_params():,}")
