"""Measures all cases and writes their file."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.inference.environment import environment
from benchmarks.long_rows.process import Side, Taken
from benchmarks.long_rows.report import markdown
from benchmarks.long_rows.sides import CHECKPOINTED, READING, STEP

RESULTS = Path(__file__).parents[1] / "results" / "long_rows.json"
HALF = (4096, 2048, 1024, 1024)  # fill 0.5
DOCUMENTS = {  # of a step; transformers has no memory here for more
    "3 documents, 520 to 1,800": (1800, 900, 520),
    "1 document of 3,900": (3900,),
}
ROUNDS = 3
PARTS = ("reading", "step", "memory")
MEMORY = {
    "1 x 4,096": ((4096,), READING),
    "1 x 8,192": ((8192,), READING),
    "4 rows up to 4,096, fill 0.5": (HALF, READING),
    "a step with gradient checkpointing, 1 x 8,192": ((8192,), CHECKPOINTED),
}
US, THEM = "ours", "transformers"


def times(
    cases: dict[str, tuple[int, ...]], sides: dict[str, Side], rounds: int
) -> dict[str, Any]:
    """Lets sides take turns; see `compared`."""
    found: dict[str, Any] = {}
    for case, lengths in cases.items():
        taken: dict[str, list[Taken]] = {x: [] for x in sides}
        for turn in range(rounds + 1):
            for name in list(sides)[:: 1 if turn % 2 else -1]:
                taken[name].append(sides[name].run(lengths, turn))
        found[case] = compared(taken)
        print(case, found[case], flush=True)
    return found


def compared(taken: dict[str, list[Taken]]) -> dict[str, Any]:
    """Returns the medians of each side, and the others' by ours."""
    medians = {  # the first traces
        name: [median(x) for x in zip(*made[1:], strict=True)][:2]
        for name, made in taken.items()
    }
    return {
        name: {
            "seconds": round(clock, 3),
            "clock": round(clock / medians[US][0], 2),
            "cpu": round(cpu / medians[US][1], 2),
        }
        for name, (clock, cpu) in medians.items()
    }


def memory() -> dict[str, dict[str, list[float]]]:
    """Returns the GiB of each side, above and in all; of ours for the steps."""
    found: dict[str, dict[str, list[float]]] = {}
    for case, (lengths, kind) in MEMORY.items():
        found[case] = {}
        for name in (US, THEM) if kind == READING else (US,):
            side = Side(name, kind)
            found[case][name] = [round(x, 2) for x in side.run(lengths, 0)[2:]]
            side.close()
        print(case, found[case], flush=True)
    return found


def lengths_of(data: Path) -> dict[str, tuple[int, ...]]:
    """Returns the lengths of texts, with special tokens."""
    import keras_bert_lite as kbl

    texts = kbl.load_preprocessor("bert_mini_books", sequence_length=512)

    def count(rows: list[dict], *names: str) -> tuple[int, ...]:
        columns = [[row[name] for row in rows] for name in names]
        given = columns[0] if len(columns) == 1 else tuple(columns)
        mask = np.asarray(texts(given)["padding_mask"])
        return tuple(int(x) for x in mask.sum(1))

    sst2 = list(kbl.data.read_csv(data / "glue" / "SST-2" / "dev.tsv"))[:32]
    mrpc = list(kbl.data.read_csv(data / "glue" / "MRPC" / "dev.tsv"))[:16]
    first, second = list(mrpc[0])[-2:]
    return {"SST-2": count(sst2, "sentence"), "MRPC": count(mrpc, first, second)}


def reading(data: Path, zeromodels: str | None, rounds: int) -> dict[str, Any]:
    """Returns the times of encoding; ZeroModels' of the short texts."""
    sides = {name: Side(name, READING) for name in (US, THEM)}
    others = (
        {"zeromodels": Side("zeromodels", READING, zeromodels)} if zeromodels else {}
    )
    long = {"1 x 4,096": (4096,), "4 rows up to 4,096, fill 0.5": HALF}
    texts = {"32 texts of SST-2": lengths_of(data)["SST-2"]}
    found = times(texts, {**sides, **others}, rounds)
    close(others)
    found |= times(long, sides, rounds)
    close(sides)
    return found


def steps(data: Path, rounds: int) -> dict[str, Any]:
    sides = {name: Side(name, STEP) for name in (US, THEM)}
    found = times({"16 pairs of MRPC": lengths_of(data)["MRPC"]}, sides, rounds)
    close(sides)
    for case, lengths in DOCUMENTS.items():  # memory has no room for both at once
        taken = {}
        for name in (US, THEM):
            side = Side(name, STEP)
            taken[name] = [side.run(lengths, turn) for turn in range(rounds + 1)]
            side.close()
        found[case] = compared(taken)
        print(case, found[case], flush=True)
    return found


def close(sides: dict[str, Side]) -> None:
    for side in sides.values():
        side.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_rows")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--zeromodels", help="the interpreter that has ZeroModels")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    data, rounds = options.data, options.rounds
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "reading": lambda: reading(data, options.zeromodels, rounds),
        "step": lambda: steps(data, rounds),
        "memory": memory,
    }
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in options.parts:
        record["environment"] = environment()
        record[part] = parts[part]()
        record["lengths"] = {x: sorted(y) for x, y in lengths_of(data).items()}
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(markdown(record))


if __name__ == "__main__":
    main()
