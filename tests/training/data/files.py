"""Files that the tests write, and the real ones beside the checkout."""

import pytest

from tests.paths import DATA

needs_data = pytest.mark.skipif(
    not (DATA / "glue").is_dir(),
    reason=f"{DATA} has no glue; KERAS_BERT_LITE_DATA names the folder",
)


def write(folder, name, content):
    """Writes text, or bytes as they are, and returns the path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
