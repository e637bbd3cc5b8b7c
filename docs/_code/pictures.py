"""The drawings of the documents.

python -m docs._code.pictures
"""

import tomllib
from collections.abc import Callable

from docs._code import DOCS, ROOT
from docs._code.api import replace
from docs._code.drawing import INK, Drawing

FOLDER = DOCS / "pictures"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        replace(FOLDER / f"{name}.svg", draw().svg())


def path() -> Drawing:
    """From a string to an answer, and what each builder covers."""
    parts = [
        ("string", "text", "a lovely day", 106),
        ("Preprocessor", "text", "tokenizer, [CLS],\n[SEP], rows", 126),
        ("encoder", "layer", "embeddings,\nblocks, pooler", 126),
        ("head", "head", "dropout,\ndense", 86),
        ("answer", "head", "softmax,\nlabels", 86),
        ("strings", "text", "good\n[0.08, 0.92]", 106),
    ]
    between = [
        "",
        "token_ids\nsegment_ids\npadding_mask",
        "pooled_\noutput",
        "logits",
        "",
    ]
    gaps = [34, 96, 66, 56, 34]
    width = sum(x[-1] for x in parts) + sum(gaps) + 20
    drawing = Drawing(
        width,
        300,
        "A string goes through preprocessor, encoder, head and answer. encoder covers "
        "the encoder, text_classifier also the head, with_text all from strings to "
        "strings; the export has a signature for all, one for ids and one that "
        "tokenizes.",
    )
    left, top, height = 10.0, 24.0, 74.0
    edges = []
    for i, (name, colour, more, wide) in enumerate(parts):
        edges.append((left, left + wide))
        drawing.box(left, top, wide, height, f"{name}\n{more}", colour)
        if i < len(gaps):
            middle = top + height / 2
            drawing.arrow(
                (left + wide + 3, middle), (left + wide + gaps[i] - 3, middle)
            )
            lines = between[i].split("\n")
            for n, line in enumerate(lines):
                # The last line is under the arrow, if there is more than one.
                y = middle - 8 - 13 * (len(lines) - 2 - n) if n + 1 < len(lines) else 0
                y = y or (middle + 16 if len(lines) > 1 else middle - 8)
                x = left + wide + gaps[i] / 2
                drawing.text(x, y, line, 10.5, mono=True)
            left += wide + gaps[i]
    _, preprocessor, encoder, head, answer, _ = edges
    drawing.bracket(*encoder, 122, "encoder(config)")
    drawing.bracket(encoder[0], head[1], 156, "text_classifier(encoder, labels)")
    drawing.bracket(preprocessor[0], answer[1], 190, "with_text(model, preprocessor)")
    y = 228
    drawing.text(
        preprocessor[0], y, "export_saved_model, by signature:", 11.5, anchor="start"
    )
    drawing.bracket(*preprocessor, y + 18, "tokenize")
    drawing.bracket(encoder[0], answer[1], y + 18, "token_ids")
    drawing.bracket(preprocessor[0], answer[1], y + 50, "serving_default, classify")
    return drawing


def block() -> Drawing:
    """The encoder block, from left to right."""
    drawing = Drawing(
        860,
        150,
        "The encoder block: attention and dropout are added to the input and "
        "normalized, then the feed-forward network and dropout in the same way.",
    )
    y, height, x = 62.0, 50.0, 14.0
    middle = y + height / 2
    drawing.text(x + 12, middle + 5, "x", 15, mono=True)
    x += 30
    for name, more, norm in (
        ("attention", "N heads of size D", "attention_norm"),
        ("feed_forward", "H to 4 H to H", "output_norm"),
    ):
        drawing.arrow((x, middle), (x + 32, middle))
        drawing.arrow(
            (x + 12, middle), (x + 12, 26), (x + 246, 26), (x + 246, middle - 14)
        )
        drawing.text(x + 129, 20, "residual", 11)
        drawing.box(x + 34, y, 118, height, f"{name}\n{more}", "layer")
        drawing.arrow((x + 152, middle), (x + 233, middle))
        drawing.text(x + 192, middle - 8, "dropout", 11)
        drawing.circle(x + 246, middle, "+")
        drawing.arrow((x + 258, middle), (x + 276, middle))
        drawing.box(x + 278, y, 104, height, f"LayerNorm\n{norm}", "head")
        x += 382
    drawing.arrow((x, middle), (x + 26, middle))
    drawing.text(x + 36, middle + 5, "x", 15, mono=True)
    drawing.text(
        430,
        140,
        "Norms(before=True, after=False) normalizes x before attention and "
        "feed_forward instead (pre-norm).",
        11.5,
    )
    return drawing


def folders() -> Drawing:
    """The layers of the import contract: what may import what is below it."""
    rows = layers()
    height = 44 * len(rows) + 8
    drawing = Drawing(860, height + 30, "Folders in layers; each imports those below.")
    for i, names in enumerate(rows):
        y = 8 + 44 * i
        gap = 8
        wide = (800 - gap * (len(names) - 1)) / len(names)
        if wide > 100:
            for n, name in enumerate(names):
                drawing.box(14 + n * (wide + gap), y, wide, 30, name, _colour(name))
        else:  # too narrow for a box each
            drawing.box(14, y, 800, 30, "", "plain")
            drawing.text(414, y + 19, " · ".join(names), 11, INK)
    drawing.arrow((838, 12), (838, height - 12))
    drawing.text(
        430, height + 16, "Each layer may import from those below it, never upwards."
    )
    return drawing


def layers() -> list[list[str]]:
    """Returns the rows of the contract in pyproject.toml, from the top."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tool = tomllib.loads(text)["tool"]["importlinter"]
    contract = next(x for x in tool["contracts"] if x["type"] == "layers")
    prefix = f"{tool['root_package']}."
    return [
        [x.strip().removeprefix(prefix) for x in row.replace(":", "|").split("|")]
        for row in contract["layers"]
    ]


def _colour(name: str) -> str:
    return {"layers": "layer", "text": "text", "models": "head"}.get(name, "plain")


PICTURES: dict[str, Callable[[], Drawing]] = {
    "path": path,
    "block": block,
    "folders": folders,
}

if __name__ == "__main__":
    main()
