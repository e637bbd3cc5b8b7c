"""The pipeline against the function."""

import pytest

from tests import tiny
from tests.training.pretraining.data.samples import files, text, write

pytestmark = pytest.mark.tensorflow(reason="the same code, tested once")
beam = pytest.importorskip("apache_beam")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(text(), encoding="utf-8")
    return path


def run(path, directory):
    from keras_bert_lite.training.pretraining.data.beam import WritePretrainingData

    with beam.Pipeline() as pipeline:  # the DirectRunner
        preprocessor = tiny.preprocessor(32)
        made = WritePretrainingData(path, directory, preprocessor, chunk_bytes=1000)
        pipeline | made


def test_writes_the_same_bytes(path, tmp_path):
    done = write(path, tmp_path / "function")
    run(path, tmp_path / "pipeline")
    assert done["shards"] > 3
    assert files(tmp_path / "pipeline") == files(tmp_path / "function")


def test_goes_on_where_it_was(path, tmp_path):
    run(path, tmp_path / "data")
    want = files(tmp_path / "data")
    (tmp_path / "data" / "000001.tfrecord").unlink()
    others = {x: x.stat().st_mtime_ns for x in (tmp_path / "data").glob("*.tfrecord")}
    run(path, tmp_path / "data")
    assert files(tmp_path / "data") == want
    assert {x: x.stat().st_mtime_ns for x in others} == others


def test_refuses_text_without_any(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(Exception, match="`text` must hold text"):
        run(path, tmp_path / "data")
