"""The badges of the tutorials."""

import json
import shutil

from docs._code import ROOT, badges

TUTORIALS = ROOT / "tutorials"
REPOSITORY = "owner/keras_bert_lite"
NAME = "01_classify_text.ipynb"


def contents(folder):
    files = sorted(folder.glob("*.ipynb")) + sorted(folder.glob("*.py"))
    return {path: path.read_text(encoding="utf-8") for path in files}


def test_tutorials_have_the_badges_of_the_repository():
    assert badges.written(TUTORIALS, badges.REPOSITORY) == contents(TUTORIALS)


def test_a_badge_is_behind_the_title_of_each_notebook_and_script(tmp_path):
    shutil.copytree(TUTORIALS, tmp_path / "tutorials")
    texts = badges.written(tmp_path / "tutorials", REPOSITORY)
    link = f"github/{REPOSITORY}/blob/main/tutorials/{NAME})"
    cell = "".join(
        json.loads(texts[tmp_path / "tutorials" / NAME])["cells"][0]["source"]
    )
    assert cell.split("\n\n")[1].endswith(link)
    for path, text in texts.items():
        name = path.with_suffix(".ipynb").name
        assert text.count(f"tutorials/{name})") == 1
        path.write_text(text, encoding="utf-8")
    assert badges.written(tmp_path / "tutorials", REPOSITORY) == texts
    without = badges.written(tmp_path / "tutorials", "")
    committed = badges.written(TUTORIALS, "")
    assert {x.name: without[x] for x in without} == {
        x.name: committed[x] for x in committed
    }
