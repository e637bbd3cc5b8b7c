"""The states of a run, of a model that trains in a moment."""

import json
import os
import re
import signal
import sys

import keras
import numpy as np
import pytest
import safetensors
import tensorflow as tf

from keras_bert_lite._files import DRAFT, LOCK
from keras_bert_lite.training.divergence import Diverged
from keras_bert_lite.training.resume import state
from keras_bert_lite.training.resume.state import fit_from_state
from tests.pretraining.interrupts import Interrupts


def run(
    directory,
    steps=6,
    optimizer="adam",
    batch_size=4,
    callbacks=(),
    dropout=0,
    temporary=False,
):
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dropout(dropout), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((2,)), *layers])
    model.compile(optimizer, "mse")
    rows = tf.data.Dataset.from_tensors((np.ones((batch_size, 2)), np.ones(batch_size)))
    settings = {"batch_size": batch_size}
    given = {"steps": steps, "save_every": 2, "callbacks": list(callbacks)}
    given["temporary"] = temporary
    batches = rows.repeat()
    return model, fit_from_state(
        model, lambda start: batches, directory, settings, **given, verbose=0
    )


def test_a_state_that_is_not_whole_is_passed_over(tmp_path, capsys):
    run(tmp_path / "run")
    last = sorted((tmp_path / "run").glob("*.safetensors"))[-1]
    last.write_bytes(last.read_bytes()[:100])
    _, history = run(tmp_path / "run")
    assert history.epoch == [2]
    assert "is corrupt and is skipped" in capsys.readouterr().out
    names = [x.name for x in (tmp_path / "run").glob("*.safetensors")]
    assert sorted(names) == ["step_000000004.safetensors", "step_000000006.safetensors"]


@pytest.mark.parametrize("place", [20, 500, -1])
def test_a_flipped_bit_of_a_state_is_found(tmp_path, capsys, place):
    run(tmp_path / "run")
    last = sorted((tmp_path / "run").glob("*.safetensors"))[-1]
    content = bytearray(last.read_bytes())
    content[place] ^= 1
    last.write_bytes(content)
    _, history = run(tmp_path / "run")
    assert history.epoch == [2]
    assert "is corrupt and is skipped" in capsys.readouterr().out


def test_settings_of_a_run_that_are_damaged(tmp_path):
    run(tmp_path / "run", steps=2)
    (tmp_path / "run" / "run.json").write_text('{"steps"')
    with pytest.raises(ValueError, match=r"run\.json: is damaged, so .* delete them"):
        run(tmp_path / "run", steps=2)


def test_no_state_that_is_whole(tmp_path):
    run(tmp_path / "run")
    for path in (tmp_path / "run").glob("*.safetensors"):
        path.write_bytes(b"half")
    with pytest.raises(ValueError, match=r"hold an intact state.*000006"):
        run(tmp_path / "run")


def test_a_state_that_cannot_be_read(tmp_path, monkeypatch):
    run(tmp_path / "run")

    def refuse(path, _):
        raise PermissionError(path)

    monkeypatch.setattr(safetensors, "safe_open", refuse)
    with pytest.raises(PermissionError, match="000006"):
        run(tmp_path / "run")


def test_what_killed_saves_left_goes(tmp_path):
    left = tmp_path / "run" / f"{DRAFT}killed"
    left.mkdir(parents=True)
    (left / LOCK).touch()
    run(tmp_path / "run", steps=2)
    assert not left.exists()
    (saved,) = (tmp_path / "run").glob("*.safetensors")
    assert saved.stat().st_mode & 0o777 == 0o644


def test_other_settings_where_nothing_is_saved(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", callbacks=[Interrupts(1)])
    _, history = run(tmp_path / "run", batch_size=2)
    assert history.epoch == [0, 1, 2]


def test_takes_an_optimizer(tmp_path):
    def once(rate):
        optimizer = keras.optimizers.SGD(rate, momentum=0.5)
        return run(tmp_path / "run", steps=2, optimizer=optimizer)

    assert isinstance(once(0.1)[0].optimizer, keras.optimizers.SGD)
    _, history = once(0.1)
    assert history.epoch == []
    with pytest.raises(ValueError, match="'optimizer: config: learning_rate'"):
        once(0.2)


def test_an_optimizer_in_another(tmp_path):
    for _ in range(2):  # Keras counts the inner ones too
        inner = keras.optimizers.SGD(0.1)
        optimizer = keras.optimizers.LossScaleOptimizer(inner)
        _, history = run(tmp_path / "run", steps=2, optimizer=optimizer)
    assert history.epoch == []


def test_states_without_settings(tmp_path):
    run(tmp_path / "run", steps=2)
    (tmp_path / "run" / "run.json").unlink()
    with pytest.raises(ValueError, match="states and no run"):
        run(tmp_path / "run", steps=2)


@pytest.mark.parametrize(("step", "saved"), [(3, 3), (4, 4)])
def test_saves_when_terminated(tmp_path, capsys, step, saved):
    """Within an epoch and at its end; the run then ends with the same weights."""
    whole, _ = run(tmp_path / "whole", dropout=0.5)
    before = signal.getsignal(signal.SIGTERM)
    terminates = Interrupts(step, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", dropout=0.5, callbacks=[terminates])
    assert signal.getsignal(signal.SIGTERM) is before
    assert f"SIGTERM: saved after step {saved} in" in capsys.readouterr().out
    parts, history = run(tmp_path / "run", dropout=0.5)
    assert history.epoch == ([1, 2] if step == 3 else [2])
    assert len(history.history["loss"]) == len(history.epoch)
    for a, b in zip(whole.get_weights(), parts.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_save_that_fails_ends_the_run(tmp_path, monkeypatch):
    def full(path, values):
        raise OSError("no space left")

    monkeypatch.setattr(state, "write_state", full)
    steps = []
    counts = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: steps.append(batch)
    )
    with pytest.raises(OSError, match="no space left"):
        run(tmp_path / "run", callbacks=[counts])
    assert len(steps) < 6  # or of the last save, at the end
    with pytest.raises(OSError, match="no space left"):
        run(tmp_path / "other", steps=2)


def test_saves_use_memory_that_was_taken_before(tmp_path, monkeypatch):
    written = []

    def noted(path, values, write=state.write_state):
        written.append(list(values.values()))
        write(path, values)

    monkeypatch.setattr(state, "write_state", noted)
    run(tmp_path / "run", dropout=0.5)
    first, *others = written
    assert len(others) == 2
    for other in others:
        assert all(x is y for x, y in zip(first, other, strict=True))


def test_two_runs_in_a_directory(tmp_path):
    class Second(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            with pytest.raises(
                ValueError, match=rf"in use by process {os.getpid()} on"
            ):
                run(tmp_path / "run")

    run(tmp_path / "run", callbacks=[Second()])
    run(tmp_path / "run")  # the lock has gone


def test_the_log_of_a_run(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", callbacks=[Interrupts(3)])
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    begun, saved = map(json.loads, lines)
    assert [begun["event"], saved["event"]] == ["begun", "saved"]
    assert begun["command"] == sys.argv
    assert begun["versions"]["keras"] == keras.__version__
    assert saved["step"] == 2


def test_a_run_without_a_directory_promises_nothing(tmp_path, capsys):
    terminates = Interrupts(3, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", callbacks=[terminates], temporary=True)
    message = capsys.readouterr().out
    assert "SIGTERM: ended after step 3" in message
    assert "goes on" not in message


def test_no_state_of_a_run_that_diverged(tmp_path):
    class Spoils(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                self.model.layers[-1].bias.assign([np.nan])

    for callbacks in ([Spoils()], [Interrupts(99)]):
        rate = 0.25 if isinstance(callbacks[0], Spoils) else 1e30
        with pytest.raises(Diverged, match=re.escape(f"Received: {rate}")):
            run(tmp_path / str(rate), optimizer=keras.optimizers.SGD(rate),
                callbacks=callbacks)  # fmt: skip
    names = [x.name for x in (tmp_path / "0.25").glob("*.safetensors")]
    assert names == ["step_000000002.safetensors"]
    assert not list((tmp_path / "1e+30").glob("*.safetensors"))
    for line in (tmp_path / "0.25" / "log.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)
