"""The forms of a model on one core and on two: first answers, memory, times.

    python -m benchmarks.forms_on_cores --data DATA

Each form of MiniLM's sentence encoder answers in fresh processes that may use one core
or two, the forms taking turns. After the imports it counts seconds from the call that
loads to the vector of one sentence, and the most memory; then it reads sentences of
SST-2 in batches, none twice: milliseconds a batch, the median. SavedModels also answer
that sentence in TensorFlow's C++ runtime, by the program of `tests/serving`, without
Python: seconds from the start of the process to its end. Writes
`results/forms_on_cores.json`.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.inference import models, workloads
from benchmarks.inference.environment import environment
from benchmarks.inference.harness import order
from benchmarks.inference.sides import ONE_THREAD, OURS, make
from benchmarks.inference.tables import table
from benchmarks.inference.worker import ENVIRONMENT, ROOT
from benchmarks.memory import peak_memory

RESULTS = ROOT / "benchmarks" / "results" / "forms_on_cores.json"
# The sides of `benchmarks.inference` that are forms of this package.
TITLES = {
    OURS: "SavedModel, float32",
    f"{OURS} bf16": "SavedModel, `compute` bfloat16",
    f"{OURS} int8": "SavedModel, int8",
    ONE_THREAD: "SavedModel, int8, `intra_op_threads=1`",
    f"{OURS} onnx fp32": "ONNX float32, `OnnxModel`",
    f"{OURS} onnx int8": "ONNX int8, `OnnxModel`",
    f"{OURS} openvino fp32": "OpenVINO float32, `OpenVinoModel`",
    f"{OURS} openvino bf16": "OpenVINO bfloat16, `OpenVinoModel`",
}
# What a form imports before it loads.
PACKAGES = {"onnx": ["onnxruntime"], "openvino": ["openvino"]}
SAVED_MODEL = ["tensorflow", "tensorflow_text"]
CORES = (1, 2)
BATCHES = {1: 100, 8: 30, 32: 10}  # how many, by size
PROGRAM = ROOT / "tests" / "serving" / "run_saved_model.c"
OPERATIONS = ("_fast_bert_normalizer.so", "_fast_wordpiece_tokenizer.so")


def engine(form: str) -> str:
    """Returns what runs a form: `onnx`, `openvino`, or nothing for TensorFlow."""
    return next((x for x in PACKAGES if x in form), "")


def answer(form: str, folder: Path, texts: list[str]) -> dict[str, Any]:
    """Loads a form and reads texts with it; runs in a process of its own."""
    for name in PACKAGES.get(engine(form), SAVED_MODEL):
        importlib.import_module(name)
    if engine(form):
        importlib.import_module("keras_bert_lite.serving")
    side = make(form, models.minilm(), folder)
    start = time.perf_counter()
    side.load()
    side.encode(texts[:1])
    record: dict[str, Any] = {"first_answer_seconds": time.perf_counter() - start}
    record["milliseconds"] = {
        size: median(timed(side, batch) for batch in batches(texts[1:], size, count))
        for size, count in BATCHES.items()
    }
    return {**record, "peak_memory": peak_memory()}


def batches(texts: list[str], size: int, count: int) -> list[list[str]]:
    return [texts[i * size : (i + 1) * size] for i in range(count)]


def timed(side: Any, batch: list[str]) -> float:
    start = time.perf_counter()
    side.encode(batch)
    return 1e3 * (time.perf_counter() - start)


def in_new_process(
    form: str, folder: Path, texts: list[str], cores: int
) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, "--form", form, str(folder)]
    return json.loads(run(command, json.dumps(texts), cores).strip().split("\n")[-1])


def run(command: list[str], text: str, cores: int) -> str:
    """Runs a command on so many cores."""
    kept = sorted(os.sched_getaffinity(0))[:cores]
    threads = {x: str(cores) for x in ENVIRONMENT if x.endswith("_THREADS")}
    return subprocess.run(
        ["taskset", "--cpu-list", ",".join(map(str, kept)), *command],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env={**os.environ, **ENVIRONMENT, **threads, "BENCHMARK_THREADS": str(cores)},
    ).stdout


def build_program(folder: Path) -> Path:
    import tensorflow as tf

    path, library = folder / "run_saved_model", tf.sysconfig.get_lib()
    command = ["gcc", "-D_GNU_SOURCE", "-O1", str(PROGRAM), "-o", str(path)]
    command += [f"-I{tf.sysconfig.get_include()}", f"-L{library}"]
    command += ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
    subprocess.run([*command, f"-Wl,-rpath,{library}"], check=True)
    return path


def program_seconds(program: Path, export: Path, text: str, cores: int) -> float:
    """Returns how long the C program takes for one text."""
    from tensorflow.core.protobuf import saved_model_pb2

    content = (export / "saved_model.pb").read_bytes()
    graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0]
    signature = graph.signature_def["serving_default"]
    names = [signature.inputs["text"].name, signature.outputs["pooled_output"].name]
    spec = importlib.util.find_spec("tensorflow_text")
    operations = Path(spec.origin).parent / "python" / "ops"
    libraries = [str(operations / x) for x in OPERATIONS]
    start = time.perf_counter()
    run([str(program), str(export), *names, *libraries], f"{text}\n", cores)
    return time.perf_counter() - start


def prepare(form: str, folder: Path, calibration: Path) -> int:
    """Writes the files of a form; returns their bytes."""
    folder.mkdir(parents=True)
    side = make(form, models.minilm(), folder)
    side.calibration = calibration
    side.prepare()
    return sum(x.stat().st_size for x in folder.rglob("*") if x.is_file())


def measure(texts: list[str], calibration: Path, work: Path, rounds: int) -> dict:
    folders = {form: work / form.replace(" ", "_") for form in TITLES}
    forms: dict[str, Any] = {
        form: {"bytes": prepare(form, folder, calibration), "runs": []}
        for form, folder in folders.items()
    }
    program = build_program(work)
    for turn in range(rounds):
        for cores in CORES:
            for form in order([*TITLES], turn):
                made = in_new_process(form, folders[form], texts, cores)
                if not engine(form):
                    export = folders[form] / "model" / "1"
                    seconds = program_seconds(program, export, texts[0], cores)
                    made["program_seconds"] = seconds
                forms[form]["runs"].append({"cores": cores, **made})
                print(form, cores, made, file=sys.stderr, flush=True)
    return forms


HEAD = ["", "cores", "MB", "first answer, s", "in C++, s", "memory, MiB"]
HEAD += [f"batch {size}, ms" for size in BATCHES]


def markdown(data: dict[str, Any]) -> str:
    rows = []
    for name, form in data["forms"].items():
        for cores in CORES:
            runs = [x for x in form["runs"] if x["cores"] == cores]
            cells = [TITLES[name], str(cores), f"{form['bytes'] / 1e6:.0f}"]
            cells.append(f"{median(x['first_answer_seconds'] for x in runs):.2f}")
            programs = [x["program_seconds"] for x in runs if "program_seconds" in x]
            cells.append(f"{median(programs):.2f}" if programs else "")
            cells.append(f"{median(x['peak_memory'] for x in runs) / 2**20:,.0f}")
            times = [x["milliseconds"] for x in runs]
            cells += [f"{median(x[str(size)] for x in times):.1f}" for size in BATCHES]
            rows.append(cells)
    return table(HEAD, rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms_on_cores")
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--form", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.form:
        form, folder = options.form
        print(json.dumps(answer(form, Path(folder), json.load(sys.stdin))))
        return
    about = environment()
    count = 1 + max(size * number for size, number in BATCHES.items())
    texts = workloads.sst2(options.data, count)
    with tempfile.TemporaryDirectory(prefix="forms-") as folder:
        work = Path(folder)
        calibration = workloads.write_calibration(options.data, work / "texts.txt")
        forms = measure(texts, calibration, work, options.rounds)
    results = {"environment": about, "forms": forms}
    options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
