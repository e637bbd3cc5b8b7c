"""SavedModels that multiply in bfloat16 and in int8 beside the one in float32.

    python -m benchmarks.compute_types --data DATA

exports MiniLM and the shipped encoder as sentence encoders: in float32, with
`compute="bfloat16"`, and with `int8=True`, calibrated on 300 texts of SST-2's training
set. All read SST-2's other training texts, each batch once, and take turns; the times
are ratios of the medians, by float32's, of CPU and on the clock. The cosines, mean and
least, are those of the vectors of a text with float32's, on STS-B's development
sentences and on lines in eight languages, which are quite unlike SST-2's texts: "int8,
mixed" is calibrated on 150 texts of SST-2 and 150 other such lines. Writes
`results/compute_types.json`.
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

RESULTS = Path(__file__).parent / "results" / "compute_types.json"
ENCODERS = {"MiniLM": minilm, "bert_mini_books": lambda: "bert_mini_books"}
CALIBRATION = 300
BATCHES = {1: 300, 8: 60, 32: 20}  # of a turn, by size
CHUNK, LINES = 64, 200  # LINES: of each language
BASE = "float32"
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


def vectors(side: Vectors, texts: list[str]) -> np.ndarray:
    parts = [side(texts[i : i + CHUNK]) for i in range(0, len(texts), CHUNK)]
    return np.concatenate(parts)


def cosines(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    found = (a * b).sum(1) / norms
    return {
        "texts": len(found),
        "mean": round(float(found.mean()), 5),
        "least": round(float(found.min()), 5),
    }


def times(
    sides: dict[str, Vectors], stream: Iterator[str], size: int, rounds: int
) -> dict[str, dict[str, float]]:
    """Returns the ratios of time; no batch is read twice by one side."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        count = BATCHES[size]
        batches = [[next(stream) for _ in range(size)] for _ in range(count)]
        for name in list(sides)[:: 1 if turn % 2 else -1]:
            clock, cpu = time.perf_counter(), time.process_time()
            for batch in batches:
                sides[name](batch)
            taken = time.process_time() - cpu, time.perf_counter() - clock
            if turn:  # the first traces, and fills oneDNN's cache
                seconds[name].append(taken)
    medians = {
        name: [median(x) for x in zip(*taken, strict=True)]
        for name, taken in seconds.items()
    }
    return {
        name: {
            kind: round(x / base, 3)
            for kind, x, base in zip(("cpu", "clock"), own, medians[BASE], strict=True)
        }
        for name, own in medians.items()
    }


def texts_of(data: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Returns the texts that are compared, and other lines in eight languages."""
    pairs = list(kbl.data.read_csv(data / "glue" / "STS-B" / "dev.tsv"))
    files = [
        path.read_text(encoding="utf-8").splitlines()
        for path in sorted((data / "multilingual_lines").glob("*.txt"))
    ]
    compared, others = (
        [line for lines in files for line in lines[part]]
        for part in (slice(LINES), slice(LINES, None))
    )
    both = [x[name] for x in pairs for name in ("sentence1", "sentence2")]
    return {"STS-B": both, "eight languages": compared}, others


def exports(
    model: Any, folder: Path, texts: list[str], lines: list[str]
) -> dict[str, Path]:
    own = texts[:CALIBRATION]
    some = np.random.default_rng(0).permutation(len(lines))[: CALIBRATION // 2]
    mixed = [*own[: CALIBRATION // 2], *(lines[i] for i in some)]
    forms: dict[str, dict[str, Any]] = {
        BASE: {},
        "bfloat16": {"compute": "bfloat16", "storage": "bfloat16"},
        "int8": {"int8": True, "calibration": own},
        "int8, mixed": {"int8": True, "calibration": mixed},
    }
    return {
        name: kbl.export_saved_model(model, folder / name, **options)
        for name, options in forms.items()
    }


def measure(source: Any, data: Path, rounds: int) -> dict[str, Any]:
    rows = list(kbl.data.read_csv(data / "glue" / "SST-2" / "train.tsv"))
    texts = [row["sentence"] for row in rows]
    compared, lines = texts_of(data)
    with tempfile.TemporaryDirectory() as folder:
        paths = exports(sentence_model(source), Path(folder), texts, lines)
        sides = {name: served(path) for name, path in paths.items()}
        timed = {name: side for name, side in sides.items() if "," not in name}
        stream = iter(texts[CALIBRATION:])
        ratios = {size: times(timed, stream, size, rounds) for size in BATCHES}
        found: dict[str, dict] = {
            name: {"megabytes": round(megabytes(path), 2)}
            for name, path in paths.items()
        }
        for corpus, x in compared.items():
            made = {name: vectors(side, x) for name, side in sides.items()}
            for name, own in made.items():
                found[name][corpus] = cosines(own, made[BASE])
    for name, of_side in found.items():
        of_side["time"] = {size: x[name] for size, x in ratios.items() if name in x}
    return found


def markdown(data: dict[str, Any]) -> str:
    sizes = " | ".join(f"time at batch {x}" for x in BATCHES)
    head = ("| | MB", sizes, "cosine on STS-B", "on eight languages |")
    lines = [" | ".join(head), "|---" * (5 + len(BATCHES) - 1) + "|"]
    for encoder, forms in data["encoders"].items():
        for name, x in forms.items():
            cells = [f"{encoder}, {name}", x["megabytes"]]
            cells += [
                "{cpu}, {clock}".format(**x["time"][size]) if x["time"] else ""
                for size in map(str, BATCHES)
            ]
            cells += [
                "{mean}, {least}".format(**x[corpus])
                for corpus in ("STS-B", "eight languages")
            ]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compute_types")
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
