"""Trains on eight simulated devices under JAX, and prints what comes out.

It leaves a model for another backend: `model.keras`, and its outputs in `outputs.npz`.
"""

import json
import sys
from pathlib import Path

import jax
import keras
import numpy as np
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.distribution import setup
from tests import tiny

LABELS = ["bad", "fine"]
ROWS = {"text": tiny.TEXTS * 4, "label": [0, 1, 1, 0] * 4}
SIZES = {"vocabulary_size": 71, "num_layers": 1}


def batches(size=8, **options):
    rows = {"text": ROWS["text"], "label": [LABELS[i] for i in ROWS["label"]]}
    given = {"labels": LABELS, "batch_size": size, **options}
    return kbl.text_dataset(rows, tiny.preprocessor(), **given)


def trained():
    keras.utils.set_random_seed(0)
    model = tiny.classifier(LABELS, initializer_range=0.3, **SIZES)
    kbl.compile(model, learning_rate=1e-3)  # clips; has dropout
    return model, model.fit(batches(), epochs=2, verbose=0, shuffle=False)


def compiled(optimizer="sgd"):
    model = tiny.classifier(LABELS, **SIZES)
    kbl.compile(model, optimizer)
    return model


def refusal(call, *arguments, **options):
    """Returns the message of what a call raises."""
    try:
        call(*arguments, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def refusals(directory):
    """Yields what must be refused, by name."""
    setup()
    fit = compiled().fit
    arrays = {k: np.array(v)[:12] for k, v in tiny.preprocessor()(ROWS["text"]).items()}
    labels = np.array(ROWS["label"])[:12]
    yield "batch of arrays", refusal(fit, arrays, labels, batch_size=12, verbose=0)
    fit = compiled().fit
    yield "batch", refusal(fit, batches(12, drop_remainder=True), verbose=0)
    texts = tf.data.Dataset.from_tensor_slices((ROWS["text"], ROWS["label"])).batch(8)
    yield "strings", refusal(fit, texts, verbose=0)
    yield "check_batch", refusal(kbl.distribution.check_batch, 12)
    length = (kbl.distribution.check_batch, 8, 25, compiled())
    yield "sequence_length", refusal(*length)
    wide = {k: np.pad(x[:8], ((0, 0), (0, 24))) for k, x in arrays.items()}
    yield "long rows", refusal(compiled().fit, wide, labels[:8], verbose=0)
    short = batches().unbatch().take(12).batch(8)
    yield "last batch", refusal(compiled().fit, short, verbose=0)
    yield "model", refusal(setup, 3)
    yield "layout alone", refusal(setup, layout={"x": ()})
    setup(2, {".*token_embedding/embeddings": ("model", None)})
    yield "vocabulary", refusal(tiny.classifier, **SIZES)
    setup(2, {"query/kernel": (None, "model")})
    yield "key", refusal(compiled)
    setup()
    ids, preprocessor = tiny.classifier(**SIZES), tiny.preprocessor()
    yield "with_text", refusal(kbl.with_text, ids, preprocessor)
    yield "export_saved_model", refusal(kbl.export_saved_model, ids, directory)
    yield (
        "export_tf_hub",
        refusal(kbl.serving.export_tf_hub, ids, preprocessor, directory),
    )
    yield "finetune", refusal(kbl.finetune, "text_classification", ROWS)


def main(directory):
    report = {"alone": trained()[1].history["loss"]}
    found = setup(model=2, compilation_cache=directory / "cache")
    report["description"] = str(found)
    report["cache"] = jax.config.jax_compilation_cache_dir
    model, history = trained()
    report["devices"] = history.history["loss"]
    report["shards"] = {
        weight.path: list(weight.value.sharding.spec) for weight in model.weights
    }
    inputs = {k: np.array(v) for k, v in tiny.preprocessor()(tiny.TEXTS).items()}
    np.savez(directory / "outputs.npz", keras.ops.softmax(model(inputs)["logits"]))
    model.save(directory / "model.keras")
    report["refused"] = dict(refusals(directory))
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
