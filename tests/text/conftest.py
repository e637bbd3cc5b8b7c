"""The golden ids and the tokenizers that must give them."""

import functools
import json

import pytest

from keras_bert_lite import WordPieceTokenizer
from keras_bert_lite.text import parallel
from tests import paths

GOLDEN = paths.GOLDEN / "wordpiece.json"
SHARDS = parallel.SHARDS


@pytest.fixture
def all_shards(monkeypatch):
    """Traces tokenizers for as many cores as users have, against `_short_tracing`."""
    monkeypatch.setattr(parallel, "SHARDS", SHARDS)


@pytest.fixture(scope="session")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def vocabulary(golden):
    return golden["vocabulary"]


@pytest.fixture(scope="session")
def make_tokenizer(golden):
    """Makes the tokenizer of a golden setting, once for all tests."""

    @functools.cache
    def make(setting):
        switches = golden["settings"][setting]["switches"]
        return WordPieceTokenizer(golden["vocabulary"], **switches)

    return make


@pytest.fixture(scope="session")
def tokenizer(make_tokenizer):
    return make_tokenizer("uncased")
