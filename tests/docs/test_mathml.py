"""Formulas of the pages."""

import re

import pytest
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from docs._code import ROOT, mathml

BLOCK = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)


class Writer:
    def __init__(self):
        self.body = []


def test_a_formula_becomes_mathml_once():
    writer = Writer()
    with pytest.raises(nodes.SkipNode):
        mathml.inline(writer, nodes.math("", r"\sqrt{D}"))
    with pytest.raises(nodes.SkipNode):
        mathml.block(writer, nodes.math_block("", r"\frac{x}{2}"))
    inline, block = writer.body
    assert "<msqrt>" in inline
    assert "<mfrac>" in block
    assert 'display="block"' in block


def test_docutils_knows_all_that_the_tutorials_write():
    text = (ROOT / "tutorials" / "11_build_bert.py").read_text(encoding="utf-8")
    prose = re.sub(r"(?m)^# ?", "", text)
    assert len([tex2mathml(x.strip()) for x in BLOCK.findall(prose)]) > 5
