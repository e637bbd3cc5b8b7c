"""Vectors of SavedModels that multiply in bfloat16 and in int8, beside float32's.

    python -m benchmarks.compute_types --data DATA

exports MiniLM and the shipped encoder as sentence encoders: in float32, with `compute`
and `storage` bfloat16, and with `int8=True`, calibrated on 300 texts of SST-2's
training set. The cosines, mean and least, are those of a text's vectors with float32's,
on STS-B's development sentences and on lines in eight languages, which are quite unlike
SST-2's texts: "int8, mixed" is calibrated on 150 texts of SST-2 and 150 other such
lines. Writes `results/compute_types.json`; the times are in `benchmarks.inference`.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import keras_bert_lite as kbl
from benchmarks.inference.environment import environment
from benchmarks.inference.models import minilm

RESULTS = Path(__file__).parent / "results" / "compute_types.json"
ENCODERS = {"MiniLM": minilm, "bert_mini_books": lambda: "bert_mini_books"}
CALIBRATION = 300
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


def measure(source: Any, data: Path) -> dict[str, Any]:
    rows = list(kbl.data.read_csv(data / "glue" / "SST-2" / "train.tsv"))
    texts = [row["sentence"] for row in rows]
    compared, lines = texts_of(data)
    with tempfile.TemporaryDirectory() as folder:
        paths = exports(sentence_model(source), Path(folder), texts, lines)
        sides = {name: served(path) for name, path in paths.items()}
        found: dict[str, dict] = {
            name: {"megabytes": round(megabytes(path), 2)}
            for name, path in paths.items()
        }
        for corpus, x in compared.items():
            made = {name: vectors(side, x) for name, side in sides.items()}
            for name, own in made.items():
                found[name][corpus] = cosines(own, made[BASE])
    return found


def markdown(data: dict[str, Any]) -> str:
    corpora = ("STS-B", "eight languages")
    lines = ["| | MB | cosine on STS-B | on eight languages |", "|---|---|---|---|"]
    for encoder, forms in data["encoders"].items():
        for name, x in forms.items():
            cells = [f"{encoder}, {name}", str(x["megabytes"])]
            cells += ["{mean}, {least}".format(**x[corpus]) for corpus in corpora]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compute_types")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=[*ENCODERS])
    options = parser.parse_args()
    found = {name: measure(ENCODERS[name](), options.data) for name in options.encoders}
    record = {"environment": environment(), "encoders": found}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(markdown(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
