"""From a text file to a model, by the commands."""

import json
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
import keras_bert_lite_command
from tests import tiny
from tests.pretraining.data.samples import text

pytestmark = pytest.mark.tensorflow(reason="the same commands, tested once")


def command(*arguments):
    keras_bert_lite_command.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A vocabulary, data with pairs and without, and a configuration."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "books.txt").write_text(text(), encoding="utf-8")
    names = ("books.txt", "pieces", "pairs", "packed", "config.json")
    books, pieces, pairs, packed, config = (folder / name for name in names)
    command("vocabulary", books, "--directory", pieces, "--size", 120)
    shared = ("--preprocessor", pieces, "--sequence-length", 24, "--workers", 1)
    shared += ("--seed", 3)
    command("pretraining-data", books, "--directory", pairs, *shared)
    command(
        *("pretraining-data", books, "--directory", packed, "--objective", "none"),
        *("--pack", "--sentences", "split", *shared),
    )
    fields = tiny.config(num_layers=1, dropout=0.0).to_dict()
    config.write_text(json.dumps(fields), encoding="utf-8")
    return folder


SMALL = ("--steps", 4, "--batch-size", 4, "--save-every", 2, "--seed", 1)


def test_from_text_to_a_model(folder, tmp_path, capsys):
    arguments = ("--encoder-config", folder / "config.json", "--directory", tmp_path)
    more = ("--validation", folder / "pairs", "--tensorboard", tmp_path / "logs")
    command("pretrain", folder / "pairs", *arguments, *more, *SMALL)
    assert str(tmp_path / "model") in capsys.readouterr().out
    assert list((tmp_path / "logs").iterdir())
    model = kbl.load_model(tmp_path / "model")
    assert set(model.output) == {"prediction_logits", "seq_relationship_logits"}
    preprocessor = kbl.load_preprocessor(tmp_path / "model")
    ids = preprocessor(["a fine day"])
    before = model(ids)["prediction_logits"]
    command("pretrain", folder / "pairs", *arguments, *SMALL)  # done: nothing to do
    after = kbl.load_model(tmp_path / "model")(ids)["prediction_logits"]
    np.testing.assert_array_equal(before, after)


@pytest.mark.slow
def test_goes_on_from_a_checkpoint(folder, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    data, config = folder / "packed", folder / "config.json"
    command("pretrain", data, "--encoder-config", config, "--directory", first, *SMALL)
    more = ("--optimizer", "lamb", "--accumulate", 2, "--gradient-checkpointing")
    more += ("--precision", "mixed_bfloat16")
    command(
        *("pretrain", data, "--model", first / "model", "--directory", second),
        *(*SMALL, *more, "--learning-rate", 1e-3),
    )
    assert set(kbl.load_model(second / "model").output) == {"prediction_logits"}
    assert keras.config.dtype_policy().name == "float32"


@pytest.mark.slow
@pytest.mark.parametrize("data", ["packed", "pairs"])
def test_replaced_tokens(folder, tmp_path, data):
    fields = tiny.config(family="electra", pooling=None, num_heads=4).to_dict()
    config = tmp_path / "electra.json"
    config.write_text(json.dumps(fields), encoding="utf-8")
    command(
        *("pretrain", folder / data, "--encoder-config", config, "--replaced-tokens"),
        *("--directory", tmp_path / "run", *SMALL),
    )
    assert set(kbl.load_model(tmp_path / "run" / "model").output) == {"logits"}


@pytest.mark.filterwarnings("default:The encoder has no pooler")
def test_pairs_without_a_pooler(folder, tmp_path, capsys):
    fields = tiny.config(pooling=None).to_dict()
    config = tmp_path / "config.json"
    config.write_text(json.dumps(fields), encoding="utf-8")
    run = ("--directory", tmp_path / "run", *SMALL)
    command("pretrain", folder / "pairs", "--encoder-config", config, *run)
    assert "training masked words only" in capsys.readouterr().err


def test_deterministic(folder, tmp_path, monkeypatch):
    called = []
    enable = lambda: called.append(True)  # noqa: E731 - for good, in this process
    monkeypatch.setattr(tf.config.experimental, "enable_op_determinism", enable)
    arguments = ("--encoder-config", folder / "config.json", "--directory", tmp_path)
    command("pretrain", folder / "pairs", *arguments, *SMALL, "--deterministic")
    assert called == [True]


def test_a_run_is_a_file(folder, tmp_path, capsys):
    run = (
        "--encoder-config",
        folder / "config.json",
        "--directory",
        tmp_path / "run",
        *SMALL,
    )
    run += ("--masking", '{"rate": 0.3}', "--cooldown", 0.5)
    command("pretrain", folder / "pairs", *run, "--deterministic", "--print-config")
    config = tmp_path / "run.yaml"
    config.write_text(printed := capsys.readouterr().out)
    assert "deterministic: true\n" in printed
    assert f"encoder_config: {folder / 'config.json'}\n" in printed
    more = ("--no-deterministic", "--verbose", 0)
    command("pretrain", "--config", config, *more)
    model = tmp_path / "run" / "model"
    assert capsys.readouterr().out.startswith(f"{model}: the model, ")
    assert kbl.load_model(model).count_params() > 0
    settings = json.loads((tmp_path / "run" / "run.json").read_text())
    assert settings["masking"]["rate"] == 0.3
    schedule = settings["optimizer"]["config"]["learning_rate"]["config"]
    assert schedule["cooldown_steps"] == 2
    command("pretrain", "--config", config, "--print-config")
    assert capsys.readouterr().out == printed


def test_one_bar_for_the_run(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    run = ("--encoder-config", folder / "config.json", "--directory", tmp_path)
    held_out = ("--validation", folder / "pairs")
    command("pretrain", folder / "pairs", *run, *held_out, *SMALL)
    output = capsys.readouterr().out
    assert "4/4" in (last := output.split("\r")[-1])
    assert "val_loss" in last
    saves = [x for x in output.split("\n") if "tokens_per_second" in x]
    assert [x.split("\x1b[K")[1].split(":")[0] for x in saves] == ["step 2", "step 4"]
    assert "Epoch" not in output
    sorted(tmp_path.glob("*.safetensors"))[-1].unlink()  # as if killed before it
    command("pretrain", folder / "pairs", *run, *held_out, *SMALL)
    output = capsys.readouterr().out
    assert output.startswith("Resumed after step 2 of 4.\n")
    assert "2/2" in output.split("\r")[-1]


def test_no_bar_in_a_log_file(folder, tmp_path, capsys):
    run = ("--encoder-config", folder / "config.json", "--directory", tmp_path)
    command("pretrain", folder / "pairs", *run, *SMALL)
    first, second, *last = capsys.readouterr().out.splitlines()
    assert first.startswith("step 2: loss: ")
    assert second.startswith("step 4: ")
    assert not any("\r" in x or "━" in x for x in last)


def test_a_text_that_is_not_utf8(tmp_path, capsys):
    path = tmp_path / "books.txt"
    path.write_bytes(b"a fine day\na \xff day\n")
    with pytest.raises(SystemExit):
        command("vocabulary", path, "--directory", tmp_path / "pieces")
    assert capsys.readouterr().err.startswith(f"error: {path}:2: must be UTF-8.")


@pytest.mark.parametrize("content", ["[", "{}", '{"colour": 1}'])
def test_a_config_that_is_none(content, folder, tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(content)
    run = ("--directory", tmp_path / "run", "--encoder-config", path, *SMALL)
    with pytest.raises(SystemExit):
        command("pretrain", folder / "pairs", *run)
    assert capsys.readouterr().err.startswith(f"error: {path}: ")


def test_no_such_config(folder, tmp_path):
    run = ("--directory", tmp_path, "--encoder-config", "bert_mini", *SMALL)
    with pytest.raises(FileNotFoundError, match=r"one of .*bert_tiny.*'bert_mini'"):
        command("--debug", "pretrain", folder / "pairs", *run)


def test_refuses(folder, tmp_path, capsys):
    data, run = folder / "pairs", ("--directory", tmp_path, "--steps", 4)
    named = ("--encoder-config", "bert_tiny_uncased")
    with pytest.raises(FileNotFoundError, match="`data` must hold pretraining data"):
        command("--debug", "pretrain", tmp_path, *named, *run)
    with pytest.raises(SystemExit):
        command("pretrain", data, *run)
    assert "error: One of `encoder_config`" in capsys.readouterr().err
    run += ("--encoder-config", folder / "config.json", "--save-every", 3)
    with pytest.raises(ValueError, match="`steps` must be a multiple of `save_every`"):
        command("--debug", "pretrain", data, *run)
