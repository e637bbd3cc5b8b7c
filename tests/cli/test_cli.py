"""The command: what it prints and its exit status."""

import json
import subprocess
import sys

import pytest
import tensorflow as tf

import keras_bert_lite_command
from keras_bert_lite_command.verbs import VERBS, Verb
from tests.serving.saved_models import lengths, save

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")


def status(*arguments):
    with pytest.raises(SystemExit) as stop:
        keras_bert_lite_command.main([str(argument) for argument in arguments])
    return stop.value.code


def test_check_a_good_model(tmp_path, capsys):
    path = save(tmp_path / "m" / "1", lengths)
    assert status("check", tmp_path / "m") == 0
    assert capsys.readouterr().out.startswith(f"{path}: ok for TF Serving 2.12.1, ")


def test_check_a_bad_model(tmp_path, capsys):
    assert status("check", tmp_path) == 1
    output = capsys.readouterr().out
    assert output.startswith(f"{tmp_path}: not servable\n  problem: ")


def test_check_without_running(tmp_path, capsys):
    def reads(text):
        return {"text": text + tf.io.read_file(__file__)}

    path = save(tmp_path / "m" / "1", lengths)
    assert status("check", path, "--no-run") == 0
    assert "It was not run here" in capsys.readouterr().out
    path = save(tmp_path / "r" / "1", reads)
    assert status("check", path) == 1
    assert "ReadFile reads files" in (output := capsys.readouterr().out)
    assert "It was not run here" in output
    assert status("check", path, "--run") == 1
    assert "It was not run here" not in capsys.readouterr().out


def test_usage(capsys):
    keras_bert_lite_command.main([])
    assert "usage: keras-bert-lite" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check",), "the following arguments are required: path"),
        (("check", "a", "b"), "there is no option b"),
        (("serve",), "the verb must be one of demo, fit, "),
        (
            ("export",),
            "one of export saved-model, export onnx, export openvino, export litert. "
            "Received",
        ),
        (("export", "pdf"), "Received: 'export pdf'"),
        (("fit", "regression", "x.tsv", "--minutes", "five"), "float value: 'five'"),
        (("fit", "regression", "x.tsv", "--epochs"), "--epochs: expected one argument"),
        (("fit", "regression", "x.tsv", "--epoch", "1"), "did you mean --epochs?"),
        (
            ("fit", "regression", "x.tsv", "--columns", "text=a"),
            "argument --columns: takes .NAME VALUE",
        ),
        (("fit", "--config", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_a_wrong_argument_is_told_in_one_line(arguments, message, capsys):
    assert status(*arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert "--help" in line


def test_a_wrong_value_is_refused_by_the_function(capsys):
    assert status("fit", "tagging", "x.tsv") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: `task` must be one of ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"task: [a\n b: c", "must be YAML in UTF-8"),
        (b"batchsize: 3", "did you mean batch_size?"),
        (b"", "must hold options by name. Received: None"),
        (b"- a", "must hold options by name. Received: ['a']"),
        (b"train: caf\xe9", "must be YAML in UTF-8"),
    ],
)
def test_a_file_without_options_is_named(content, message, tmp_path, capsys):
    file = tmp_path / "run.yaml"
    file.write_bytes(content)
    assert status("fit", "--config", str(file)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert str(file) in line
    assert message in line


def test_help_of_a_group(capsys):
    keras_bert_lite_command.main(["export", "--help"])
    assert capsys.readouterr().out.count("  export ") == 4


def test_help(capsys):
    keras_bert_lite_command.main(["--help"])
    output = capsys.readouterr().out
    assert "demo" in output
    assert "check" in output


STATUSES = {
    **{f"{verb} --help": 0 for verb in VERBS},
    "--version": 0,
    "serve": 2,
    "pretrain data --directory run --steps many": 2,
}
WITHOUT_TENSORFLOW = """
import json, sys
import keras_bert_lite_command
statuses = {}
for line in json.loads(sys.argv[1]):
    try:
        keras_bert_lite_command.main(line.split())
        statuses[line] = 0
    except SystemExit as stop:
        statuses[line] = stop.code or 0
    loaded = {x.split(".")[0] for x in sys.modules}
    assert not loaded & {"tensorflow", "keras", "numpy"}, line
print(json.dumps(statuses))
"""


def test_answers_about_arguments_without_tensorflow():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, json.dumps(list(STATUSES))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == STATUSES


@pytest.mark.parametrize("arguments", [("--version",), ("fit", "--help")])
def test_output_that_nobody_reads(arguments):
    program = (
        "import sys, keras_bert_lite_command\n"
        "sys.stdin.read()\n"
        f"keras_bert_lite_command.main({list(arguments)})\n"
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""


def test_a_word_that_begins_with_a_hyphen(capsys):
    keras_bert_lite_command.main(["tokenize", "bert_mini_books", "-5 degrees"])
    assert "'degrees'" in capsys.readouterr().out


@pytest.mark.parametrize(("verb", "goes_on"), [("fit", True), ("predict", False)])
def test_interrupted(verb, goes_on, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Verb, "run", interrupted)
    assert status(verb, "a", "b") == 130
    assert ("goes on" in capsys.readouterr().err) == goes_on
