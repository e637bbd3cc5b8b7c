"""The demo does what `make demo` shows."""

import pytest

import keras_bert_lite_command
from keras_bert_lite import demo


def test_messages():
    training, evaluation = demo.messages()
    assert (len(training), len(evaluation)) == (1440, 36)
    assert {label for _, label in training} == {0, 1, 2}
    assert demo.messages() == (training, evaluation)


@pytest.mark.slow
def test_demo(tmp_path, capfd):
    keras_bert_lite_command.main(["demo", "--directory", str(tmp_path / "messages")])
    output = capfd.readouterr().out
    assert (tmp_path / "messages" / "1" / "saved_model.pb").is_file()
    accuracy = output.split("held out: ")[1].split()[0]
    assert float(accuracy) > 0.9
    answers = output.split("alone:\n")[1].splitlines()
    labels = [line.split()[0] for line in answers[:3]]
    assert labels == ["delivery", "payment", "account"]
    assert answers[-1] == f"next: keras-bert-lite check {tmp_path / 'messages'}"


def test_help(capsys):
    keras_bert_lite_command.main(["--help"])
    assert "demo" in capsys.readouterr().out
