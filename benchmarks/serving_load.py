"""Load on a served model: 16 concurrent callers, every answer checked.

    python benchmarks/serving_load.py models/sentiment --seconds 600 --json load.json

runs the tests' stand-in for TensorFlow Serving (tests/serving/prediction_server.py)
on a model directory, in a process of its own. Callers send requests of 1 to 8 texts
of mixed lengths, a share of them wrong on purpose. Each answer is compared with what
the server gave to each of its texts alone, before; each wrong request must be
refused. With `--compare OTHER` (the same model, exported in another way) a second
server runs, which must give the same answers; the two take turns, a second each, and
what counts is the median of the ratios of neighbouring turns, above 1 where the
first directory is faster. Requests/s mean little by themselves: callers and server
share the machine, and the server's calls go through Python.

    python benchmarks/serving_load.py models/minilm --int8 texts.txt --json load.json

first exports MiniLM's sentence encoder there in int8, calibrated on those texts. A
text's numbers in int8 depend a little on the batch around it, where sums of float32
end on either side of a rounding; so its answers may differ by INT8_TOLERANCE, and
`largest_difference` says by how much they did.
"""

import argparse
import contextlib
import json
import math
import random
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from keras_bert_lite.serving.client import Client
from tests.serving import prediction_server

CALLERS = 16
TIMEOUT = 60.0
TOLERANCE = 1e-4
INT8_TOLERANCE = 0.02  # of components that are some 0.05 large
WORDS = ["the", "day", "was", "fine", "and", "bad", "weather", "is", "not", "film"]


@dataclass
class Work:
    """What callers send, and the answers to each text alone."""

    texts: list[str]
    rows: int  # most texts a request
    wrong: float  # share of requests that the server must refuse
    tolerance: float = TOLERANCE  # of an answer's numbers
    answers: list[dict[str, np.ndarray]] = field(default_factory=list)


class Side:
    """A server and what its callers have seen."""

    def __init__(self, directory, process, target):
        name = Path(directory).resolve().name
        self.directory, self.process = str(directory), process
        self.client = Client(target, name, timeout=TIMEOUT)
        no_signature = Client(target, name, "none", timeout=TIMEOUT)
        no_model = Client(target, "none", timeout=TIMEOUT)
        self.wrong_calls = [
            lambda: self.client.predict({"none": ["a"]}),
            lambda: self.client.predict({"text": np.zeros(2, "float32")}),
            lambda: self.client.predict({"text": [["a"]]}),
            lambda: no_signature.predict(["a"]),
            lambda: no_model.predict(["a"]),
        ]
        self.seconds, self.rates, self.memory, self.latencies = 0.0, [], [], []
        self.failures, self.refused = [], 0
        self.largest_difference = 0.0  # callers' threads may miss each other's

    def add(self, outcomes, seconds):
        latencies = [x for kind, x in outcomes if kind == "good"]
        self.seconds += seconds
        self.rates.append(len(latencies) / seconds)
        self.memory.append(resident(self.process.pid))
        self.latencies += latencies
        self.failures += [x for kind, x in outcomes if kind == "failed"]
        self.refused += sum(kind == "refused" for kind, _ in outcomes)

    def summary(self):
        ordered = sorted(self.latencies) or [float("nan")]
        last = len(self.memory) - 1
        return {
            "directory": self.directory,
            "good_requests": len(self.latencies),
            "wrong_requests_refused": self.refused,
            "failures": len(self.failures),
            "first_failures": self.failures[:5],
            "largest_difference": self.largest_difference,
            "requests_per_second": len(self.latencies) / self.seconds,
            "p50_ms": 1000 * ordered[len(ordered) // 2],
            "p99_ms": 1000 * ordered[len(ordered) * 99 // 100],
            "rss_mib": {f"{x}%": self.memory[last * x // 100] for x in (10, 50, 100)},
        }


def resident(process_id):
    """Returns the memory of a process, in MiB."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def export_int8(directory, texts):
    """Writes MiniLM's sentence encoder in int8, calibrated on texts."""
    import keras_bert_lite as kbl
    from benchmarks.compute_types import sentence_model
    from benchmarks.inference.models import minilm

    model = sentence_model(minilm())
    kbl.export_saved_model(model, directory, int8=True, calibration=texts)


def make_texts(path=None, count=256, seed=0):
    if path is not None:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.strip()][:count]
    chance = random.Random(seed)
    lengths = [min(200, int(4 * chance.paretovariate(1))) for _ in range(count)]
    return [" ".join(chance.choices(WORDS, k=n)) for n in lengths]


def difference(answer, row, alone):
    """Returns how far a row is from the answer to its text alone, but for padding."""
    largest = 0.0
    for name, value in alone.items():
        got = answer[name][(row, *map(slice, value.shape[1:]))]
        if value.dtype != object:
            far = np.nan_to_num(np.abs(got - value[0]), nan=np.inf)
            largest = max(largest, float(far.max(initial=0.0)))
        elif not np.array_equal(got, value[0]):
            return math.inf
    return largest


def request(side, work, chance):
    """Sends one request; returns what became of it."""
    if chance.random() < work.wrong:
        try:
            chance.choice(side.wrong_calls)()
        except ValueError:
            return "refused", None
        return "failed", "a wrong request was answered"
    chosen = chance.choices(range(len(work.texts)), k=chance.randint(1, work.rows))
    start = time.perf_counter()
    answer = side.client.predict([work.texts[i] for i in chosen])
    latency = time.perf_counter() - start
    for row, i in enumerate(chosen):
        far = difference(answer, row, work.answers[i])
        side.largest_difference = max(side.largest_difference, far)
        if far > work.tolerance:
            return "failed", f"wrong answer to {work.texts[i]!r}"
    return "good", latency


def differences(side, work):
    """Lists the texts to which another server gives another answer."""
    alone = zip(work.texts, work.answers, strict=True)
    return [
        f"other answer to {text!r}"
        for text, answer in alone
        if difference(side.client.predict([text]), 0, answer) > work.tolerance
    ]


def call(side, work, chance, end):
    outcomes = []
    while time.perf_counter() < end:
        try:
            outcomes.append(request(side, work, chance))
        except Exception as error:
            outcomes.append(("failed", repr(error)))
    return outcomes


def measure(directories, seconds, work, turn=1.0):
    """Loads one server after the other, a turn each, and returns the sides."""
    chances = [random.Random(i) for i in range(CALLERS)]
    with contextlib.ExitStack() as stack:
        running = [
            (x, *stack.enter_context(prediction_server.running(x))) for x in directories
        ]
        sides = [Side(*arguments) for arguments in running]
        work.answers = [sides[0].client.predict([text]) for text in work.texts]
        for side in sides[1:]:
            side.failures = differences(side, work)
        threads = stack.enter_context(ThreadPoolExecutor(CALLERS))
        for i in range(round(seconds / turn / len(sides))):
            for side in sides if i % 2 else sides[::-1]:
                start = time.perf_counter()
                calls = [
                    threads.submit(call, side, work, chance, start + turn)
                    for chance in chances
                ]
                outcomes = [x for made in calls for x in made.result()]
                side.add(outcomes, time.perf_counter() - start)
    return sides


def show(summary):
    print(summary["directory"])
    for name, value in summary.items():
        if name == "rss_mib":
            value = "  ".join(f"{k} {mib:.0f}" for k, mib in value.items())
        elif isinstance(value, float):
            value = f"{value:.4g}"
        if name != "directory":
            print(f"  {name:24}{value}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--compare", type=Path, metavar="OTHER")
    parser.add_argument("--int8", type=Path, metavar="TEXTS", help="export in int8")
    parser.add_argument("--seconds", type=float, default=600, help="of both together")
    parser.add_argument("--texts", type=Path, help="one a line; generated if left out")
    parser.add_argument("--rows", type=int, default=8, help="most texts a request")
    parser.add_argument("--wrong", type=float, default=0.05, help="share to refuse")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    directories = [x for x in (arguments.directory, arguments.compare) if x]
    work = Work(make_texts(arguments.texts), arguments.rows, arguments.wrong)
    if arguments.int8:
        export_int8(arguments.directory, arguments.int8)
        work.tolerance = INT8_TOLERANCE
    sides = measure(directories, arguments.seconds, work)
    report = {
        "seconds": arguments.seconds,
        "tolerance": work.tolerance,
        "sides": [side.summary() for side in sides],
    }
    for summary in report["sides"]:
        show(summary)
    if arguments.compare:
        pairs = zip(sides[0].rates, sides[1].rates, strict=True)
        report["median_ratio"] = statistics.median(x / y for x, y in pairs)
        print(f"median ratio of neighbouring turns: {report['median_ratio']:.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    if any(side.failures for side in sides):
        raise SystemExit("some requests failed")


if __name__ == "__main__":
    main()
