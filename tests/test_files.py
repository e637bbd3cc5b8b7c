"""What is written appears whole or not at all, and what was killed goes."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from keras_bert_lite import _files as files

# Loads the module alone: the package takes seconds to import.
WRITER = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("files", sys.argv[1])
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)
with getattr(files, sys.argv[2])(pathlib.Path(sys.argv[3]), *sys.argv[4:]) as draft:
    (draft / "a" if draft.is_dir() else draft).write_text("new")
    print("writing", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def begin():
    """Starts processes that write, and wait for a line."""
    processes = []

    def start(kind, path, *options):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, files.__file__, kind, str(path), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout.readline() == "writing\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def kill(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with files.replaced_file(path) as draft:
        draft.write_text("first")
        assert not path.exists()
    files.write_text(path, "ä")
    assert path.read_bytes() == "ä".encode()
    assert names(path.parent) == ["a.txt"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_leaves_the_old_one(tmp_path, error):
    files.write_text(tmp_path / "a.txt", "old")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mark").touch()
    for draft_of in (
        files.replaced_file(tmp_path / "a.txt"),
        files.new_directory(tmp_path / "c"),
        files.replaced_directory(tmp_path / "b", "mark"),
    ):
        with pytest.raises(error), draft_of:
            raise error
    assert names(tmp_path) == ["a.txt", "b"]
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path / "b") == ["mark"]


def test_a_directory_takes_the_place_of_one_of_its_kind(tmp_path):
    for text in ("one", "two"):
        with files.replaced_directory(tmp_path / "a", "mark") as draft:
            (draft / "mark").write_text(text)
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a" / "mark").read_text() == "two"
    for refused in (tmp_path, tmp_path / "a" / "mark"):
        with (
            pytest.raises(ValueError, match=r"`directory` must.*Received"),
            files.replaced_directory(refused, "mark"),
        ):
            pass


def test_a_directory_with_other_files_than_its_kind_has(tmp_path):
    (tmp_path / "mark").touch()
    with files.replaced_directory(tmp_path, "mark", ["mark"]) as draft:
        (draft / "mark").write_text("new")
    (tmp_path / "notes.txt").touch()
    with (
        pytest.raises(ValueError, match=r"hold a mark and what belongs .*other files"),
        files.replaced_directory(tmp_path, "mark", ["mark"]),
    ):
        raise AssertionError
    assert names(tmp_path) == ["mark", "notes.txt"]


def test_two_writers_at_once(tmp_path):
    """Of a directory that is replaced the last one stays, a new one is not replaced."""
    for name in ("first", "second"):
        with files.replaced_directory(tmp_path / "a", "mark") as draft:
            (draft / "mark").write_text(name)
            with files.replaced_directory(tmp_path / "a", "mark") as other:
                (other / "mark").write_text("other")
        assert (tmp_path / "a" / "mark").read_text() == name
    with (
        pytest.raises(FileExistsError, match=r"b must not exist\. Another process"),
        files.new_directory(tmp_path / "b"),
        files.new_directory(tmp_path / "b") as draft,
    ):
        (draft / "mark").touch()
    assert names(tmp_path) == ["a", "b"]


def test_a_swap_waits_for_another(tmp_path):
    done = []

    def replace():
        with files.replaced_directory(tmp_path / "a", "mark") as draft:
            (draft / "mark").touch()
        done.append(True)

    with files._locked(tmp_path):
        thread = threading.Thread(target=replace)
        thread.start()
        thread.join(0.05)
        assert not done
    thread.join()
    assert done


def test_a_file_in_the_place_of_a_directory(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "x" / "y"):
        with pytest.raises(ValueError, match=r"must not be, or be in, a file.*file"):
            files.check_directory(path)
    files.check_directory(tmp_path / "new")


def test_a_failed_write_leaves_no_folder_and_names_the_place(tmp_path):
    (tmp_path / "full").mkdir()
    for path in (tmp_path / "full" / "x" / "a.txt", tmp_path / "y" / "z" / "a.txt"):
        with (
            pytest.raises(OSError, match=rf"The disk must have room .*{path}"),
            files.replaced_file(path),
        ):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == ["full"]
    assert not names(tmp_path / "full")


def test_a_directory_that_cannot_take_its_place(tmp_path):
    """The old one, moved away already, comes back."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mark").touch()
    with (
        pytest.raises(FileNotFoundError),
        files.replaced_directory(tmp_path / "a", "mark") as draft,
    ):
        draft.rmdir()
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["mark"]


@pytest.mark.parametrize("kind", ["new_directory", "replaced_file"])
def test_what_killed_writers_left_goes(tmp_path, begin, kind):
    for _ in range(3):
        kill(begin(kind, tmp_path / "killed"))
    assert len(names(tmp_path)) == 1  # each has removed the one before
    alive = begin(kind, tmp_path / "alive")
    with files.new_directory(tmp_path / "mine"):
        assert len(names(tmp_path)) == 2  # mine and the other's
        files.remove_left_over(tmp_path)
        assert len(names(tmp_path)) == 2
    alive.communicate("\n")
    assert alive.returncode == 0
    assert names(tmp_path) == ["alive", "mine"]


def test_folders_of_others_stay(tmp_path):
    (tmp_path / ".draft-of-a-book").mkdir()
    (tmp_path / ".draft-file").touch()
    files.write_text(tmp_path / "a.txt", "")
    assert names(tmp_path) == [".draft-file", ".draft-of-a-book", "a.txt"]


def test_killed_when_the_old_one_was_away(tmp_path, begin):
    """No copy is left but the one in the draft: it comes back."""
    kill(begin("new_directory", tmp_path / "a"))
    (draft,) = tmp_path.iterdir()
    (draft / files.OLD / "a").mkdir()
    (draft / files.OLD / "a" / "mark").touch()
    files.remove_left_over(tmp_path)
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["mark"]


def test_a_draft_that_is_taken_for_left_over(tmp_path, monkeypatch):
    """Between the making of its lock and the locking, another process removes it."""
    lock, seen = files.fcntl.flock, []

    def late(descriptor, flags):
        if not seen:
            seen.extend(tmp_path.iterdir())
            files.remove_left_over(tmp_path)
        lock(descriptor, flags)

    monkeypatch.setattr(files.fcntl, "flock", late)
    with files.new_directory(tmp_path / "a"):
        assert not seen[0].exists()
    assert names(tmp_path) == ["a"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("Operation not supported")

    (tmp_path / ".draft-x").mkdir()
    (tmp_path / ".draft-x" / files.LOCK).touch()
    monkeypatch.setattr(files.fcntl, "flock", refuse)
    files.write_text(tmp_path / "a.txt", "whole")
    assert names(tmp_path) == [".draft-x", "a.txt"]


def test_a_directory_is_told_before_anything_is_written(tmp_path):
    told = pytest.raises(IsADirectoryError, match="is a directory, where a file")
    with told, files.replaced_file(tmp_path):
        raise AssertionError


def test_json_has_null_for_what_it_has_no_number_for():
    value = {"a": [1.5, float("nan")], "b": {"c": float("-inf")}, "d": "é"}
    text = files.to_json(value, ensure_ascii=False)
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": [1.5, None],
        "b": {"c": None},
        "d": "é",
    }
    assert "é" in text


@pytest.mark.parametrize("path", ["file", "file/run", "/dev/null", "/dev/null/run"])
def test_no_directory_can_be_made_of_a_file(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=f"must not be, or be in, a file.*'{path}'"):
        files.check_directory(path)
    files.check_directory(tmp_path / "new" / "run")


def test_folders_made_for_what_failed_are_removed(tmp_path):
    kept, new = tmp_path / "kept", tmp_path / "new" / "run"
    kept.mkdir()
    for folder in (kept, new):
        with pytest.raises(KeyboardInterrupt), files.replaced_file(folder / "a"):
            raise KeyboardInterrupt
    assert [x.name for x in tmp_path.iterdir()] == ["kept"]
    with (
        pytest.raises(KeyboardInterrupt),
        files.folder_to_fill(new),
        files.replaced_file(new / "a" / "b"),
    ):
        raise KeyboardInterrupt
    assert [x.name for x in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("error", "free", "full"),
    [
        (OSError(errno.ENOSPC, "no space"), 10**9, True),
        (RuntimeError("12 requested and 0 written"), 0, True),
        (RuntimeError("another"), 10**9, False),
    ],
)
def test_a_full_disk_is_named_with_the_file(error, free, full, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    expected = files.FullDisk if full else type(error)
    with (
        pytest.raises(expected) as raised,
        files.replaced_file(tmp_path / "model.keras"),
    ):
        raise error
    if full:
        assert raised.value.filename == str(tmp_path / "model.keras")
        assert f"free, of {tmp_path}" in str(raised.value)
    assert not list(tmp_path.iterdir())
