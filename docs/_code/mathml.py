"""Formulas as MathML, which browsers draw without a script from a network."""

from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(self, node) -> None:
    self.body.append(tex2mathml(node.astext()))


def visit_block(self, node) -> None:
    self.body.append(
        f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>'
    )


def leave(self, node) -> None:
    """The formula is written already."""


def setup(app) -> None:
    app.add_html_math_renderer("mathml", (visit_inline, leave), (visit_block, leave))
