"""The examples in docstrings give what they say."""

import doctest
import importlib
import inspect
import pkgutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl

pytestmark = pytest.mark.tensorflow(reason="examples are TensorFlow's")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Run by another environment, which has what they need.
ELSEWHERE = {
    "keras_bert_lite._beam_files",
    "keras_bert_lite.layers.attention.fused",
    "keras_bert_lite.layers.attention.kernel.attention",
    "keras_bert_lite.layers.attention.kernel.masks",
    "keras_bert_lite.layers.attention.kernel.other_devices",
    "keras_bert_lite.layers.attention.kernel.tpu",
    "keras_bert_lite.layers.tied_table",
    "keras_bert_lite.serving.beam",
    "keras_bert_lite.pretraining.data.beam",
}
# Trains in all its stages.
SLOW = {"finetuning.finetune.finetune", "from_text.distill.distill_encoder"}


def examples():
    finder, found = doctest.DocTestFinder(exclude_empty=True), {}
    for module in pkgutil.walk_packages(kbl.__path__, "keras_bert_lite."):
        if module.name in ELSEWHERE:
            continue
        for test in finder.find(importlib.import_module(module.name)):
            if test.examples:
                found[test.name.removeprefix("keras_bert_lite.")] = test
    return found


EXAMPLES = examples()


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[pytest.mark.slow] * (x in SLOW)) for x in EXAMPLES],
)
def test_example(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keras.utils.set_random_seed(0)
    test = EXAMPLES[name]
    test.globs |= {"kbl": kbl, "keras": keras, "np": np, "tf": tf}
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    assert runner.run(test, out=report.append).failed == 0, "".join(report)


def test_every_public_name_has_one():
    names = set(kbl.__all__) - {"__version__"}
    objects = {name: getattr(kbl, name) for name in names}
    missing = [
        name
        for name, x in objects.items()
        if not inspect.ismodule(x) and ">>>" not in (x.__doc__ or "")
    ]
    assert missing == []
