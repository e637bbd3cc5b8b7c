"""A run of `finetune` is explained by the words that its rows depend on."""

import numpy as np
import pytest

import keras_bert_lite as kbl

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tensorflow(reason="string-in models need TensorFlow"),
]


def test_the_words_that_matter(tmp_path):
    words = {"good": ["lovely", "wonderful", "kind"], "bad": ["awful", "cruel", "dull"]}
    rows = [
        {"text": f"it was {article} {word} day for the king", "label": label}
        for label, several in words.items()
        for word in several
        for article in ("a", "that", "one", "his")
    ]
    kbl.finetune(
        "text_classification",
        rows,
        rows,
        directory=tmp_path / "run",
        epochs=4,
        baseline=False,
        verbose=0,
    )
    for label, word in (("good", "lovely"), ("bad", "cruel")):
        found = kbl.explain(tmp_path / "run", f"it was the {word} day of a queen")
        assert found.target == label
        assert found.pieces[np.argmax(found.attributions)].token == word
