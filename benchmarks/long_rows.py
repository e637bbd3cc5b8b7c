"""ModernBERT on a CPU beside transformers: long rows, short rows, steps, memory.

    python -m benchmarks.long_rows --data DATA

Both sides have ModernBERT-base's configuration and random weights, in float32, and read
ids: this package's encoder in a `tf.function`, transformers' `ModernBertModel` with
SDPA, which is its default. A step is one of fine-tuning a classifier of two labels by
AdamW: `train_on_batch` here, a loop in torch there. Each side is a process; they take
turns, and the times are ratios of the medians, transformers' by ours, on the clock and
of CPU. Texts of SST-2 have the lengths of its development sentences in the pieces of
`bert_mini_books`; a step of about 60 tokens has those of pairs of MRPC. Memory is the
peak of a fresh process above what it holds with the model loaded. Writes
`results/long_rows.json`.
"""

import argparse
import gc
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.inference.environment import environment

RESULTS = Path(__file__).parent / "results" / "long_rows.json"
VOCABULARY, PADDING = 50368, 50283
HALF = (4096, 2048, 1024, 1024)  # fill 0.5
DOCUMENTS = (3900, 1800, 900, 520)  # of a step
ROUNDS = 3
MEMORY = {
    "1 x 4,096": ((4096,), False),
    "1 x 8,192": ((8192,), False),
    "a step, 1 x 8,192": ((8192,), True),
}
SIDES = ("ours", "transformers")


def batch(lengths: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns random ids and the mask of texts of these lengths."""
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    ids = np.random.default_rng(seed).integers(0, VOCABULARY - 200, mask.shape)
    return np.where(mask, ids, PADDING).astype("int32"), mask


def ours(step: bool) -> Callable:
    """Returns a function of ids and masks."""
    import keras
    import tensorflow as tf

    import keras_bert_lite as kbl

    keras.utils.set_random_seed(0)
    encoder = kbl.encoder(kbl.EncoderConfig.named("modernbert_base"))
    if step:
        model = kbl.text_classifier(encoder, labels=["a", "b"])
        kbl.compile(model, learning_rate=1e-5)
        zeros = np.zeros(64, "int32")
        return lambda ids, mask: model.train_on_batch(
            inputs(tf.constant(ids), tf.constant(mask)), zeros[: len(ids)]
        )
    ids_of = tf.TensorSpec([None, None], "int32")
    mask_of = tf.TensorSpec([None, None], "bool")
    run = tf.function(
        lambda ids, mask: encoder(inputs(ids, mask))["sequence_output"],
        input_signature=[ids_of, mask_of],
    )
    return lambda ids, mask: run(ids, mask).numpy()


def inputs(ids: Any, mask: Any) -> dict[str, Any]:
    import tensorflow as tf

    return {
        "token_ids": ids,
        "segment_ids": tf.zeros_like(ids),
        "padding_mask": mask,
    }


def theirs(step: bool) -> Callable:
    import torch
    import transformers

    torch.set_num_threads(os.cpu_count() or 1)
    torch.manual_seed(0)
    config = transformers.ModernBertConfig(num_labels=2)
    assert config.vocab_size == VOCABULARY

    def tensors(ids: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
        return {
            "input_ids": torch.tensor(ids.astype("int64")),
            "attention_mask": torch.tensor(mask.astype("int64")),
        }

    if not step:
        encoder = transformers.ModernBertModel(config).eval()

        def run(ids: np.ndarray, mask: np.ndarray) -> Any:
            with torch.inference_mode():
                return encoder(**tensors(ids, mask)).last_hidden_state.numpy()

        return run
    model = transformers.ModernBertForSequenceClassification(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def update(ids: np.ndarray, mask: np.ndarray) -> None:
        labels = torch.zeros(len(ids), dtype=torch.int64)
        model(**tensors(ids, mask), labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return update


MAKERS = {"ours": ours, "transformers": theirs}


def serve(pipe: Any, name: str, step: bool) -> None:
    """A side's process: sends the seconds, on the clock and of CPU, of each batch."""
    run = MAKERS[name](step)
    pipe.send("loaded")
    while (asked := pipe.recv()) is not None:
        lengths, seed = asked
        given = batch(lengths, seed)
        clock, cpu = time.perf_counter(), time.process_time()
        run(*given)
        pipe.send((time.perf_counter() - clock, time.process_time() - cpu))


class Side:
    """A side in a process of its own."""

    def __init__(self, name: str, step: bool) -> None:
        os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3")
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        process = context.Process(target=serve, args=(other, name, step), daemon=True)
        process.start()
        self._pipe.recv()

    def seconds(self, lengths: tuple[int, ...], seed: int) -> tuple[float, float]:
        self._pipe.send((lengths, seed))
        return self._pipe.recv()

    def close(self) -> None:
        self._pipe.send(None)


def times(cases: dict[str, tuple[int, ...]], step: bool, rounds: int) -> dict[str, Any]:
    sides = {name: Side(name, step) for name in SIDES}
    found = {}
    for case, lengths in cases.items():
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in SIDES}
        for turn in range(rounds + 1):
            for name in SIDES[:: 1 if turn % 2 else -1]:
                seconds = sides[name].seconds(lengths, turn)
                if turn:  # the first traces
                    taken[name].append(seconds)
        medians = {
            name: [median(x) for x in zip(*seconds, strict=True)]
            for name, seconds in taken.items()
        }
        clock, cpu = (
            round(b / a, 2)
            for a, b in zip(medians["ours"], medians["transformers"], strict=True)
        )
        found[case] = {
            "clock": clock,
            "cpu": cpu,
            "seconds": round(medians["ours"][0], 3),
        }
        print(case, found[case], flush=True)
    for side in sides.values():
        side.close()
    return found


def peak(pipe: Any, name: str, lengths: tuple[int, ...], step: bool) -> None:
    """Sends the GiB that a batch takes above the loaded model."""
    run = MAKERS[name](step)
    gc.collect()
    held = resident()
    run(*batch(lengths, 0))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    pipe.send(round((most - held) / 2**30, 2))


def resident() -> int:
    """Returns the resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory() -> dict[str, dict[str, float]]:
    context = multiprocessing.get_context("spawn")
    found: dict[str, dict[str, float]] = {}
    for case, (lengths, step) in MEMORY.items():
        found[case] = {}
        for name in SIDES:
            ours_, other = context.Pipe()
            arguments = (other, name, lengths, step)
            process = context.Process(target=peak, args=arguments)
            process.start()
            other.close()
            try:
                found[case][name] = ours_.recv()
            except EOFError:  # killed for its memory
                found[case][name] = float("inf")
            process.join()
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


def measure(data: Path, rounds: int) -> dict[str, Any]:
    real = lengths_of(data)
    reading = {"1 x 4,096": (4096,), "4 rows up to 4,096, fill 0.5": HALF}
    reading["32 texts of SST-2"] = real["SST-2"]
    steps = {"16 pairs of MRPC": real["MRPC"], "4 documents, 520 to 3,900": DOCUMENTS}
    return {
        "lengths": {name: sorted(x) for name, x in real.items()},
        "reading": times(reading, False, rounds),
        "step": times(steps, True, rounds),
        "memory": memory(),
    }


def markdown(data: dict[str, Any]) -> str:
    lines = ["| | transformers' time by ours, clock | of CPU | ours, seconds |"]
    lines.append("|---|---|---|---|")
    for kind, prefix in (("reading", ""), ("step", "a step: ")):
        for case, x in data[kind].items():
            cells = (f"{prefix}{case}", x["clock"], x["cpu"], x["seconds"])
            lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += [
        "",
        "| GiB above the loaded model | ours | transformers |",
        "|---|---|---|",
    ]
    for case, x in data["memory"].items():
        lines.append(f"| {case} | {x['ours']} | {x['transformers']} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_rows")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    record = {
        "environment": environment(),
        **measure(options.data, options.rounds),
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(markdown(record))


if __name__ == "__main__":
    main()
