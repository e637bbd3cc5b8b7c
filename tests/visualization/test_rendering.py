"""How explanations look: coloured text and HTML."""

import html.parser
import re

import numpy as np
import pytest

from keras_bert_lite.visualization.explanation import Explanation
from keras_bert_lite.visualization.reading import Piece

TEXT = "<b>so & so</b>\x1b[31m \n\té"


def explanation(text, pieces, values, read=None):
    values = np.array(values)
    return Explanation(
        texts=(text,),
        pieces=tuple(Piece(x, 0, a, b, a, b) for x, a, b in pieces),
        attributions=values,
        read=np.full(len(values), True) if read is None else np.array(read, bool),
        prediction={"label": "good"},
        target="<good>",
        span=None,
        score=1.25,
        baseline_score=-0.5,
        error=0.001,
        steps=50,
    )


@pytest.fixture
def found():
    pieces = [("<b>", 0, 3), ("so", 3, 5), ("&", 6, 7), ("é", 21, 22), ("é", 21, 22)]
    return explanation(TEXT, pieces, [0.5, -1.0, 0.0, 0.25, 0.25], [1, 1, 0, 1, 1])


class Reader(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.text, self.tags, self.titles, self.styles = "", [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append((tag, sorted(named)))
        if "title" in named:
            self.titles.append(named["title"])
            self.styles.append(named["style"])

    def handle_data(self, data):
        self.text += data


def test_html_is_escaped_and_needs_no_other_file(found):
    page = Reader(found.to_html())
    assert TEXT.replace("\x1b", "␛") in page.text
    assert "<good>: 1.250, from -0.500" in page.text
    assert "1 piece was not read" in page.text
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "title", "body", "div", "small", "span")
    }
    names = {name for _, attributes in page.tags for name in attributes}
    assert names <= {"charset", "dir", "style", "title"}
    assert "url(" not in found.to_html()
    assert found._repr_html_() in found.to_html()
    assert page.titles == [
        *("<b>: +0.5000", "so: -1.0000", "&: +0.0000", "é é: +0.5000")
    ]


def test_colours_are_orange_for_and_blue_against(found):
    colours = [
        tuple(float(x) for x in re.findall(r"[\d.]+", style)[:4])
        for style in Reader(found.to_html()).styles
    ]
    assert [colour[0] > colour[2] for colour in colours][:2] == [True, False]
    assert colours[0][3] == pytest.approx(colours[1][3] / 2, abs=0.01)
    assert colours[3][3] == colours[0][3]  # two pieces of one character


def test_terminals_get_no_control_characters_of_the_text(found):
    text = found.to_ansi()
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert plain.endswith(TEXT.replace("\x1b", "␛"))
    assert "\x1b[31m" not in text
    assert text.count("\x1b[0m") == 4


def test_a_piece_without_characters_counts_for_the_next_one():
    found = explanation("ab", [("_", 0, 0), ("ab", 0, 2), ("_", 2, 2)], [1.0, 2.0, 4.0])
    assert found.characters[0].tolist() == [2.0, 5.0]
    assert Reader(found.to_html()).titles == ["_ ab: +3.0000", "ab _: +6.0000"]


def test_nothing_to_show():
    found = explanation("", [], [])
    assert found.characters[0].shape == (0,)
    assert "1.250" in found.to_html()
    assert "1.250" in found.to_ansi()
