"""The pictures of `guide/look_inside.md`, which its own Python writes.

    python -m docs._code.gallery

The page is run in an empty folder, and what it writes is kept: pictures with 256
colours, so that they are small, other files as they are. Pixels differ between
machines; so whether the files are of today is told by what they were made from: the
page's Python, the modules that draw, and the encoder.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from docs._code import DOCS, ROOT
from tests.docs import run_page

PAGE = DOCS / "guide" / "look_inside.md"
FOLDER = DOCS / "pictures" / "look_inside"
RECORD = "made_from.sha256"
SOURCES = (
    "keras_bert_lite/visualization/*.py",
    "keras_bert_lite/visualization/*.html",
    "saved_models/bert_mini_books/model.safetensors",
)


def main() -> None:
    """Makes the files again if what they are made from has changed."""
    record = FOLDER / RECORD
    if not record.exists() or record.read_text(encoding="utf-8") != made_from():
        write(FOLDER)


def made_from() -> str:
    """Returns a hash of the page's Python, the modules that draw and the encoder."""
    found = hashlib.sha256()
    for _, code, _ in run_page.blocks(PAGE.read_text(encoding="utf-8")):
        found.update(code.encode())
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            found.update(path.read_bytes())
    return f"{found.hexdigest()}\n"


def write(folder: Path) -> None:
    """Runs the page and writes its files, and no others remain."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    with tempfile.TemporaryDirectory() as made:
        subprocess.run(
            [sys.executable, run_page.__file__, PAGE],
            cwd=made,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        for path in Path(made).iterdir():
            if path.suffix == ".png":
                _write_small(path, folder / path.name)
            else:
                (folder / path.name).write_bytes(path.read_bytes())
    (folder / RECORD).write_text(made_from(), encoding="utf-8")


def _write_small(source: Path, target: Path) -> None:
    from PIL import Image  # comes with matplotlib

    with Image.open(source) as picture:
        small = picture.convert("RGB").quantize(dither=Image.Dither.NONE)
    small.save(target, optimize=True)


if __name__ == "__main__":
    main()
