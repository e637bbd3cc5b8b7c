"""tokenizer.json with values of other types, in every place: refused by name."""

import copy
import json
import warnings

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer
from tests import tiny
from tests.text.token_samples import ADDED, MAKERS, SPECIAL

VALUES = [5, "x", [], {}, None, True, [5], {"a": 5}]
STEPS = ["quotes", "lowercase", "strip_accents", "strip"]


def places(value, before=()):
    """Yields the paths to what a JSON value holds, a few of each list."""
    yield before
    if isinstance(value, dict):
        for key in list(value)[:12]:
            yield from places(value[key], (*before, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:2]):
            yield from places(inner, (*before, i))


def changed(content, path, value):
    if not path:
        return value
    content = copy.deepcopy(content)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return content


@pytest.mark.parametrize("kind", MAKERS)
def test_loads_or_names_the_file(kind, tmp_path, monkeypatch):
    arguments = {"normalization": STEPS} if kind == "unigram" else {}
    tokenizer = MAKERS[kind](
        added_tokens=ADDED, additional_special_tokens=SPECIAL, **arguments
    )
    write_tokenizer(kbl.Preprocessor(tokenizer, 32), tiny.config(), tmp_path)
    path = tmp_path / "tokenizer.json"
    content = json.loads(path.read_text())
    # What is read here is the file; building the tokenizer is tested elsewhere.
    monkeypatch.setattr(type(tokenizer), "_build_ops", lambda *arguments: None)
    unnamed = []
    for place in places(content):
        for value in VALUES:
            path.write_text(json.dumps(changed(content, place, value)))
            try:
                with warnings.catch_warnings():  # of keys that are not known
                    warnings.simplefilter("ignore")
                    kbl.load_preprocessor(tmp_path)
            except ValueError as error:
                if str(tmp_path) not in str(error):
                    unnamed.append((place, value, str(error)))
    assert not unnamed
