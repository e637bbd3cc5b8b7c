import itertools

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.serving import offline
from tests import tiny
from tests.threads import check_in_threads

TEXTS = [tiny.TEXTS[i % 4] * (1 + i % 7) for i in range(50)]


@pytest.fixture(scope="module")
def model():
    return kbl.with_text(tiny.classifier(initializer_range=0.3), tiny.preprocessor())


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    return kbl.export_saved_model(model, tmp_path_factory.mktemp("m"), warmup=False)


@pytest.mark.parametrize("saved", [False, True])
def test_answers_come_in_the_order_of_the_texts(model, path, saved, monkeypatch):
    monkeypatch.setattr(offline, "WINDOW", 2)
    source = path if saved else model
    answers = list(kbl.predict_texts(source, TEXTS, batch_size=8, progress=False))
    expected = model.predict(TEXTS, verbose=0)
    assert [x["label"] for x in answers] == expected["label"].tolist()
    scores = np.stack([x["scores"] for x in answers])
    np.testing.assert_allclose(scores, expected["scores"], atol=1e-5)


def test_many_threads(model, path):
    call = offline.saved_function(path)[0]
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    assert np.ptp(expected[:, 0]) > 0.005
    check_in_threads(lambda x: call(text=x)["scores"], tiny.TEXTS, expected)


def test_reads_no_more_than_a_window_ahead(model, monkeypatch):
    monkeypatch.setattr(offline, "WINDOW", 1)
    read = []
    texts = (read.append(i) or text for i, text in enumerate(TEXTS))
    answers = kbl.predict_texts(model, texts, batch_size=4, progress=False)
    next(answers)
    assert len(read) == 4
    assert len(list(answers)) == len(TEXTS) - 1


def test_texts_of_like_length_share_a_batch(model, monkeypatch):
    batches = []
    call, names = offline._callable(model)

    def spy(**texts):
        batches.append([len(x) for x in texts["text"]])
        return call(**texts)

    monkeypatch.setattr(offline, "_callable", lambda _: (spy, names))
    list(kbl.predict_texts(model, TEXTS, batch_size=10, progress=False))
    assert batches == [sorted(x) for x in batches]
    assert all(a[-1] <= b[0] for a, b in itertools.pairwise(batches))


def test_pairs(tmp_path):
    model = kbl.with_text(
        tiny.classifier(initializer_range=0.3), tiny.preprocessor(), pairs=True
    )
    path = kbl.export_saved_model(model, tmp_path, warmup=False)
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    expected = model.predict((TEXTS, TEXTS[::-1]), verbose=0)
    for source in (model, path.parent):
        answers = list(kbl.predict_texts(source, pairs, progress=False))
        assert [x["label"] for x in answers] == expected["label"].tolist()


def test_shows_progress(model, capsys):
    list(kbl.predict_texts(model, TEXTS[:3]))
    assert "3/3" in capsys.readouterr().out


def test_no_texts(model):
    assert list(kbl.predict_texts(model, [], progress=False)) == []


def test_refusals(model):
    with pytest.raises(TypeError, match="`texts` must be strings in a list"):
        kbl.predict_texts(model, "one text")
    with pytest.raises(ValueError, match="`batch_size` must be"):
        kbl.predict_texts(model, [], batch_size=0)
    with pytest.raises(TypeError, match="a string-in model or the path"):
        kbl.predict_texts(tiny.classifier(), ["a"])
    with pytest.raises(ValueError, match="does not exist"):
        kbl.predict_texts("/no/such/model", ["a"])
    with pytest.raises(TypeError, match=r"Text 1 must be a string\. Received: 7"):
        list(kbl.predict_texts(model, ["a", 7], progress=False))
    with pytest.raises(
        ValueError, match=r"Text 0 must be what the model takes, \['text'\]"
    ):
        list(kbl.predict_texts(model, [("a", "b")], progress=False))
