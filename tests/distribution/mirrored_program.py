"""Trains under `MirroredStrategy` on two logical CPUs, and prints what comes out."""

import contextlib
import json
import sys
from pathlib import Path

import keras
import tensorflow as tf

import keras_bert_lite as kbl
from tests import tiny

LABELS = [0, 1, 1, 0]
SIZES = {"num_layers": 1, "dropout": 0.0, "attention_dropout": 0.0}


def fitted(scope):
    """Returns the losses of two epochs, with gradients that are clipped."""
    keras.utils.set_random_seed(0)
    with scope:
        model = tiny.classifier(initializer_range=0.3, **SIZES)
        optimizer = kbl.optimizers.bert_adamw(None, 1e-2, clip_norm=0.01)
        kbl.compile(model, optimizer)
    rows = {"text": tiny.TEXTS, "label": LABELS}
    data = kbl.text_dataset(rows, tiny.preprocessor(), batch_size=4)
    return model.fit(data.repeat(3), epochs=2, verbose=0, shuffle=False).history["loss"]


def pretrained(strategy, directory):
    """Returns the losses of a run of pretraining under a strategy."""
    text = directory / "text.txt"
    text.write_text("\n\n".join([f"{x}\n{x}" for x in tiny.TEXTS if x] * 8))
    kbl.pretraining.write_pretraining_data(
        text, directory / "data", tiny.preprocessor(), show_progress=False
    )
    with strategy.scope():
        model = kbl.masked_lm(tiny.encoder(**SIZES))
        model = kbl.pretraining.masked_positions_model(model)
        run = [model, directory / "data", directory / "run", 4]
        given = {"save_every": 2, "learning_rate": 1e-2, "verbose": 0}
        refused = refusal(kbl.pretraining.pretrain, *run, batch_size=5, **given)
        history = kbl.pretraining.pretrain(*run, batch_size=4, **given)
    return history.history["loss"], refused


def options():
    """Yields what must be refused under the strategy, by the name of the option."""
    adam = keras.optimizers.Adam(global_clipnorm=1.0)
    yield "steps_per_execution", {"steps_per_execution": 2}
    yield "jit_compile", {"jit_compile": True}
    yield "global_clipnorm", {"optimizer": adam}
    accumulating = kbl.optimizers.bert_adamw(9, accumulate=3)
    yield "gradient_accumulation_steps", {"optimizer": accumulating}


def refusal(call, *arguments, **options):
    """Returns the message of what a call raises."""
    try:
        call(*arguments, **options)
    except (NotImplementedError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main(directory):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    report = {}
    report["alone"] = fitted(contextlib.nullcontext())
    report["replicated"] = fitted(strategy.scope())
    report["pretrain"], report["batch_size"] = pretrained(strategy, directory)
    with strategy.scope():
        model = tiny.classifier(**SIZES)
        for name, given in options():
            report[name] = refusal(kbl.compile, model, **given)
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
