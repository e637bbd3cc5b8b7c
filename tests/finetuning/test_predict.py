import io
import json
import sys

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.finetuning import predict
from keras_bert_lite.finetuning.predict import _text_columns
from keras_bert_lite.finetuning.saved_run import SavedRun
from tests import tiny
from tests.finetuning import samples

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")


@pytest.fixture(scope="module")
def model():
    return kbl.with_text(tiny.classifier(), tiny.preprocessor())


def written(model, source, output, **options):
    count = kbl.predict_file(model, source, output, progress=False, **options)
    return count, output.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("id\ttext\tlabel\n1\ta day\tx\n2\t\ty\n", encoding="utf-8")
    return path


def test_json_lines(model, table, tmp_path):
    count, lines = written(model, table, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in lines]
    assert count == len(rows) == 2
    expected = model.predict(["a day", ""], verbose=0)
    assert [x["label"] for x in rows] == expected["label"].tolist()
    assert [x["given_label"] for x in rows] == ["x", "y"]
    assert rows[0]["id"] == "1"
    assert rows[0]["scores"] == pytest.approx(expected["scores"][0].tolist(), rel=1e-5)


def test_a_table(model, tmp_path):
    source = tmp_path / "rows.jsonl"
    row = {"text": "a\tday\nfine", "a\tname": 1}
    source.write_text(json.dumps(row), encoding="utf-8")
    _, (header, line) = written(model, source, tmp_path / "out.tsv")
    assert header.split("\t") == ["text", "a name", "label", "scores"]
    assert line.startswith("a day fine\t1\t")


def test_cells_that_a_spreadsheet_would_run(model, tmp_path):
    rows = [{"text": x, "n": -1} for x in ("=1+1", "+a", "-a", "@a", " =a", "a=b")]
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    _, lines = written(model, source, tmp_path / "out.tsv")
    assert [x.split("\t")[0] for x in lines[1:]] == [x["text"] for x in rows]
    _, lines = written(model, source, tmp_path / "out.tsv", spreadsheet=True)
    cells = [x.split("\t")[:2] for x in lines[1:]]
    assert cells == [
        *(["'" + x["text"], "-1"] for x in rows[:-1]),
        ["a=b", "-1"],
    ]
    with pytest.raises(ValueError, match=r"`spreadsheet` needs an `output` in \.tsv"):
        written(model, source, tmp_path / "out.jsonl", spreadsheet=True)


def test_options_of_the_file(model, tmp_path):
    source = tmp_path / "rows.txt"
    source.write_text("# note\ntext;id\na day;1\n", encoding="utf-8")
    options = {"format": "csv", "delimiter": ";", "comments": "#"}
    count, (line,) = written(model, source, tmp_path / "out.jsonl", **options)
    assert (count, json.loads(line)["text"]) == (1, "a day")
    del options["format"]
    with pytest.raises(ValueError, match="if `format` does not tell another"):
        written(model, source, tmp_path / "out.jsonl", **options)
    with pytest.raises(TypeError, match="unexpected keyword argument 'delimeter'"):
        written(model, source, tmp_path / "out.jsonl", delimeter=";")


def test_columns_of_later_rows(model, tmp_path):
    rows = [{"id": 1, "text": "a"}, {"text": "day", "id": 2}, {"text": "fine"}]
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    _, lines = written(model, source, tmp_path / "out.tsv")
    starts = [line.split("\t")[:2] for line in lines]
    assert starts == [["id", "text"], ["1", "a"], ["2", "day"], ["null", "fine"]]
    source.write_text('{"text": "a"}\n{"text": "day", "id": 2}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"Received: \['id'\] in record 1"):
        written(model, source, tmp_path / "other.tsv")
    assert not (tmp_path / "other.tsv").exists()


def test_answers_of_before_are_kept(model, tmp_path):
    row = {"text": "a", "given_label": "gold", "label": "before"}
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps(row), encoding="utf-8")
    _, (line,) = written(model, source, tmp_path / "out.jsonl")
    found = json.loads(line)
    assert found["given_label"] == "gold"
    assert found["given_given_label"] == "before"


def test_lines_of_text_from_standard_input(model, monkeypatch, capsys):
    written = io.BytesIO(b"\xef\xbb\xbfa day\r\nfine")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(written))
    assert kbl.predict_file(model, "-") == 2
    rows = [json.loads(x) for x in capsys.readouterr().out.splitlines()]
    assert [x["text"] for x in rows] == ["a day", "fine"]


def test_no_rows(model, tmp_path):
    source = tmp_path / "rows.txt"
    source.write_text("", encoding="utf-8")
    assert written(model, source, tmp_path / "out.tsv") == (0, [])


def test_entities_without_padding(tmp_path):
    labels = ["O", "B-X"]
    tagger = kbl.token_classifier(tiny.encoder(), labels)
    head = tagger.get_layer("head").dense
    head.kernel.assign(0 * head.kernel)
    head.bias.assign([0.0, 1.0])  # every word is an entity
    source = tmp_path / "rows.txt"
    source.write_text("a day\nfine\n", encoding="utf-8")
    model = kbl.with_text(tagger, tiny.preprocessor())
    _, lines = written(model, source, tmp_path / "out.jsonl")
    found = [json.loads(line)["entities"] for line in lines]
    assert found == [["a", "day"], ["fine"]]


def test_words_without_a_label_are_no_padding(tmp_path):
    """Those that the tokenizer drops, if no label is `O`."""
    body = kbl.token_classifier(tiny.encoder(pooling=None), labels=["NOUN", "VERB"])
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": ["day", "\\u200b", ""]}', encoding="utf-8")
    model = kbl.with_text(body, tiny.preprocessor())
    _, (line,) = written(model, source, tmp_path / "out.jsonl")
    found = json.loads(line)
    assert found["labels"][0]
    assert (found["labels"][1:], found["scores"][1:]) == (["", ""], [0.0, 0.0])


def test_no_bar_in_a_log_file(model, table, tmp_path, capsys):
    kbl.predict_file(model, table, tmp_path / "out.tsv")  # of unknown length
    assert capsys.readouterr().out == ""
    list(kbl.predict_texts(model, ["a day"] * 3, batch_size=1))
    assert capsys.readouterr().out.startswith("3/3")


def test_refuses(model, table, tmp_path):
    with pytest.raises(ValueError, match=r"`output` must end in .*'out.csv'"):
        kbl.predict_file(model, table, "out.csv")
    (tmp_path / "a.tsv").mkdir()
    with pytest.raises(ValueError, match="`output` must be a file, not a directory"):
        kbl.predict_file(model, table, tmp_path / "a.tsv")
    with pytest.raises(ValueError, match=r"record 0: must have the column 'sentence'"):
        kbl.predict_file(
            model, table, tmp_path / "o.tsv", {"text": "sentence"}, progress=False
        )
    assert not (tmp_path / "o.tsv").exists()
    with pytest.raises(ValueError, match=r"`columns` must name .*\['txt'\]"):
        kbl.predict_file(model, table, tmp_path / "o.tsv", {"txt": "text"})
    source = tmp_path / "rows.jsonl"
    for value in ("null", "5", '["day", "fine"]', '"\\ud83d"'):
        lines = ['{"text": "a"}', f'{{"text": {value}}}']
        source.write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(ValueError, match=r"record 1: `text` must be a string"):
            kbl.predict_file(model, source, tmp_path / "o.tsv", progress=False)
    with pytest.raises(TypeError, match="takes strings, made by `with_text`"):
        kbl.predict_file(tiny.classifier(), table)
    for path in (tmp_path, tmp_path / "none.keras"):
        with pytest.raises(FileNotFoundError, match=r"with a model\.keras"):
            kbl.predict_file(path, table)


def test_choices(tmp_path):
    model = kbl.with_text(kbl.multiple_choice(tiny.encoder()), tiny.preprocessor())
    source = tmp_path / "rows.jsonl"
    rows = samples.rows("multiple_choice", 3)
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for columns in (None, {"text_pair": "choices"}):  # its own name is found
        _, lines = written(model, source, tmp_path / "out.jsonl", columns=columns)
        assert all(json.loads(x)["answer"] in ("fine", "weather") for x in lines)


def test_words_of_a_file(tmp_path):
    body = kbl.token_classifier(tiny.encoder(pooling=None), labels=["O", "B-X", "I-X"])
    model = kbl.with_text(body, tiny.preprocessor())
    source = tmp_path / "rows.conll"
    source.write_text("fine O\nday B-X\n\nthe O\n", encoding="utf-8")
    options = {"columns": {"words": "words"}}
    _, lines = written(model, source, tmp_path / "out.jsonl", **options)
    rows = [json.loads(line) for line in lines]
    assert [x["words"] for x in rows] == [["fine", "day"], ["the"]]
    assert [len(x["labels"]) for x in rows] == [2, 1]
    text = tmp_path / "train.txt"  # the same by its lines
    text.write_bytes(source.read_bytes())
    assert written(model, text, tmp_path / "out.jsonl", **options)[1] == lines
    run = SavedRun(model, {"words": "words", "tags": "tags"})
    assert [*_text_columns(run, {}, {}).values()] == ["words"]
    assert [*_text_columns(run, {"text": "sentence"}, {}).values()] == ["sentence"]
    run = SavedRun(model, {})
    assert [*_text_columns(run, {}, {"words": [], "text": ""}).values()] == ["words"]
    assert [*_text_columns(run, {}, {"text": ""}).values()] == ["text"]
    source = tmp_path / "rows.jsonl"
    source.write_text('{"words": ["fine", "", "day"]}', encoding="utf-8")
    _, (line,) = written(model, source, tmp_path / "out.jsonl", **options)
    first, empty, last = json.loads(line)["labels"]
    assert first
    assert last
    assert not empty


def test_the_source_is_not_overwritten(model, table):
    before = table.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="another file than `source`"):
        kbl.predict_file(model, table, table)
    assert table.read_text(encoding="utf-8") == before


def test_long_texts_are_counted(model, tmp_path):
    source = tmp_path / "rows.txt"
    source.write_text("day " * 20 + "\nday\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="1 of 2 texts have more words"):
        kbl.predict_file(model, source, tmp_path / "out.tsv", progress=False)


def test_one_column_may_be_both_texts(tmp_path):
    body = kbl.text_classifier(tiny.encoder(), ["bad", "good"])
    model = kbl.with_text(body, tiny.preprocessor(), pairs=True)
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "a day"}', encoding="utf-8")
    columns = {"text_pair": "text"}
    _, (line,) = written(model, source, tmp_path / "out.jsonl", columns=columns)
    pair = {"text": ["a day"], "text_pair": ["a day"]}
    expected = model.predict(pair, verbose=0)["scores"][0].tolist()
    assert json.loads(line)["scores"] == pytest.approx(expected, rel=1e-5)


def test_half_a_surrogate_beside_the_text_is_kept(model, tmp_path, capsys):
    source = tmp_path / "rows.jsonl"
    source.write_text(r'{"text": "a day", "x": "\ud800"}', encoding="utf-8")
    _, (line,) = written(model, source, tmp_path / "out.jsonl")
    assert json.loads(line)["x"] == "\ud800"
    _, (_, line) = written(model, source, tmp_path / "out.tsv")
    assert r"\ud800" in line
    kbl.predict_file(model, source)
    assert json.loads(capsys.readouterr().out)["x"] == "\ud800"


def test_numbers_that_json_lacks(model, tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "a day", "score": NaN}', encoding="utf-8")
    _, (line,) = written(model, source, tmp_path / "out.jsonl")
    assert json.loads(line, parse_constant=pytest.fail)["score"] is None
    _, (_, line) = written(model, source, tmp_path / "out.tsv")
    assert line.split("\t")[1] == "null"


def test_an_answer_that_is_no_number_is_refused(model, tmp_path, monkeypatch):
    answer = {"label": np.array("bad"), "scores": np.array([np.nan, 1.0], "float32")}
    monkeypatch.setattr(predict, "predict_texts", lambda *_: iter([answer]))
    source = tmp_path / "rows.txt"
    source.write_text("a day\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match="infinity in 'scores' for record 0 of `source"
    ):
        written(model, source, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("tool", ["doccano", "label_studio", "prodigy", "spacy"])
def test_entities_in_the_form_of_a_tool(tool, tmp_path):
    labels = ["O", "B-X", "I-X"]
    tagger = kbl.token_classifier(tiny.encoder(pooling=None), labels)
    tagger.get_layer("head").dense.bias.assign([0.0, 9.0, 0.0])  # each word is one
    model = kbl.with_text(tagger, tiny.preprocessor())
    row = {"data": {"text": "a fine day"}} if tool == "label_studio" else {}
    source = tmp_path / "texts.jsonl"
    source.write_text(json.dumps(row or {"text": "a fine day", "id": 7}))
    output = tmp_path / "out.jsonl"
    count, (line,) = written(model, source, output, spans=tool)
    found = json.loads(line)
    spans = [[0, 1, "X"], [2, 6, "X"], [7, 10, "X"]]
    named = [dict(zip(("start", "end", "label"), x, strict=True)) for x in spans]
    assert count == 1
    if tool == "label_studio":
        values = [x["value"] for x in found["predictions"][0]["result"]]
        assert [[x["start"], x["end"], *x["labels"]] for x in values] == spans
        assert list(found) == ["data", "predictions"]
    else:
        column = {"doccano": "label", "prodigy": "spans", "spacy": "entities"}[tool]
        expected = named if tool == "prodigy" else spans
        assert found == {"text": "a fine day", "id": 7, column: expected}
        (read,) = kbl.data.read(output)
        assert read["tags"] == ["B-X"] * 3


def test_spans_need_entities_and_json_lines(model, tmp_path):
    source = tmp_path / "texts.jsonl"
    source.write_text('{"text": "a"}')
    with pytest.raises(ValueError, match="`spans` needs a `model` that answers with"):
        written(model, source, tmp_path / "a.jsonl", spans="spacy")
    with pytest.raises(ValueError, match="`spans` needs an `output` in"):
        written(model, source, tmp_path / "a.tsv", spans="spacy")
    options = {"spans": "spacy", "columns": {"text": "x"}}
    with pytest.raises(ValueError, match="`spans` reads the `text` of JSON Lines"):
        written(model, source, tmp_path / "a.jsonl", **options)
    with pytest.raises(ValueError, match="`spans` must be one of"):
        written(model, source, tmp_path / "a.jsonl", spans="brat")
