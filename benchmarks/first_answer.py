"""From `pip install` to the first answer, in an empty environment.

    python -m benchmarks.first_answer

makes a virtual environment, installs this checkout into it as the README says, and runs
two programs in it: one that loads the encoder that comes with the package and prints
the size of a text's vector, and the README's ten lines, which also train and export.
The first runs twice, because the first import compiles Python's files. Time goes by the
clock, from the start of the process; the CPU's is beside it. pip may find the packages
in its cache; where it does not, their download comes on top. Writes
`results/first_answer.json`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.inference.environment import environment

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "first_answer.json"
VECTOR = """
import keras_bert_lite as kbl

encoder = kbl.load_encoder("bert_mini_books", pooling=None)
model = kbl.sentence_encoder(encoder, pooling="mean")
served = kbl.with_text(model, kbl.load_preprocessor("bert_mini_books"))
print(served.predict(["They were delighted."])["sentence_embedding"].shape)
"""


def ten_lines() -> str:
    """Returns the first program of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def run(command: list[str], folder: Path) -> dict[str, float]:
    """Runs a command and returns its seconds."""
    clock, cpu = time.perf_counter(), os.times()
    subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    now = os.times()
    used = now.children_user - cpu.children_user
    used += now.children_system - cpu.children_system
    return {"clock": round(time.perf_counter() - clock, 1), "cpu": round(used, 1)}


def measure(folder: Path) -> dict[str, Any]:
    python = str(folder / "environment" / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    return {
        "pip install": run(
            [python, "-I", "-m", "pip", "install", *constraints, "."], ROOT
        ),
        "first vector": run([python, "-I", "-c", VECTOR], folder),
        "first vector, again": run([python, "-I", "-c", VECTOR], folder),
        "the README's ten lines": run([python, "-I", "-c", ten_lines()], folder),
    }


def measure_beside(requirements: Path, folder: Path) -> dict[str, Any]:
    """Installs the package where its dependencies are, as in Colab.

    There are no constraints, so pip decides which packages it replaces. Then the
    demonstration runs in an empty folder.
    """
    scripts = folder / "environment" / "bin"
    python = str(scripts / "python")
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    pip = [python, "-I", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--requirement", requirements.resolve()], check=True)
    before = packages(python)
    (folder / "empty").mkdir()
    steps = {
        "pip install": run([*pip, "."], ROOT),
        "keras-bert-lite demo": run(
            [str(scripts / "keras-bert-lite"), "demo"], folder / "empty"
        ),
    }
    after = packages(python)
    return {
        "steps": steps,
        "replaced": sorted(x for x in before if after.get(x) != before[x]),
        "added": sorted(set(after) - set(before)),
    }


def packages(python: str) -> dict[str, str]:
    """Returns the versions of an environment's packages by name."""
    command = [python, "-I", "-m", "pip", "list", "--format=json"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return {x["name"]: x["version"] for x in json.loads(listed)}


def markdown(data: dict[str, Any]) -> str:
    lines = ["| | seconds | of CPU |", "|---|---|---|"]
    steps = data["steps"].items()
    lines += [f"| {step} | {x['clock']} | {x['cpu']} |" for step, x in steps]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_answer")
    parser.add_argument(
        "--beside",
        type=Path,
        help="install beside the packages of this file, run the demonstration, say "
        "what pip replaced and added, and write no results",
    )
    arguments = parser.parse_args()
    if arguments.beside:
        with tempfile.TemporaryDirectory() as folder:
            record = measure_beside(arguments.beside, Path(folder))
        print(markdown(record))
        print("replaced:", *record["replaced"] or ["nothing"])
        print("added:", *record["added"])
        return
    surroundings = environment()
    with tempfile.TemporaryDirectory() as folder:
        steps = measure(Path(folder))
    record = {"environment": surroundings, "steps": steps}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(markdown(record))


if __name__ == "__main__":
    main()
