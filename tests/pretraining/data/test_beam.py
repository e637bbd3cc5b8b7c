"""The pipeline against the function."""

import gzip

import pytest

from tests import tiny
from tests.pretraining.data.samples import files, text, write

pytestmark = pytest.mark.tensorflow(reason="the same code, tested once")
beam = pytest.importorskip("apache_beam")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(text(), encoding="utf-8")
    return path


def run(path, directory):
    from keras_bert_lite.pretraining.data.beam import WritePretrainingData

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


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_reads_and_writes_object_stores(path, tmp_path, suffix):
    from tests import object_store

    write(path, tmp_path / "function")
    want = files(tmp_path / "function")
    text = path.read_bytes()
    source = f"memory://bucket/text.txt{suffix}"
    object_store.FILES[source] = gzip.compress(text) if suffix else text
    target = f"memory://bucket/data{suffix}"
    run(source, target)
    found = object_store.under(target)
    if suffix:  # another name of the text, in the settings and the index
        shards = [x for x in want if x.endswith(".tfrecord")]
        assert [found[x] for x in shards] == [want[x] for x in shards]
        return
    assert found == want
    damaged = "000001.tfrecord"
    object_store.FILES[f"{target}/{damaged}"] = b"damaged"
    stored = object_store.STORED
    stored.clear()
    run(source, target)
    assert object_store.under(target) == found
    assert [x for x in stored if x.endswith(".tfrecord")] == [f"{target}/{damaged}"]
    path.write_text("other text", encoding="utf-8")
    with pytest.raises(ValueError, match="`directory` must be empty, or hold data"):
        run(path, target)
    with pytest.raises(FileNotFoundError, match="`text` must be a file"):
        run("memory://bucket/none.txt", target)


def test_a_truncated_file_of_an_object_store(path, tmp_path):
    from tests import object_store

    source = "memory://bucket/truncated.gz"
    object_store.FILES[source] = gzip.compress(path.read_bytes())[:-20]
    with pytest.raises(Exception, match=r"truncated\.gz: must be a whole compressed"):
        run(source, tmp_path / "data")


def test_refuses_text_without_any(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(Exception, match="`text` must hold text"):
        run(path, tmp_path / "data")
