"""Where the time goes in a SavedModel on a CPU, operation by operation.

    python -m benchmarks.inference.profile MODEL/1 --batch 8 --words 126

runs `serving_default` in a TF 1 session with full traces. Names are of the graph
after TensorFlow's optimizer, with what it fused. Operations on two threads overlap,
so the sum may exceed the time of a call; the trace itself costs some, too.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

from benchmarks.inference.sides.base import use_threads
from benchmarks.inference.sides.limit import matmul_rate
from benchmarks.inference.worker import THREADS

WARM_UP = 3
KINDS_SHOWN = 20
WIDTH, INNER = 768, 3072  # of the products that give the limit


class Profiler:
    """A SavedModel in a session.

    Args:
        path: Folder of the SavedModel.
        texts: What it is run on.
    """

    def __init__(self, path: Path, texts: list[str]) -> None:
        import tensorflow as tf
        import tensorflow_text  # noqa: F401

        self._v1 = tf.compat.v1
        graph = tf.Graph()
        with graph.as_default():
            threads = self._v1.ConfigProto(
                intra_op_parallelism_threads=THREADS,
                inter_op_parallelism_threads=THREADS,
            )
            self._session = self._v1.Session(graph=graph, config=threads)
            loaded = self._v1.saved_model.load(self._session, ["serve"], str(path))
        signature = loaded.signature_def["serving_default"]
        (name,) = (x.name for x in signature.inputs.values())
        self._feed = {name: texts}
        self._outputs = [x.name for x in signature.outputs.values()]

    def seconds(self) -> float:
        """Returns the time of a call without a trace."""
        start = time.perf_counter()
        self._session.run(self._outputs, self._feed)
        return time.perf_counter() - start

    def traced(self, runs: int) -> tuple[Counter, Counter]:
        """Returns microseconds and calls of each kind of operation."""
        options = self._v1.RunOptions(
            trace_level=self._v1.RunOptions.FULL_TRACE, output_partition_graphs=True
        )
        times, calls, kinds = Counter(), Counter(), {}
        for _ in range(runs):
            trace = self._v1.RunMetadata()
            self._session.run(
                self._outputs, self._feed, options=options, run_metadata=trace
            )
            for graph in trace.partition_graphs:
                kinds.update({node.name: kind(node) for node in graph.node})
            for device in trace.step_stats.dev_stats:
                for node in device.node_stats:
                    name = kinds.get(node.node_name, node.node_name)
                    times[name] += node.op_end_rel_micros - node.op_start_rel_micros
                    calls[name] += 1
        return times, calls


def kind(node) -> str:
    """Returns the operation and what is fused into it: `_FusedMatMul+BiasAdd`."""
    fused = node.attr["fused_ops"].list.s if "fused_ops" in node.attr else []
    return "+".join([node.op, *(x.decode() for x in fused)])


def show(times: Counter, calls: Counter, runs: int) -> None:
    total = sum(times.values())
    print(f"{'operation':56}{'ms':>9}{'%':>7}{'calls':>8}")
    for name, micros in times.most_common(KINDS_SHOWN):
        share = 100 * micros / total
        count = calls[name] / runs
        print(f"{name[:55]:56}{micros / runs / 1e3:9.2f}{share:7.1f}{count:8.0f}")
    print(f"{'all':56}{total / runs / 1e3:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--words", type=int, default=126, help="words a text")
    parser.add_argument("--lengths", help="other numbers of words, as 5,12,40")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    lengths = [options.words] * options.batch
    if options.lengths:
        lengths = [int(x) for x in options.lengths.split(",")]
    use_threads(THREADS)
    profiler = Profiler(options.directory, [" ".join(["day"] * n) for n in lengths])
    for _ in range(WARM_UP):
        profiler.seconds()
    tokens = sum(lengths) + 2 * len(lengths)
    times, rates = [], []
    for _ in range(options.runs):
        times.append(profiler.seconds())
        rates.append(matmul_rate(tokens, WIDTH, INNER))
    print(f"{len(lengths)} texts, {tokens} tokens: {min(times) * 1e3:.1f} ms at best")
    print(f"matrix products of BERT-base's shapes: {max(rates) / 1e9:.0f} GFLOP/s")
    show(*profiler.traced(options.runs), options.runs)


if __name__ == "__main__":
    main()
