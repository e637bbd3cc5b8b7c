"""Builds the sdist, and the wheel from it: the same sources give the same bytes.

    python .ci/build_distributions.py dist

Times in the archives are SOURCE_DATE_EPOCH, by default that of the last commit. The
environment has `build` and `setuptools`, which writes its version into the wheel.
"""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ["LICENSE", "README.md", "pyproject.toml", "setup.cfg"]
FOLDERS = ["keras_bert_lite", "keras_bert_lite_command", "saved_models/bert_mini_books"]


def main(directory: Path) -> None:
    os.umask(0o022)
    os.environ.setdefault("SOURCE_DATE_EPOCH", time_of_last_commit())
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        source, unpacked = Path(name, "source"), Path(name, "unpacked")
        copy_sources(source)
        sdist = build("--sdist", source, directory)
        rewrite(sdist, int(os.environ["SOURCE_DATE_EPOCH"]))
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        build("--wheel", next(unpacked.iterdir()), directory)


def time_of_last_commit() -> str:
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "315532800"  # without history: 1980, zip's first year


def copy_sources(source: Path) -> None:
    """Copies what is packaged: builds in a checkout take over files of older ones."""
    source.mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, source)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, symlinks=True)


def build(kind: str, source: Path, directory: Path) -> Path:
    """Returns the file that was built."""
    with tempfile.TemporaryDirectory(dir=directory) as name:
        command = [sys.executable, "-m", "build", "--no-isolation", kind]
        done = subprocess.run(
            [*command, "--outdir", name, str(source)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            sys.exit(done.stdout)
        (built,) = Path(name).iterdir()
        return Path(shutil.move(built, directory / built.name))


def rewrite(sdist: Path, time: int) -> None:
    """Rewrites an archive sorted, without times, owners and modes of this machine."""
    before = sdist.rename(sdist.with_suffix(".old"))
    with (
        tarfile.open(before) as old,
        sdist.open("wb") as raw,
        gzip.GzipFile(sdist.name, "wb", fileobj=raw, mtime=time) as file,
        tarfile.open(fileobj=file, mode="w") as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid = time, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    before.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
