"""Formulas as MathML, which browsers draw without a script from a network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def inline(self, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def block(self, node: nodes.math_block) -> None:
    self.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app) -> None:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
