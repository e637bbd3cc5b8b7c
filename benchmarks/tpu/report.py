"""The tables of compiled steps."""

from typing import Any

from benchmarks.inference.tables import table

Record = dict[str, Any]


def summary(records: list[Record]) -> str:
    """Returns the tables of steps, of the largest batches, and of collectives."""
    head = [
        "side",
        "task",
        "chips",
        "rows x length",
        "layers (compiled)",
        "estimate, ms",
        "MFU",
        "memory, GiB",
        "moved, GB",
        "integer operations, 10^9",
        "float operations, 10^9",
    ]
    steps = [x for x in records if not is_largest(x)]
    exchanged = [y for x in steps for y in _lines(x)]
    largest = [_largest(x) for x in records if is_largest(x)]
    return "\n\n".join(
        [
            table(head, [_row(x) for x in steps]),
            table(["largest batch", "chip", "memory, GiB", "refused"], largest),
            table(["chips", "collective", "times"], exchanged),
        ]
    )


def is_largest(x: Record) -> bool:
    """Whether a record is of a search for the largest batch."""
    return "refused" in x


def _largest(x: Record) -> list[str]:
    option = ", fused attention" * x["fused_attention"]
    return [
        f"{x['rows']} x {x['length']}{option}",
        x["chip"],
        f"{x['gib']:.2f}",
        f"{x['refused']} x {x['length']}",
    ]


def _row(x: Record) -> list[str]:
    base = x["preset"].split("_")[1]
    return [
        x["side"],
        ", ".join([x["task"], base, *_options(x)]),
        _chips(x),
        f"{x['rows']} x {x['length']}",
        f"{x['layers']} ({' and '.join(map(str, x['layers_compiled']))})",
        *(_estimates(x) if 0 < x["mfu"] < 1 else ["none"] * 3),
        f"{x['gb_moved']:.1f}",
        f"{x['integer']:.1f}",
        f"{x['float']:.1f}",
    ]


def _options(x: Record) -> list[str]:
    options = ["fast dropout"] * x["fast_dropout"]
    kernel = f"fused attention ({x['kernel_milliseconds']:.1f} ms by formula)"
    return options + [kernel] * x["fused_attention"]


def _estimates(x: Record) -> list[str]:
    """Returns what the compiler knows only where it can model all operations."""
    return [f"{x['milliseconds']:.1f}", f"{x['mfu']:.3f}", f"{x['gib']:.2f}"]


def _chips(x: Record) -> str:
    if x["data"] * x["model"] == 1:
        return x["chip"]
    return f"{x['chip']}: data {x['data']} x model {x['model']}"


def _lines(x: Record) -> list[list[str]]:
    found = x["collectives_of_2_layers"].items()
    return [[_chips(x), name, str(count)] for name, count in found]
