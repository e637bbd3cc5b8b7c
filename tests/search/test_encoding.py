"""Vectors are made in parts, and what was interrupted goes on."""

import fcntl

import numpy as np
import pytest

from keras_bert_lite._finite import NotFinite
from keras_bert_lite.search import encoding as module
from keras_bert_lite.search.encoding import (
    LOCK,
    WORK,
    checked_vectors,
    corpus_vectors,
    unit,
)
from tests.full_disk import full_disk

TEXTS = [f"text {i}" * (1 + i % 3) for i in range(7)]


class Encoder:
    """Makes vectors of length 1 from the lengths of texts, and notes these texts."""

    def __init__(self, ends_after=None):
        self.seen, self.ends_after = [], ends_after

    def __call__(self, texts):
        if len(self.seen) == self.ends_after:
            raise KeyboardInterrupt
        self.seen.append(list(texts))
        return unit(np.array([[len(x), hash(x) % 7 + 1, 1] for x in texts], float))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(module, "PART", 3)


def vectors(encode, folder, texts=TEXTS, key="key"):
    with corpus_vectors(texts, encode, 3, key, folder, False) as found:
        return found.copy()


def test_what_was_interrupted_goes_on(tmp_path):
    whole = Encoder()
    expected = vectors(whole, tmp_path)
    assert [len(x) for x in whole.seen] == [3, 3, 1]
    np.testing.assert_array_equal(expected, Encoder()(TEXTS))
    assert not [*tmp_path.iterdir()]
    for ends_after in (0, 1, 2):
        first, second = Encoder(ends_after), Encoder()
        with pytest.raises(KeyboardInterrupt):
            vectors(first, tmp_path)
        np.testing.assert_array_equal(vectors(second, tmp_path), expected)
        assert first.seen + second.seen == whole.seen
        assert not [*tmp_path.iterdir()]


def test_other_texts_or_another_encoder_begin_anew(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        vectors(Encoder(1), tmp_path)
    for changes in ({"texts": [*TEXTS[:-1], "another"]}, {"key": "other"}):
        fresh = Encoder()
        vectors(fresh, tmp_path, **changes)
        assert [len(x) for x in fresh.seen] == [3, 3, 1]


def test_what_others_left_is_removed_unless_they_are_alive(tmp_path):
    for key in ("left", "alive"):
        with pytest.raises(KeyboardInterrupt):
            vectors(Encoder(1), tmp_path, key=key)
    alive = max(tmp_path.glob(f"{WORK}*"), key=lambda x: x.stat().st_mtime_ns)
    with open(alive / LOCK) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        vectors(Encoder(), tmp_path)
    assert [*tmp_path.iterdir()] == [alive]


def test_one_process_at_a_time(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        vectors(Encoder(1), tmp_path)
    (folder,) = tmp_path.glob(f"{WORK}*")
    with open(folder / LOCK) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="`directory` must not be one that"):
            vectors(Encoder(), tmp_path)
    vectors(Encoder(), tmp_path)


def test_a_full_disk_is_an_error(tmp_path):
    expected = vectors(Encoder(), tmp_path)
    with full_disk(150), pytest.raises(OSError, match="File too large"):
        vectors(Encoder(), tmp_path)
    np.testing.assert_array_equal(vectors(Encoder(), tmp_path), expected)


def test_vectors_that_are_not_finite_are_refused(tmp_path):
    def encode(texts):
        return unit(np.array([[1, 2, np.nan if "5" in x else 3] for x in texts]))

    with pytest.raises(NotFinite, match="`encoder` must be finite numbers"):
        vectors(encode, tmp_path)


def test_given_vectors_are_checked_and_scaled(tmp_path):
    right = Encoder()(TEXTS)
    np.save(tmp_path / "vectors.npy", 3 * right.astype(np.float16))
    found = checked_vectors(tmp_path / "vectors.npy", TEXTS, Encoder(), 3)
    np.testing.assert_allclose(found, right, atol=1e-3)
    wrong = right.copy()
    wrong[3] = right[0] @ [[0, 1, 0], [-1, 0, 0], [0, 0, -1]]
    infinite = right.copy()
    infinite[4, 1] = np.inf
    for value, error, message in (
        (right[:6], ValueError, r"of the shape \(7, 3\).* Received: float32 \(6, 3\)"),
        (right[:, :2], ValueError, r"Received: float32 \(7, 2\)"),
        (right.astype(str), ValueError, "must be numbers"),
        (wrong, ValueError, "Received: one of text 3 whose cosine"),
        (infinite, NotFinite, "`vectors` must be finite numbers.*vector 4"),
    ):
        with pytest.raises(error, match=message):
            checked_vectors(value, TEXTS, Encoder(), 3)
