import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.finetuning.course.contrast import MOST, contrast, pairs
from keras_bert_lite.finetuning.kinds import KINDS
from tests import tiny
from tests.finetuning import samples

TEXTS = ["a", "b", "c", "d", "e"]
LABELS = ["x", "x", "y", "y", "z"]


def test_pairs_say_whether_labels_are_the_same():
    label = dict(zip(TEXTS, LABELS, strict=True))
    found = pairs(TEXTS, LABELS, 0)
    assert all(
        row["same"] == (label[row["first"]] == label[row["second"]]) for row in found
    )
    assert all(row["first"] != row["second"] for row in found)
    shares = np.mean([x["same"] for x in found if x["first"] != "e"])
    assert shares == 0.5
    assert {x["same"] for x in found if x["first"] == "e"} == {0}
    assert found == pairs(TEXTS, LABELS, 0) != pairs(TEXTS, LABELS, 1)
    assert len(pairs(TEXTS * 40, LABELS * 40, 0)) == MOST


def test_only_few_labels_of_single_texts():
    kind = KINDS["text_classification"]()
    rows = samples.texts(24)
    assert kind.few_labels(rows) == (
        [x["text"] for x in rows],
        [x["label"] for x in rows],
    )
    assert kind.few_labels(rows * 10) is None
    assert kind.few_labels(rows[::2]) is None  # one label
    assert KINDS["text_classification"](text_pair="text").few_labels(rows) is None
    assert KINDS["token_classification"]().few_labels(samples.tagged()) is None


@pytest.mark.slow
def test_texts_of_a_label_come_closer():
    model = kbl.text_classifier(tiny.encoder(pooling=None), ["bad", "good"])
    rows = samples.texts(12)
    texts, labels = [x["text"] for x in rows], [x["label"] for x in rows]
    preprocessor = tiny.preprocessor()

    def gap():
        encoder = kbl.sentence_encoder(kbl.encoder_of(model))
        vectors = encoder(preprocessor(texts))
        found = np.asarray(vectors["sentence_embedding"])
        cosines = found @ found.T
        same = np.equal.outer(np.array(labels), np.array(labels))
        return cosines[same].mean() - cosines[~same].mean()

    before = gap()
    contrast(model, preprocessor, texts, labels, 1e-3, 0)
    assert gap() > before + 0.3
