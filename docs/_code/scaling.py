"""The page of what to expect from more devices, made from the benchmarks' results.

    python -m docs._code.scaling

writes `docs/guide/from_one_laptop_to_256_chips.md`, if `benchmarks.tpu` left results.
"""

import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks.inference.tables import table
from benchmarks.tpu.report import is_largest
from docs._code import DOCS
from docs._code.api import replace
from docs._code.results import RESULTS, read

PAGE = DOCS / "guide" / "from_one_laptop_to_256_chips.md"
COMPILED, MEASURED = RESULTS / "tpu.jsonl", RESULTS / "pretraining_speed.json"
OURS = "keras_bert_lite"
# BERT's own pretraining: a million steps of 256 rows, nine tenths of them of 128
# tokens, the others of 512 (Devlin et al., 2019, appendix A.2).
TOKENS = 1_000_000 * 256 * (0.9 * 128 + 0.1 * 512)
MANY = 256
TEXT = """# From one laptop to {many} chips

What to expect when masked words are trained on more than a laptop, and what changes in
a program. **Nothing here ran on a TPU**: times of chips are the compiler's estimates,
rough ones that do not see all of the work. [Compiled steps](../results/tpu.md) says
what they leave out, and has the command.

{table}

The last column is BERT's own pretraining, {billions:.0f} billion tokens, at that speed.
The laptop's row is a smaller BERT, and measured: see [pretraining](pretraining.md). The
row of {many} chips was not compiled: it is {many} times the fastest row of one chip, as
if chips need not wait for each other, for their hosts or for data. Expect less.

## What changes

1. **One device.** `kbl.pretraining.pretrain`, under TensorFlow on a CPU, under JAX on a
   chip. Rows have a fixed length, packed with several texts.
2. **Several devices of a host.** `kbl.distribution.setup()` first, and nothing else.
   The batch is that of all devices together, and must divide by them.
3. **A model that one device does not hold.** `kbl.distribution.setup(model=2)` cuts its
   matrices. BERT-base needs none of it: spend devices on rows first.
4. **Several hosts.** The same program on each. `setup` finds the others in the
   environment of Slurm, Cloud TPU or Kubernetes, or in its arguments.

Larger batches need a higher rate and a longer warm-up (`optimizer="lamb"`), and from
some size on they no longer save steps. More chips do not help then.

[14_several_devices](../../tutorials/14_several_devices.ipynb) goes this way on
simulated devices, to a SavedModel that takes strings.
"""


def main() -> None:
    if COMPILED.exists():
        replace(PAGE, page(read(COMPILED), read(MEASURED)["runs"]))


def page(compiled: list[dict[str, Any]], measured: list[dict[str, Any]]) -> str:
    """Returns the page.

    Args:
        compiled: The records of `benchmarks.tpu`.
        measured: The runs of `benchmarks.pretraining_speed`.

    Raises:
        ValueError: If there is no estimate for one chip.
    """
    steps = [x for x in compiled if _shown(x)]
    if not any(_chips(x) == 1 for x in steps):
        raise ValueError("`compiled` must have a step of one chip. Received: none")
    laptop = statistics.median(
        x["tokens"] / x["seconds"] for x in measured if x["side"] == OURS
    )
    head = [
        "devices",
        "rows x length",
        "step, ms",
        "MFU",
        "memory, GiB",
        "tokens/s",
        "hours",
    ]
    rows = [["2 cores, a small BERT", "32 x 128", "", "", "", *_speed(laptop)]]
    rows += [_row(x) for x in steps]
    rows += list(_many(steps))
    return TEXT.format(many=MANY, table=table(head, rows), billions=TOKENS / 1e9)


def _shown(x: dict[str, Any]) -> bool:
    """Whether a record is a plain step of BERT-base that has an estimate."""
    plain = x["side"] == OURS and x["task"] == "masked_lm"
    plain = plain and not (x["fast_dropout"] or x["fused_attention"] or is_largest(x))
    return plain and x["preset"] == "bert_base_uncased" and 0 < x["mfu"] < 1


def _chips(x: dict[str, Any]) -> int:
    return x["data"] * x["model"]


def _tokens_per_second(x: dict[str, Any]) -> float:
    return x["rows"] * x["length"] / x["milliseconds"] * 1e3


def _row(x: dict[str, Any]) -> list[str]:
    axes = f", {x['data']} x {x['model']}" if x["model"] > 1 else ""
    return [
        f"{_chips(x)} {x['chip']}{axes}",
        f"{x['rows']} x {x['length']}",
        f"{x['milliseconds']:.1f}",
        f"{x['mfu']:.2f}",
        f"{x['gib']:.2f}",
        *_speed(_tokens_per_second(x)),
    ]


def _many(steps: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Yields the bound of many chips, for each kind of them."""
    for chip in dict.fromkeys(x["chip"] for x in steps):
        alone = [x for x in steps if x["chip"] == chip and _chips(x) == 1]
        if alone:
            most = MANY * max(map(_tokens_per_second, alone))
            yield [f"{MANY} {chip}, at best", "", "", "", "", *_speed(most)]


def _speed(tokens: float) -> list[str]:
    return [f"{tokens:,.0f}", f"{TOKENS / tokens / 3600:,.1f}"]


if __name__ == "__main__":
    main()
