"""The command: what it prints and its exit status."""

import subprocess
import sys

import pytest
import tensorflow as tf

import keras_bert_lite_command
from keras_bert_lite_command.verbs import VERBS
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


@pytest.mark.parametrize("arguments", [(), ("check",), ("check", "a", "b"), ("serve",)])
def test_usage(arguments, capsys):
    assert status(*arguments) == 2
    assert "usage: keras-bert-lite" in capsys.readouterr().err


def test_help(capsys):
    assert status("--help") == 0
    output = capsys.readouterr().out
    assert "demo" in output
    assert "check" in output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        *(((verb, "--help"), 0) for verb in VERBS),
        (("--version",), 0),
        (("serve",), 2),
        (("pretrain", "data", "--steps", "many"), 2),
    ],
)
def test_answers_about_arguments_without_tensorflow(arguments, code):
    program = (
        "import atexit, sys\n"
        "loaded = lambda: {x.split('.')[0] for x in sys.modules}\n"
        "atexit.register(lambda: print(loaded() & {'tensorflow', 'keras', 'numpy'}))\n"
        "import keras_bert_lite_command\n"
        f"keras_bert_lite_command.main({list(arguments)})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, "set()")
