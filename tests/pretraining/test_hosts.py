"""Two processes under JAX, over loopback: one run, guarded from each other."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from safetensors import safe_open

import keras_bert_lite as kbl
from tests.pretraining.data.samples import text, write
from tests.pretraining.runs import run

pytestmark = pytest.mark.parity


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "text.txt").write_text(text(), encoding="utf-8")
    write(folder / "text.txt", folder / "data", objective="none")
    return folder


def pair(program, *arguments):
    """Runs a program as two processes; returns them, ended, and what each printed."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = ""  # one device each
    command = [sys.executable, "-m", f"tests.pretraining.{program}"]
    processes = [
        subprocess.Popen(
            [*command, *map(str, (i, port, *arguments))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for i in range(2)
    ]
    outputs = [x.communicate() for x in processes]
    for process, (out, error) in zip(processes, outputs, strict=True):
        print(process.returncode, out, error[-4000:])
    return processes, outputs


@pytest.fixture(scope="module")
def found(folder):
    _, outputs = pair("hosts_program", folder / "data", folder)
    lines = [
        next(x for x in out.splitlines() if x.startswith("{")) for out, _ in outputs
    ]
    return [json.loads(x) for x in lines]


def test_weights_divided_among_processes_are_saved_and_restored(found):
    first, second = found
    assert first == {**second, "terminated": first["terminated"]}
    assert first["divided"] == pytest.approx(first["restored"], rel=1e-12)
    assert first["epochs"] == []


def test_a_state_of_two_processes_is_restored_by_one(folder, found):
    trained, history = run(
        folder / "data", folder / "divided", kbl.masked_lm, steps=4, save_every=2
    )
    assert history.epoch == []
    sizes = [float(abs(x).sum(dtype="float64")) for x in trained.get_weights()]
    assert sizes == pytest.approx(found[0]["divided"], rel=1e-6)


def test_sigterm_to_one_saves_at_the_same_step_on_both(found):
    (name,) = found[0]["terminated"]
    assert 3 <= int(name.split("_")[1].split(".")[0]) < 12
    for one in found:
        assert one["parts"] == one["whole"]


def test_other_settings_are_refused(found):
    for one in found:
        assert "The settings must be the same in all processes" in one["refused"]
        assert "'seed': 0 and 1" in one["refused"]


@pytest.mark.parametrize(
    ("dying", "status", "reason"),
    [
        # JAX ends the other one, if that has not ended by itself.
        (0, (1, -signal.SIGABRT), "Process 0, the coordinator, has died or cannot"),
        (1, (1,), f"Process 1, on {socket.gethostname()}, has given no sign of life"),
    ],
)
def test_a_dead_process_is_named(folder, dying, status, reason):
    given = folder / "data", folder, dying
    processes, outputs = pair("death_program", *given)
    assert time.time() - float(outputs[dying][0].splitlines()[-1]) < 60
    assert processes[dying].returncode == 9
    assert processes[1 - dying].returncode in status
    assert reason in outputs[1 - dying][1]
    assert "start all of them again" in outputs[1 - dying][1]
    (state,) = (folder / f"dies_{dying}").glob("step_*")
    with safe_open(state, "numpy") as file:
        assert len(list(file.keys())) > 10


def test_one_process_writes(folder, found):
    for name in ("divided", "whole"):
        lines = (folder / name / "log.jsonl").read_text().splitlines()
        begun = [x for x in map(json.loads, lines) if x["event"] == "begun"]
        assert {x["processes"] for x in begun[:1]} == {2}
