"""What a compiled program holds: operations on elements, and collectives."""

import math
import re
from collections import Counter

INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?%?\S+ = (.*?) ([a-z][a-z0-9-]*)\(", re.MULTILINE
)
SHAPE = re.compile(r"([a-z]+[0-9a-z]*)\[([0-9,]*)\]")
NAMES = """
abs add and clamp compare convert cosine divide erf exponential exponential-minus-one
floor log log-plus-one maximum minimum multiply negate not or power remainder rsqrt
select shift-left shift-right-arithmetic shift-right-logical sign sine sqrt subtract
tanh xor
"""
ELEMENTWISE = frozenset(NAMES.split())
COLLECTIVES = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-permute",
    "reduce-scatter",
)


def elementwise(program: str) -> dict[str, float]:
    """Counts the elements that elementwise operations give, by kind of number.

    Args:
        program: The optimized HLO of a compiled function without loops.

    Returns:
        `"integer"` and `"float"`, in 10^9.
    """
    counts = {"integer": 0, "float": 0}
    for kind, operation in INSTRUCTION.findall(program):
        if operation in ELEMENTWISE and (shape := SHAPE.match(kind)):
            dtype, sizes = shape.groups()
            number = "float" if dtype.startswith(("f", "bf")) else "integer"
            counts[number] += math.prod(int(x) for x in sizes.split(",") if x)
    return {name: count / 1e9 for name, count in counts.items()}


def collectives(program: str) -> Counter[tuple[str, str]]:
    """Counts the collectives of a compiled function, by operation and shape."""
    found: Counter[tuple[str, str]] = Counter()
    for kind, operation in INSTRUCTION.findall(program):
        name = operation.removesuffix("-start")
        if name in COLLECTIVES:
            # What starts one gives its operand too; the last shape is the result.
            shapes = SHAPE.findall(kind)
            if name == "all-reduce" or not operation.endswith("-start"):
                found.update((name, f"{dtype}[{size}]") for dtype, size in shapes)
            else:
                dtype, size = shapes[1]
                found[name, f"{dtype}[{size}]"] += 1
    return found
