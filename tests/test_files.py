"""What is written appears whole or not at all, and what was killed goes."""

import signal
import subprocess
import sys

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
