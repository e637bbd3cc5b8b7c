"""The page of attention maps, in a browser: hover, keys, and choice of a head."""

import shutil

import numpy as np
import pytest

from keras_bert_lite.visualization import AttentionMaps
from tests.visualization.browser import Browser

TOKENS = ("[CLS]", "</script><b>", "{{facts}}", "a\x07b", "字", "[SEP]")
SEGMENTS = np.array([0, 0, 0, 0, 1, 1])
SPECIAL = np.array([True, False, False, False, False, True])
LAYERS, HEADS, SIZE = 2, 3, 6
PROGRAMS = {x: shutil.which(x) for x in ("chromium", "chromedriver")}


@pytest.fixture(scope="module")
def maps():
    drawn = np.random.default_rng(0).dirichlet(np.ones(SIZE), (LAYERS, HEADS, SIZE))
    return AttentionMaps(
        ("</script> a\x07b", "字"), TOKENS, SEGMENTS, SPECIAL, drawn.astype("float32")
    )


def test_the_page_asks_for_nothing(maps):
    page = maps.to_html()
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in page
    assert '"from":' not in page
    assert page.count("</script>") == 3  # none of a token's


@pytest.fixture(scope="module")
def browser():
    if missing := [name for name, path in PROGRAMS.items() if path is None]:
        pytest.skip(f"needs {' and '.join(missing)}")
    browser = Browser(*PROGRAMS.values())
    yield browser
    browser.close()


@pytest.fixture
def page(browser, maps, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(maps.to_html(), encoding="utf-8")
    browser.open(file.as_uri())
    browser.point_at("h1")
    yield browser
    assert browser.complaints() == []


def answer(page):
    return page.run("return document.getElementById('answer').innerText")


def texts(page, selector):
    return page.run(
        "return [...document.querySelectorAll(arguments[0])].map(x => x.textContent)",
        selector,
    )


def shares(page):
    """The numbers beside the tokens attended to."""
    return [float(x or 0) for x in texts(page, "#to small")]


def lines(page):
    """The rows that lines go from and to."""
    found = page.run(
        "return [...document.querySelectorAll('line')]"
        ".map(x => ['y1', 'y2'].map(y => Math.floor(x.getAttribute(y) / 24)))"
    )
    return {tuple(x) for x in found}


def is_held(page, side, number):
    button = f"document.querySelectorAll('#{side} button')[{number}]"
    return page.run(f"return {button}.getAttribute('aria-pressed')") == "true"


def choose(page, name, keys):
    """Chooses by mouse and keys, as the browser draws its own list."""
    page.run(f"document.getElementById('{name}').focus()")
    page.press(*keys)


def visible(weights):
    """What is at least 0.02, once rounded to bytes."""
    return {tuple(x) for x in np.argwhere(np.round(weights * 255) / 255 >= 0.02)}


def shown(weights):
    """Those of which there is a number."""
    return np.where(weights >= 0.02, weights, 0)


def test_shows_the_mean_of_the_last_layer_first(page, maps):
    names = ["[CLS]", "</script><b>", "{{facts}}", "a␇b", "字", "[SEP]"]
    assert texts(page, "#from span") == texts(page, "#to span") == names
    assert texts(page, "title") == texts(page, "h1")
    assert texts(page, "h1") == ["Attention: </script> a␇b / 字"]
    assert answer(page) == "Layer 1, mean of its heads"
    assert lines(page) == visible(maps.head(1))


def test_a_layer_and_a_head_are_chosen(page, maps):
    choose(page, "layer", "0")
    choose(page, "head", "2")
    assert answer(page) == "Layer 0, head 2"
    assert lines(page) == visible(maps.head(0, 2))
    page.point_at("#grid", x=0.5, y=0.75)  # the same by mouse
    page.click()
    assert answer(page) == "Layer 1, head 1"
    chosen = "return ['layer', 'head'].map(x => document.getElementById(x).value)"
    assert page.run(chosen) == ["1", "1"]
    assert lines(page) == visible(maps.head(1, 1))


def test_hovering_over_a_token_shows_its_weights(page, maps):
    choose(page, "head", "0")
    weights = maps.head(1, 0)
    page.point_at("#from button", 2)
    np.testing.assert_allclose(shares(page), shown(weights[2]), atol=0.01)
    assert lines(page) == {x for x in visible(weights) if x[0] == 2}
    assert answer(page).startswith("{{facts}} attends to ")
    page.point_at("#to button", 4)
    assert answer(page).startswith("字 is attended to by ")
    assert lines(page) == {x for x in visible(weights) if x[1] == 4}
    page.point_at("h1")
    assert answer(page) == "Layer 1, head 0"


def test_keys_do_what_the_mouse_does(page):
    page.press("Tab", "0", "Tab", "1")
    assert answer(page) == "Layer 0, head 1"
    page.press("Tab", "Tab")  # behind the box for special tokens
    assert answer(page).startswith("[CLS] attends to")
    page.press("Down", "Down", "Right")
    assert answer(page).startswith("{{facts}} is attended to by")
    page.press("Enter")
    assert is_held(page, "to", 2)
    page.point_at("#special")
    page.click()  # the token is held, though another has the focus
    assert answer(page).startswith("{{facts}} is attended to by")
    page.press("Escape")
    assert not is_held(page, "to", 2)
    assert answer(page) == "Layer 0, head 1"


def test_a_click_holds_a_token(page):
    page.point_at("#from button", 3)
    page.click()
    page.point_at("h1")
    page.click()
    assert is_held(page, "from", 3)
    assert answer(page).startswith("a␇b attends to")


def test_special_tokens_may_be_left_out(page, maps):
    page.point_at("#special")
    page.click()
    kept = np.where(SPECIAL[:, None] | SPECIAL, 0, maps.head(1))
    assert lines(page) == visible(kept)


def test_light_and_dark(page):
    colours = {}
    for scheme in ("dark", "light"):
        page.prefer(scheme)
        colours[scheme] = page.run(
            "const style = getComputedStyle(document.body);"
            "return [style.color, style.backgroundColor]"
        )
    assert colours["light"] == ["rgb(26, 26, 26)", "rgb(255, 255, 255)"]
    assert colours["dark"] == ["rgb(236, 236, 236)", "rgb(22, 24, 28)"]


def test_a_notebook_shows_the_page_in_a_frame(browser, maps, tmp_path):
    file = tmp_path / "notebook.html"
    twice = maps._repr_html_() * 2  # names do not collide
    file.write_text(f"<!doctype html><meta charset='utf-8'>{twice}", encoding="utf-8")
    browser.open(file.as_uri())
    browser.enter_frame(0)
    choose(browser, "head", "2")
    browser.point_at("#from button", 1)
    assert answer(browser).startswith("</script><b> attends to")
    np.testing.assert_allclose(shares(browser), shown(maps.head(1, 2)[1]), atol=0.01)
