"""The golden ids and the tokenizers that must give them."""

import functools
import json
from pathlib import Path

import pytest

from keras_bert_lite import WordPieceTokenizer

GOLDEN = Path(__file__).parents[1] / "golden" / "wordpiece.json"


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
