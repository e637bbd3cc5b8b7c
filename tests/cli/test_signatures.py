"""Options, read from the source of public functions, and how they are written."""

import importlib
import inspect
from typing import get_args

import pytest
import yaml

import keras_bert_lite_command
from keras_bert_lite.training.data.readers.read import FORMATS, Reading
from keras_bert_lite_command.signatures import (
    REQUIRED,
    described_arguments,
    options_of,
)
from keras_bert_lite_command.verbs import VERBS

DISTIL = "distil a --directory d --steps 4 --teacher t --preprocessor p"


def given(words, capsys):
    """Returns the options as the verb receives them."""
    keras_bert_lite_command.main([*words.split(), "--print-config"])
    return yaml.safe_load(capsys.readouterr().out)


@pytest.mark.parametrize("verb", VERBS)
def test_options_are_those_of_the_function(verb):
    """The source says what the signature does."""
    module, _, name = VERBS[verb].function.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    theirs = dict(inspect.signature(function, eval_str=True).parameters)
    groups = [x for x in theirs.values() if x.kind is x.VAR_KEYWORD]
    shared = [
        name for x in groups for name in get_args(x.annotation)[0].__annotations__
    ]
    theirs = {name: x for name, x in theirs.items() if x not in groups}
    ours = {option.name: option for option in options_of(VERBS[verb].function)}
    assert list(ours) == [*theirs, *shared]
    for name, parameter in theirs.items():
        default = parameter.default
        expected = REQUIRED if default is parameter.empty else default
        assert ours[name].default == expected, name
    assert all(option.help for option in ours.values())


def test_the_options_of_files_are_those_of_the_readers():
    known = {x for f in FORMATS.values() for x in inspect.signature(f).parameters}
    assert set(Reading.__annotations__) - {"format"} <= known


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("fit t a.tsv --batch-size 8", {"task": "t", "batch_size": 8}),
        ("fit t a.tsv --batch_size=8", {"train": "a.tsv", "batch_size": 8}),
        ("fit t --columns.text=s a.tsv", {"columns": {"text": "s"}}),
        (
            "fit t a --columns.text-pair null --columns.text s",
            {"columns": {"text_pair": None, "text": "s"}},
        ),
        ("fit t a --class-weight.not-good=2", {"class_weight": {"not-good": 2}}),
        ("fit t a --class-weight balanced", {"class_weight": "balanced"}),
        ("fit t a --labels no 1", {"labels": ["no", "1"]}),
        ("fit t a --labels no --labels 1", {"labels": ["no", "1"]}),
        (
            "fit t a --labels.intents a --labels.slots O --labels.slots B-X",
            {"labels": {"intents": ["a"], "slots": ["O", "B-X"]}},
        ),
        ("fit t a --no-baseline --epochs 2", {"baseline": False, "epochs": 2.0}),
        ("predict run - --no-progress", {"source": "-", "progress": False}),
        ("check path --no-run", {"run": False}),
        ("check path --run", {"run": True}),
        ("check path", {"run": None}),
        ("tokenize run -5", {"text": "-5"}),
        (f"{DISTIL} --validation b", {"text": ["a"], "validation": ["b"], "steps": 4}),
        ("vocabulary a b --directory d", {"text": ["a", "b"], "directory": "d"}),
        (
            "pretrain d --directory r --steps 2 --masking.rate 0.3 --masking.x true",
            {"masking": {"rate": 0.3, "x": True}},
        ),
        (
            "export saved-model run out --no-warmup --keep 0 1",
            {"warmup": False, "keep": [0, 1]},
        ),
    ],
)
def test_spellings(words, options, capsys):
    assert options.items() <= given(words, capsys).items()


def test_pairs_of_layers(capsys):
    found = given(f"{DISTIL} --layer-pairs [[3,3]]", capsys)
    assert found["layer_pairs"] == [[3, 3]]


def test_what_a_docstring_says_about_arguments():
    docstring = """Does.

    Args:
        a, b: Two
            lines.
        c: See `other`.

    Returns:
        x: Nothing.
    """
    found = described_arguments(inspect.cleandoc(docstring))
    assert found == {"a": "Two lines.", "b": "Two lines.", "c": "See `other`."}
