"""Drawings as SVG: boxes, arrows, braces and text.

Boxes have their own pale colour with dark text; lines and the text beside boxes are of
a grey that is readable on white and on black, so a page's theme does not matter.
"""

from html import escape

GREY = "#7b848e"
INK = "#1c2733"
COLOURS = {
    "text": "#f6dfae",
    "layer": "#bcd8f5",
    "head": "#c9e7c4",
    "plain": "#e4e7eb",
}
SANS = "font-family='Helvetica, Arial, sans-serif'"
MONO = "font-family='Menlo, Consolas, DejaVu Sans Mono, monospace'"


class Drawing:
    """An SVG picture, whose parts are added one by one.

    Args:
        width: In pixels, as all lengths.
        height: The same.
        title: What a screen reader says.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size = (width, height)
        self.title = title
        self.parts: list[str] = []

    def svg(self) -> str:
        width, height = self.size
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
            f"width='{width}' height='{height}' role='img'>\n"
            f"<title>{escape(self.title)}</title>\n"
            "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' "
            "markerWidth='7' markerHeight='7' orient='auto-start-reverse'>"
            f"<path d='M0 0.5 L8 4 L0 7.5 z' fill='{GREY}'/></marker></defs>\n"
        )
        return head + "\n".join(self.parts) + "\n</svg>\n"

    def box(
        self, x: float, y: float, width: float, height: float, lines: str, colour: str
    ) -> None:
        """Adds a box with centred lines, the first of them bold."""
        self.parts.append(
            f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='6' "
            f"fill='{COLOURS[colour]}' stroke='{GREY}' stroke-width='0.8'/>"
        )
        rows = lines.split("\n")
        top = y + height / 2 - 8 * (len(rows) - 1) + 4.5
        for i, row in enumerate(rows):
            size = 13 if i == 0 else 11
            self.text(x + width / 2, top + 16 * i, row, size, INK, bold=i == 0)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 12,
        colour: str = GREY,
        *,
        bold: bool = False,
        mono: bool = False,
        anchor: str = "middle",
    ) -> None:
        weight = " font-weight='600'" if bold else ""
        self.parts.append(
            f"<text x='{x:g}' y='{y:g}' {MONO if mono else SANS} font-size='{size:g}'"
            f"{weight} fill='{colour}' text-anchor='{anchor}'>{escape(words)}</text>"
        )

    def arrow(self, *points: tuple[float, float], tip: bool = True) -> None:
        """Adds a line through the points, with a tip at its end."""
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        end = " marker-end='url(#tip)'" if tip else ""
        self.parts.append(
            f"<path d='M{path}' fill='none' stroke='{GREY}' stroke-width='1.4'{end}/>"
        )

    def bracket(self, left: float, right: float, y: float, words: str) -> None:
        """Adds a bracket that opens upwards, and what covers that part below it."""
        self.arrow((left, y - 7), (left, y), (right, y), (right, y - 7), tip=False)
        self.text((left + right) / 2, y + 14, words, 11.5, mono=True)

    def circle(self, x: float, y: float, words: str) -> None:
        self.parts.append(
            f"<circle cx='{x:g}' cy='{y:g}' r='11' fill='{COLOURS['plain']}' "
            f"stroke='{GREY}' stroke-width='0.8'/>"
        )
        self.text(x, y + 5, words, 15, INK, bold=True)
