"""Pages and pictures that code makes: the committed ones are those it makes."""

import json
import re

import pytest
from PIL import Image

import keras_bert_lite as kbl
from docs._code import (
    api,
    docstrings,
    forms,
    gallery,
    links,
    pictures,
    readme,
    results,
    scaling,
    tutorials,
)
from keras_bert_lite_command.signatures import REQUIRED, Option
from tests.paths import ROOT

pytestmark = pytest.mark.tensorflow(reason="the pages are of that backend")
MEND = "`make docs` writes it again"


def test_results():
    folder = ROOT / "docs" / "results"
    written = {x.name: x.read_text(encoding="utf-8") for x in folder.glob("*.md")}
    assert written == results.pages(), MEND


def test_forms_that_were_measured():
    sides = {"keras_bert_lite": [2.0], "keras_bert_lite openvino bf16": [0.5]}
    record = {"model": "minilm", "corpus": "sst2", "batch": 8, "rounds": [sides]}
    record |= {"ways": dict.fromkeys(sides, "encode"), "agreement": {}}
    rows = forms._engines({"workloads": [record]})
    assert rows == [
        ["SavedModel, float32", "", "1.00", "", ""],
        ["OpenVINO bfloat16, `OpenVinoModel`", "", "0.25", "", ""],
    ]


def test_a_benchmark_without_tables():
    records = [{"a": 1, "b": {"c": 0.5}}, {"a": 2, "d": None}]
    assert results._listed(records).split("\n") == [
        "| a | b c | d |",
        "| --- | --- | --- |",
        "| 1 | 0.5 |  |",
        "| 2 |  |  |",
    ]
    found = results._listed({"environment": {}, "steps": 3, "runs": records})
    assert "| steps | 3 |" in found
    assert "## runs\n\n| a |" in found


def compiled(chip, rows, milliseconds, data=1, **changes):
    record = {"side": "keras_bert_lite", "task": "masked_lm", "chip": chip}
    record |= {"rows": rows, "length": 128, "preset": "bert_base_uncased", "model": 1}
    record |= {"data": data, "milliseconds": milliseconds, "mfu": 0.5, "gib": 2.5}
    record |= {"fast_dropout": False, "fused_attention": False}
    return {**record, **changes}


def test_scaling_has_the_numbers_of_the_results():
    runs = [{"side": "keras_bert_lite", "tokens": 6000, "seconds": 2.0}]
    steps = [
        compiled("v5e", 125, 20.0),
        compiled("v5e", 250, 80.0),
        compiled("v5e", 500, 20.0, data=2, model=2),
        compiled("v5e", 125, 1.0, side="KerasHub"),
        compiled("v5e", 125, -1.0, mfu=-0.1),
    ]
    page = scaling.page(steps, runs)
    found = [line.strip("| ").split(" | ") for line in page.split("\n") if "| " in line]
    assert [(x[0], x[5]) for x in found[2:]] == [
        ("2 cores, a small BERT", "3,000"),
        ("1 v5e", "800,000"),
        ("1 v5e", "400,000"),
        ("4 v5e, 2 x 2", "3,200,000"),
        ("256 v5e, at best", "204,800,000"),
    ]
    assert float(found[3][6]) == pytest.approx(scaling.TOKENS / 8e5 / 3600, abs=0.1)
    with pytest.raises(ValueError, match="a step of one chip"):
        scaling.page(steps[2:], runs)


def test_scaling_is_of_today():
    if not scaling.COMPILED.exists():
        pytest.skip("there are no results of benchmarks.tpu yet")
    made = scaling.page(
        results.read(scaling.COMPILED), results.read(scaling.MEASURED)["runs"]
    )
    assert scaling.PAGE.read_text(encoding="utf-8") == made, MEND


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures(name):
    path = ROOT / "docs" / "pictures" / f"{name}.svg"
    drawn = pictures.PICTURES[name]().svg()
    assert path.read_text(encoding="utf-8") == drawn, MEND


def test_pictures_of_the_gallery_are_of_today():
    record = (gallery.FOLDER / gallery.RECORD).read_text(encoding="utf-8")
    assert record == gallery.made_from(), MEND


def test_the_gallery_shows_what_it_writes():
    page = gallery.PAGE.read_text(encoding="utf-8")
    files = {x.name: x.stat().st_size for x in gallery.FOLDER.iterdir()}
    assert sum(files.values()) < 400_000
    assert files["attention.html"] < 300_000
    shown = set(re.findall(r"\]\(\.\./pictures/look_inside/(.*?)\)", page))
    written = set(re.findall(r'"(\w+\.(?:png|html))"', page))
    assert shown == written == set(files) - {gallery.RECORD}


def test_the_gallery_keeps_what_its_page_writes(tmp_path, monkeypatch):
    code = """
from pathlib import Path
from PIL import Image

Image.new("RGBA", (2, 3), "#0072B2").save("a.png")
Path("b.html").write_text("b", encoding="utf-8")
"""
    monkeypatch.setattr(gallery, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "made")
    gallery.PAGE.write_text(f"```python{code}```\n", encoding="utf-8")
    gallery.FOLDER.mkdir()
    (gallery.FOLDER / "old.png").touch()
    gallery.main()
    names = [x.name for x in sorted(gallery.FOLDER.iterdir())]
    assert names == ["a.png", "b.html", gallery.RECORD]
    with Image.open(gallery.FOLDER / "a.png") as picture:
        assert (picture.mode, picture.size) == ("P", (2, 3))
        assert picture.convert("RGB").getpixel((0, 0)) == (0x00, 0x72, 0xB2)
    monkeypatch.setattr(gallery, "write", None)  # nothing has changed
    gallery.main()


def test_every_public_name_has_a_page():
    pages = api.pages()
    assert {f"kbl.{x}" for x in kbl.__all__ if x[0] != "_"} <= set(pages)
    assert {f"kbl.data.{x}" for x in kbl.data.__all__} - set(pages) == {
        f"kbl.data.{x}" for x in kbl.data.__all__ if x in kbl.__all__
    }
    page = pages["kbl.text_classifier"]
    for part in ("labels: Sequence[str],", ") -> keras.Model", "```pycon\n>>> "):
        assert part in page
    assert "### `tokenize_with_offsets`" in pages["kbl.WordPieceTokenizer"]


def test_signatures():
    def function(one, *more: int, two: str = "a default", **rest: str) -> None: ...

    line = "f(one, *more: int, two: str = 'a default', **rest: str) -> None"
    assert api.signature("f", function) == line
    long = api.signature("kbl." + "f" * 20, function)
    assert long.startswith(f"kbl.{'f' * 20}(\n    one,\n    *more: int,\n    two")


def test_usage():
    options = [
        Option("data", "str", REQUIRED, False, ""),
        Option("size", "int", REQUIRED, True, ""),
        Option("batch_size", "int", 8, True, ""),
    ]
    usage = "keras-bert-lite train DATA --size SIZE \\\n    [--batch-size 8]"
    assert api.usage("train", options) == usage


def test_docstrings():
    text = """First line.

    Args:
        one: Its text, which
            goes on.

            - a list
        two, three: Both.

    What follows.

    Example:

    >>> 1 + 1
    2
    """
    command = "Example: run this\n"
    assert docstrings.markdown(command) == "## Example\n\n```sh\nrun this\n```"
    assert docstrings.markdown(text) == (
        "First line.\n\n## Arguments\n\n`one`\n: Its text, which\n  goes on.\n\n"
        "  - a list\n\n`two, three`\n: Both.\n\n## Notes\n\nWhat follows.\n\n"
        "## Example\n\n```pycon\n>>> 1 + 1\n2\n```"
    )


def test_links():
    def moved(text):
        return links.moved(text, "README.md", "docs/index.md")

    assert moved("[a](docs/guide/tasks.md#long)") == "[a](guide/tasks.md#long)"
    assert moved("![a](docs/pictures/path.svg)") == "![a](pictures/path.svg)"
    assert moved("[a](tutorials/01.ipynb)") == "[a](tutorials/01.ipynb)"
    assert moved("[a](LICENSE) [b](#here)") == "[a](../LICENSE) [b](#here)"
    assert moved("[a](https://b.c/d)") == "[a](https://b.c/d)"


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    """Returns a function that writes a notebook of a cell, and one that shows it."""
    monkeypatch.setattr(tutorials, "SOURCES", tmp_path / "sources")
    monkeypatch.setattr(tutorials, "EXECUTED", tmp_path / "executed")

    def write(folder, source, *printed):
        (tmp_path / folder).mkdir(exist_ok=True)
        streams = [
            {"output_type": "stream", "name": name, "text": text}
            for name, text in printed
        ]
        cell = {"cell_type": "code", "source": source, "outputs": streams}
        (tmp_path / folder / "01.ipynb").write_text(json.dumps({"cells": [cell]}))

    def shown():
        tutorials.write(tmp_path / "shown")
        (cell,) = json.loads((tmp_path / "shown" / "01.ipynb").read_text())["cells"]
        return cell["source"], [x["text"] for x in cell["outputs"]]

    return write, shown


def test_outputs_of_a_changed_notebook_are_not_shown(notebooks):
    write, shown = notebooks
    write("sources", "1")
    assert shown() == ("1", [])
    write("executed", "1", ("stdout", "out"))
    assert shown() == ("1", ["out"])
    write("sources", "2")
    assert shown() == ("2", [])


def test_outputs_are_what_a_terminal_shows_in_the_end(notebooks):
    write, shown = notebooks
    write("sources", "1")
    bars = [
        ("stdout", "\r1/2 ━"),
        ("stdout", "\x08\x08\r2/2 ━━"),
        ("stdout", "\nend\n"),
    ]
    logs = [("stderr", "a warning\n"), ("stdout", "INFO:tensorflow:Saved\n")]
    write("executed", "1", *bars, *logs)
    assert shown() == ("1", ["2/2 ━━\nend\n"])


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1400


def test_results_in_the_readme_are_those_of_the_pages():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == readme.page(text), MEND
    page = (ROOT / "docs" / "results" / "finetuning.md").read_text(encoding="utf-8")
    (ours, theirs) = [
        next(
            x for x in page.split("\n") if x.startswith(f"| sst2 | 1600, 1 | {side} |")
        )
        for side in ("keras_bert_lite", "transformers")
    ]
    scores = [x.split("accuracy ")[1].split(" ")[0] for x in (ours, theirs)]
    ratio = theirs.split(" | ")[6]
    assert f"| {scores[0]} and {scores[1]}, {ratio} × |" in text
