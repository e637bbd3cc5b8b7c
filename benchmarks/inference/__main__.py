"""The command line; see the package's docstring."""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.inference import load_time, models, report, workloads
from benchmarks.inference.environment import environment
from benchmarks.inference.run import Sides
from benchmarks.inference.sides import LIMIT, OURS, SIDES, peers

RESULTS = Path(__file__).parents[1] / "results"
# Sides that leave a SavedModel, whose loading and memory are measured.
WITH_SAVED_MODEL = (OURS, "keras_hub 128", "keras_hub 512")
LOAD_TEXTS = 32


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.inference",
        description="Compares inference with the peers', strings to vectors.",
    )
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--models", type=_several(models.MODELS))
    parser.add_argument("--corpora", type=_several(workloads.CORPORA))
    parser.add_argument("--batches", type=lambda x: [int(i) for i in x.split(",")])
    parser.add_argument(
        "--only", action="append", choices=SIDES, help="this peer; may be repeated"
    )
    parser.add_argument("--rounds", type=int, help="the most a workload")
    parser.add_argument("--seconds", type=float, help="about, a workload; 3 rounds are")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument(
        "--keep", action="store_true", help="keep the file's other records"
    )
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    options = parser.parse_args()
    quick = options.quick
    options.models = options.models or list(models.MODELS)
    options.corpora = options.corpora or list(workloads.CORPORA)
    options.batches = options.batches or ([8] if quick else list(workloads.BATCHES))
    options.rounds = options.rounds or (3 if quick else 21)
    options.seconds = options.seconds or (10.0 if quick else 180.0)
    options.loads = 1 if quick else 3
    return options


def _several(choices):
    def parse(text):
        values = text.split(",")
        if not set(values) <= set(choices):
            raise argparse.ArgumentTypeError(f"choose from {', '.join(choices)}")
        return values

    return parse


def say(message: str) -> None:
    print(time.strftime("%H:%M:%S"), message, file=sys.stderr, flush=True)


def plan(options: argparse.Namespace) -> list[tuple[str, int]]:
    """Returns corpora and batches; offline work has the largest batch only."""
    return [
        (corpus, batch)
        for corpus in options.corpora
        for batch in options.batches
        if not corpus.startswith("offline") or batch == max(options.batches)
    ]


def run_model(model: str, options: argparse.Namespace, work: Path, save) -> None:
    """Runs the workloads of a model, and saves after each."""
    folder = models.folder_of(model, work)
    longest = models.longest(folder)
    corpora = workloads.Corpora(options.data, folder / "vocab.txt", longest)
    names = [x for x in SIDES if _is_wanted(x, options.only)]
    texts = workloads.write_calibration(options.data, work / "calibration.txt")
    sides = Sides(names, folder, work / model, texts, lambda x: say(f"{model}: {x}"))
    try:
        for corpus, batch in plan(options):
            if not corpora.has(model, corpus):
                continue
            workload = corpora.workload(model, corpus, batch)
            record = sides.run(workload, options.rounds, options.seconds)
            say(f"{workload.name}: {report.brief(record)}")
            save(workloads=[record])
    finally:
        sides.close()
    exports = {
        name: work / model / name.replace(" ", "_") / "model" / "1"
        for name in WITH_SAVED_MODEL
        if name in names and name not in sides.failed
    }
    texts = corpora.workload(model, "sst2", LOAD_TEXTS).windows[0].batches[0]
    say(f"{model}: first answers")
    loads = {
        "model": model,
        "rows": len(texts),
        "weight_bytes": models.weight_bytes(folder),
        "saved_models": load_time.measure(exports, texts, options.loads),
    }
    failed = [{"model": model, "side": k, "why": v} for k, v in sides.failed.items()]
    save(loads=[loads], left_out=failed)


def _is_wanted(name: str, only: list[str] | None) -> bool:
    # transformers is what the vectors are compared with.
    return not only or name in (OURS, LIMIT, "transformers", *only)


def kept(path: Path, options: argparse.Namespace) -> dict[str, list]:
    """Returns the records of a file that this call does not make again."""
    old = json.loads(path.read_text(encoding="utf-8")) if options.keep else {}
    again = {(x, *y) for x in options.models for y in plan(options)}
    workloads = [
        x
        for x in old.get("workloads", [])
        if (x["model"], x["corpus"], x["batch"]) not in again
    ]
    others = {
        name: [x for x in old.get(name, []) if x["model"] not in options.models]
        for name in ("loads", "left_out")
    }
    return {"workloads": workloads, **others}


def main() -> None:
    options = arguments()
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "inference.json"
    results = {"environment": environment(), "quick": options.quick}
    results["environment"]["packages"] |= peers()
    results |= kept(path, options)

    def save(**records):
        for name, values in records.items():
            results[name] += values
        results["load_average_at_end"] = list(os.getloadavg())
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="inference-") as work:
        for model in options.models:
            run_model(model, options, Path(work), save)
    report.write(results, options.results)


if __name__ == "__main__":
    main()
