"""The SavedModel in int8 beside the one in float32: time, bytes, vectors.

    python -m benchmarks.int8 --data DATA

exports MiniLM and the shipped encoder as sentence encoders, in float32 and in int8,
calibrated on 300 texts of SST-2's training set. Both read SST-2's other training
texts, each batch once, and take turns; the times are ratios of the medians, int8 by
float32, of CPU and on the clock. The cosines are those of the two models' vectors of a
text, on STS-B's development sentences and, for texts that are quite unlike SST-2's, on
lines in eight languages. Writes `results/int8.json`.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import tensorflow as tf

import keras_bert_lite as kbl
from benchmarks.inference.environment import environment
from benchmarks.inference.models import minilm

RESULTS = Path(__file__).parent / "results" / "int8.json"
ENCODERS = {"MiniLM": minilm, "bert_mini_books": lambda: "bert_mini_books"}
CALIBRATION = 300
BATCHES = {1: 300, 8: 60, 32: 20}  # of a turn, by size
CHUNK = 64
Vectors = Callable[[list[str]], np.ndarray]


def sentence_model(source: Any) -> Any:
    encoder = kbl.load_encoder(source, pooling=None)
    model = kbl.sentence_encoder(encoder, pooling="mean")
    return kbl.with_text(model, kbl.load_preprocessor(source, sequence_length=128))


def served(path: Path) -> Vectors:
    answer = tf.saved_model.load(str(path)).signatures["serving_default"]
    return lambda x: answer(text=tf.constant(x))["sentence_embedding"].numpy()


def megabytes(path: Path) -> float:
    return sum(x.stat().st_size for x in path.rglob("*") if x.is_file()) / 1e6


def cosines(sides: dict[str, Vectors], texts: list[str]) -> dict[str, float]:
    parts = [texts[i : i + CHUNK] for i in range(0, len(texts), CHUNK)]
    a, b = (np.concatenate([side(x) for x in parts]) for side in sides.values())
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    found = (a * b).sum(1) / norms
    return {
        "texts": len(texts),
        "mean": round(float(found.mean()), 5),
        "least": round(float(found.min()), 5),
    }


def times(
    sides: dict[str, Vectors], stream: Iterator[str], size: int, rounds: int
) -> dict[str, float]:
    """Returns the ratios of time; no batch is read twice by one side."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds + 1):
        count = BATCHES[size]
        batches = [[next(stream) for _ in range(size)] for _ in range(count)]
        for name in list(sides)[:: 1 if turn % 2 else -1]:
            clock, cpu = time.perf_counter(), time.process_time()
            for batch in batches:
                sides[name](batch)
            taken = time.perf_counter() - clock, time.process_time() - cpu
            if turn:  # the first traces, and fills oneDNN's cache
                for kind, value in zip(("clock", "cpu"), taken, strict=True):
                    seconds.setdefault((kind, name), []).append(value)
    return {
        kind: round(median(seconds[kind, "int8"]) / median(seconds[kind, "float32"]), 3)
        for kind in ("cpu", "clock")
    }


def texts_of(data: Path) -> dict[str, list[str]]:
    pairs = list(kbl.data.read_csv(data / "glue" / "STS-B" / "dev.tsv"))
    lines = [
        line
        for path in sorted((data / "multilingual_lines").glob("*.txt"))
        for line in path.read_text(encoding="utf-8").splitlines()[:200]
    ]
    both = [x[name] for x in pairs for name in ("sentence1", "sentence2")]
    return {"STS-B": both, "eight languages": lines}


def measure(source: Any, data: Path, rounds: int) -> dict[str, Any]:
    rows = list(kbl.data.read_csv(data / "glue" / "SST-2" / "train.tsv"))
    texts = [row["sentence"] for row in rows]
    model = sentence_model(source)
    with tempfile.TemporaryDirectory() as folder:
        options = {"int8": True, "calibration": texts[:CALIBRATION]}
        paths = {
            "float32": kbl.export_saved_model(model, Path(folder) / "float32"),
            "int8": kbl.export_saved_model(model, Path(folder) / "int8", **options),
        }
        bytes_ = {name: round(megabytes(path), 2) for name, path in paths.items()}
        sides = {name: served(path) for name, path in paths.items()}
        stream = iter(texts[CALIBRATION:])
        ratios = {size: times(sides, stream, size, rounds) for size in BATCHES}
        found = {k: cosines(sides, x) for k, x in texts_of(data).items()}
    return {"megabytes": bytes_, "time": ratios, "cosine": found}


def markdown(data: dict[str, Any]) -> str:
    lines = ["| | " + " | ".join(data["encoders"]) + " |"]
    lines.append("|---" * (1 + len(data["encoders"])) + "|")

    def add(name: str, value: Callable[[dict], str]) -> None:
        cells = [value(x) for x in data["encoders"].values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")

    for size in map(str, BATCHES):
        add(
            f"time at batch {size}, CPU and clock",
            lambda x, s=size: f"{x['time'][s]['cpu']}, {x['time'][s]['clock']}",
        )
    add("MB, int8 of float32", lambda x: "{int8} of {float32}".format(**x["megabytes"]))
    for name in ("STS-B", "eight languages"):
        add(
            f"cosine on {name}, mean and least",
            lambda x, n=name: "{mean}, {least}".format(**x["cosine"][n]),
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.int8")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=[*ENCODERS])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    found = {
        name: measure(ENCODERS[name](), options.data, options.rounds)
        for name in options.encoders
    }
    record = {"environment": environment(), "encoders": found}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(markdown(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
