"""The verbs: their options, errors and what they print."""

import json
import os
import subprocess
import sys

import pytest

import keras_bert_lite as kbl
import keras_bert_lite_command
from keras_bert_lite_command import memory
from keras_bert_lite_command.signatures import REQUIRED
from keras_bert_lite_command.verbs import VERBS
from tests import tiny
from tests.finetuning import samples

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")


def test_options_of_files(tmp_path, capsys):
    """`#` is a comment in YAML, and a shell passes on a tab as two characters."""
    path = tmp_path / "train.txt"
    path.write_text("# x=1\nAnn\t1\tB-X\tNN\n", encoding="utf-8")
    options = ("--encoder", samples.encoder(), "--format", "conll", "--comments", "#")
    options += ("--delimiter", r"\t", "--tag-column", 2)
    command("debug-data", "token_classification", path, *options)
    assert "labels: B-X 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command("evaluate", "run", path, "--format", "xml")
    assert "`format` must be one of" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [*VERBS])
def test_help_has_an_example_and_every_option(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        command(*verb.split(), "--help")
    assert not stop.value.code
    shown = capsys.readouterr().out
    assert f"Example: keras-bert-lite {verb}" in shown
    for option in VERBS[verb].options():
        assert option.help
        position = option.default is REQUIRED and not option.keyword
        name = option.name if position else f"--{option.name.replace('_', '-')}"
        assert f"\n  {name}" in shown


def command(*arguments):
    keras_bert_lite_command.main([str(x) for x in arguments])


def test_makes_an_index_and_searches_it(tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("bad weather\na fine day\n", encoding="utf-8")
    index, encoder = tmp_path / "index", tmp_path / "encoder"
    model = kbl.sentence_encoder(tiny.encoder(pooling=None))
    kbl.save_hugging_face(model, tiny.preprocessor(), encoder)
    command("index", encoder, tmp_path / "texts.txt", index, "--hybrid")
    assert f"{index / '1'}: for TensorFlow Serving" in capsys.readouterr().out
    command("search", index, "the day")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:] for line in lines] == [
        ["1", "a", "fine", "day"],
        ["0", "bad", "weather"],
    ]


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.tsv"
    lines = [f"{x['text']}\t{x['label']}" for x in samples.texts()]
    path.write_text("\n".join(["sentence\tlabel", *lines]), encoding="utf-8")
    return path


@pytest.fixture
def undecided(monkeypatch):
    """No one has decided about memory; what a test does is undone."""
    monkeypatch.setenv(memory.VARIABLE, "")
    monkeypatch.delenv(memory.VARIABLE)


@pytest.mark.usefixtures("undecided")
def test_memory_is_kept():
    memory.keep_memory()
    assert os.environ[memory.VARIABLE] == "true"


def test_the_user_decides_about_memory(monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "false")
    memory.keep_memory()
    assert os.environ[memory.VARIABLE] == "false"


@pytest.mark.slow
@pytest.mark.usefixtures("undecided")
def test_from_a_table_to_answers(train, tmp_path, capsys):
    run = tmp_path / "run"
    command(
        *("fit", "text_classification", train, "--columns.text=sentence"),
        *("--directory", run, "--encoder", samples.encoder(), "--epochs", 2),
        *("--verbose", 0, "--batch-size", 8),
    )
    assert os.environ[memory.VARIABLE] == "true"
    output = capsys.readouterr().out
    assert "| this model | 100.0 |" in output
    command("evaluate", run, train)
    assert json.loads(capsys.readouterr().out)["scores"]["accuracy"] == 1
    command("predict", run, train, "--output", run / "answers.tsv", "--no-progress")
    answers = (run / "answers.tsv").read_text().splitlines()
    assert len(answers) == 25
    assert answers[0].split("\t") == ["sentence", "given_label", "label", "scores"]


def test_a_run_is_a_file(train, tmp_path, capsys):
    arguments = ("fit", "text_classification", train, "--minutes", 2)
    command(*arguments, "--print-config")
    config = tmp_path / "run.yaml"
    config.write_text(capsys.readouterr().out)
    command("fit", "--config", config, "--minutes", 3, "--print-config")
    assert "minutes: 3.0" in (again := capsys.readouterr().out)
    assert f"train: {train}" in again


def test_keys_of_a_file_stay_beside_those_given(tmp_path, capsys):
    config = tmp_path / "run.yaml"
    config.write_text("columns: {text: sentence}\ntrain: x.tsv\n")
    arguments = ("fit", "regression", "--config", config, "--columns.label", "y")
    command(*arguments, "--print-config")
    assert "columns:\n  text: sentence\n  label: y\n" in capsys.readouterr().out


def test_looks_at_data(train, capsys):
    options = ("--encoder", samples.encoder(), "--columns", '{"text": "sentence"}')
    command("debug-data", "text_classification", train, *options)
    assert "labels: bad 12, good 12" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        command("debug-data", "regression", train, *options)
    assert stop.value.code == 1
    assert "record 0: `label` must be a number" in capsys.readouterr().out


@pytest.mark.slow
def test_errors_are_a_line_in_a_program_of_its_own():
    arguments = ["fit", "text_classification", "none.tsv"]
    program = f"import keras_bert_lite_command as c; c.main({arguments})"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: `train` must be a file")
    assert ran.stderr.count("\n") == 1


def test_errors_are_a_line(capsys):
    with pytest.raises(SystemExit) as stop:
        command("evaluate", "none", "none.tsv")
    assert stop.value.code == 1
    assert capsys.readouterr().err.startswith("error: `model` must be a .keras file")


def test_debug_shows_the_traceback():
    with pytest.raises(FileNotFoundError):
        command("evaluate", "none", "none.tsv", "--debug")


def test_pieces_for_eyes(capsys):
    command("tokenize", samples.encoder(), "a fine day")
    lines = [x.split() for x in capsys.readouterr().out.splitlines()]
    assert [x[0] for x in lines] == ["'a'", "'fine'", "'day'"]
    assert lines[1][2:] == ["2", "6", "'fine'"]


def test_sizes(capsys):
    command("summary", samples.encoder())
    assert "hidden_dim          16\n" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["hugging_face", "keras", "saved_model"])
def test_converts(form, tmp_path):
    command("convert", samples.encoder(), tmp_path, "--form", form)
    names = {x.name for x in tmp_path.iterdir()}
    expected = {"hugging_face": "config.json", "keras": "model.keras"}
    assert expected.get(form, "1") in names


def test_what_cannot_be_converted_leaves_nothing(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command("convert", "bert_mini_books", tmp_path / "hub", "--form", "keras_hub")
    assert "ElectraBackbone cannot be" in capsys.readouterr().err
    assert not (tmp_path / "hub").exists()


def test_convert_keeps_the_files_of_others(tmp_path):
    command("convert", samples.encoder(), tmp_path, "--form", "keras")
    command("convert", samples.encoder(), tmp_path, "--form", "keras")  # once more
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(ValueError, match=r"hold a model\.keras and .*other files"):
        kbl.convert(samples.encoder(), tmp_path, form="keras")
    with pytest.raises(ValueError, match="`directory` must not be, or be in, a file"):
        kbl.convert(samples.encoder(), tmp_path / "report.json", form="keras")


def test_converts_a_run(tmp_path):
    model = tiny.classifier(["x", "y"])
    kbl.with_text(model, tiny.preprocessor()).save(tmp_path / "model.keras")
    command("convert", tmp_path, tmp_path / "files")
    loaded = kbl.load_model(tmp_path / "files")
    assert loaded.get_layer("head").labels == ["x", "y"]
    command("convert", tmp_path / "model.keras", tmp_path / "again", "--form", "keras")
    assert (tmp_path / "again" / "model.keras").is_file()


def test_what_an_export_needs_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        command("export", "onnx", tmp_path, tmp_path / "m.onnx")
    assert "`pip install 'keras-bert-lite[onnx]'`" in capsys.readouterr().err


def test_exports(tmp_path):
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor())
    model.save(tmp_path / "model.keras")
    command("export", "saved-model", tmp_path, tmp_path / "saved")
    assert (tmp_path / "saved" / "1" / "saved_model.pb").is_file()
    command("export", "litert", tmp_path / "model.keras", tmp_path / "m.tflite")
    assert (tmp_path / "m.tflite").is_file()


def test_a_model_of_ones_own(tmp_path, capsys):
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor())
    model.save(tmp_path / "model.keras")
    (tmp_path / "lines.txt").write_text("a day\nfine\n")
    command("predict", tmp_path / "model.keras", tmp_path / "lines.txt")
    assert len(capsys.readouterr().out.splitlines()) == 2
