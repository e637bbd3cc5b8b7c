"""Memory of training with 1,024 in-batch negatives in chunks, beside a batch of 32.

    python -m benchmarks.cached_negatives --data DATA

MiniLM reads 1,024 questions of SQuAD with their paragraphs, of up to 128 tokens, once:
in batches of 32 pairs, and in one of 1,024 whose texts are encoded 32 at a time
(`sentence_encoder_trainer(chunk_size=32)`). Each side is a process of its own, and its
peak is what the process has held at most, TensorFlow and the model included. Each
result is a line of `results/cached_negatives.jsonl`, in which the next call goes on.
"""

import argparse
import functools
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.inference.tables import table
from benchmarks.memory import peak_memory
from benchmarks.recipes.log import Log

RESULTS = Path(__file__).parent / "results" / "cached_negatives.jsonl"
LENGTH = 128
PAIRS = 1024
SIDES = {"batches of 32": (32, None), "one batch, 32 texts at a time": (PAIRS, 32)}
Result = dict[str, Any]


def measure(side: str, data: Path) -> Result:
    import keras_bert_lite as kbl
    from benchmarks.inference.models import minilm
    from benchmarks.search import halves
    from keras_bert_lite.losses import InBatchNegativesLoss

    size, chunk = SIDES[side]
    pairs = halves(data)[0].pairs()[:PAIRS]
    preprocessor = kbl.load_preprocessor(minilm(), sequence_length=LENGTH)
    columns = {"text": ["text", "text_pair"], "label": None, "batch_size": size}
    batches = kbl.text_dataset(pairs, preprocessor, **columns)
    encoder = kbl.sentence_encoder(kbl.load_encoder(minilm()))
    model = kbl.sentence_encoder_trainer(encoder, chunk_size=chunk)
    kbl.compile(model, learning_rate=2e-5, loss=InBatchNegativesLoss())
    began = time.monotonic()
    model.fit(batches, verbose=0)
    seconds = time.monotonic() - began
    return {"peak_mib": peak_memory() >> 20, "seconds": round(seconds, 1)}


def in_a_process(side: str, data: Path) -> Result:
    name = "benchmarks.cached_negatives"
    command = [sys.executable, "-m", name, "--data", str(data), "--side", side]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(ran.stdout.strip().split("\n")[-1])


def markdown(records: list[Result]) -> str:
    lines = [[x["side"], str(x["peak_mib"]), f"{x['seconds']:.0f}"] for x in records]
    pairs = itertools.combinations(records, 2)
    ratios = [f"{b['peak_mib'] / a['peak_mib']:.2f} times the peak." for a, b in pairs]
    return "\n".join([table(["", "peak, MiB", "seconds"], lines), "", *ratios])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cached_negatives")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measure(options.side, options.data)))
        return
    log = Log(options.results)
    for side in SIDES:
        log.once({"side": side}, functools.partial(in_a_process, side, options.data))
    print(markdown(log.records))


if __name__ == "__main__":
    main()
