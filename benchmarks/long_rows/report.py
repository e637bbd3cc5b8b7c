"""The tables of the page of results."""

from typing import Any


def markdown(data: dict[str, Any]) -> str:
    lines = ["| | ours, seconds | other | its time by ours, clock | of CPU |"]
    lines.append("|---|---|---|---|---|")
    for kind, prefix in (("reading", ""), ("step", "a step: ")):
        for case, sides in data.get(kind, {}).items():
            for other, x in sides.items():
                if other != "ours":
                    seconds = sides["ours"]["seconds"]
                    cells = (f"{prefix}{case}", seconds, other, x["clock"], x["cpu"])
                    lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "| GiB | ours, above | in all | transformers, above | in all |"]
    lines.append("|---|---|---|---|---|")
    for case, x in data.get("memory", {}).items():
        cells = [case, *x["ours"], *x.get("transformers", ["", ""])]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
