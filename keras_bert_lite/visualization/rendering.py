"""Attributions as coloured text."""

import html as markup
from collections.abc import Sequence
from typing import Any

# Blue and orange differ for every kind of colour vision.
FOR, AGAINST = (230, 120, 0), (30, 120, 220)
WHITE = (255, 255, 255)
SHOWN = {"\n", "\t"}  # control characters that change nothing but the layout
PICTURES = {
    code: 0x2400 + code if code < 0x20 else 0x2421 if code == 0x7F else 0xFFFD
    for code in (*range(0x20), *range(0x7F, 0xA0))
    if chr(code) not in SHOWN
}
PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>Explanation</title></head>
<body style="font-family: sans-serif; margin: 2em">{body}</body></html>
"""


def headline(found: Any) -> str:
    """Returns what is explained, in one line."""
    about = ""
    if found.span is not None:
        about = f" of {found.texts[-1][slice(*found.span)]!r}"
    return (
        f"{found.target}{about}: {found.score:.3f}, from {found.baseline_score:.3f} "
        f"without words (completeness error {found.error:.2%}, {found.steps} steps)"
    )


def notes(found: Any) -> list[str]:
    """Returns what the reader should know besides."""
    unread = int((~found.read).sum())
    if not unread:
        return []
    count = "1 piece was" if unread == 1 else f"{unread} pieces were"
    return [f"{count} not read for this score."]


def plain_head(found: Any) -> str:
    return "\n".join([headline(found), *notes(found)]).translate(PICTURES)


def ansi_runs(runs: Sequence[Any]) -> str:
    """Returns a text with the background of each run coloured."""
    return "".join(_ansi(run) for run in runs)


def _ansi(run: Any) -> str:
    text = run.text.translate(PICTURES)
    if not run.tokens:
        return text
    red, green, blue = _mixed(run.share)
    return f"\x1b[30;48;2;{red};{green};{blue}m{text}\x1b[0m"


def _mixed(share: float) -> tuple[int, ...]:
    """Returns a colour between white (0), orange (1) and blue (-1)."""
    colour, part = (FOR if share > 0 else AGAINST), min(abs(share), 1.0)
    return tuple(round(w + part * (c - w)) for w, c in zip(WHITE, colour, strict=True))


def html(found: Any, texts: Sequence[Sequence[Any]]) -> str:
    """Returns a part of a page."""
    lines = [markup.escape(x) for x in (headline(found), *notes(found))]
    head = "".join(f"<div><small>{line}</small></div>" for line in lines)
    style = "white-space: pre-wrap; line-height: 1.8; margin: 0.4em 0"
    body = "".join(
        f'<div dir="auto" style="{style}">{"".join(_span(run) for run in runs)}</div>'
        for runs in texts
    )
    return f'<div style="margin: 0.8em 0">{head}{body}{_legend()}</div>'


def _span(run: Any) -> str:
    text = markup.escape(run.text.translate(PICTURES))
    if not run.tokens:
        return text
    title = markup.escape(f"{run.tokens.translate(PICTURES)}: {run.value:+.4f}")
    return f'<span title="{title}" style="{_background(run.share)}">{text}</span>'


def _background(share: float) -> str:
    """Transparent at 0, so that it suits light and dark pages."""
    red, green, blue = FOR if share > 0 else AGAINST
    alpha = 0.85 * min(abs(share), 1.0)
    return f"background: rgba({red},{green},{blue},{alpha:.2f}); border-radius: 3px"


def _legend() -> str:
    samples = (
        f'<span style="{_background(share)}">&nbsp;{name}&nbsp;</span>'
        for share, name in ((1, "raises the score"), (-1, "lowers it"))
    )
    return f"<div><small>{' '.join(samples)}</small></div>"


def page(body: str) -> str:
    return PAGE.format(body=body)
