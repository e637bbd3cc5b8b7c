"""Heads that start from a linear model, beside scikit-learn's."""

import keras
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import keras_bert_lite as kbl
from keras_bert_lite.tasks.task import head_layers
from keras_bert_lite.tasks.warm_start import WarmStart
from keras_bert_lite.training.linear_model import Probe
from keras_bert_lite.tuning import warm_start
from tests import tiny
from tests.conformance import to_numpy

TEXTS = [f"{a} {b}" for a in ("fine", "bad", "the", "not") for b in "abcdefgh"]
LABELS = ["bad", "good", "neither"]
PLAIN = {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.5}


@pytest.fixture(scope="module")
def encoder():
    keras.utils.set_random_seed(0)
    return tiny.encoder(pooling="mean", **PLAIN)


@pytest.fixture(scope="module")
def vectors(encoder):
    return to_numpy(encoder(tiny.preprocessor()(TEXTS))["pooled_output"])


def batches(targets, weights=None, size=5):
    """Batches as a data set gives them, of different lengths."""
    for i in range(0, len(TEXTS), size):
        part = slice(i, i + size)
        rows = tiny.preprocessor()(TEXTS[part])
        given = (targets[part],) if weights is None else (targets[part], weights[part])
        yield (rows, *given)


def logits(model):
    return to_numpy(model(tiny.preprocessor()(TEXTS))["logits"])


def scaled(vectors):
    return vectors / np.linalg.norm(vectors, axis=1).mean()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [1.0, 10.0])
def test_a_classifier_predicts_as_logistic_regression(
    encoder, vectors, strength, weighted
):
    targets = np.arange(len(TEXTS)) % 3
    weights = np.linspace(0.1, 2, len(TEXTS)) if weighted else None
    model = kbl.text_classifier(encoder, LABELS, pooling="mean")
    found = warm_start(model, batches(targets, weights), strengths=[strength])
    other = LogisticRegression(C=strength, tol=1e-8, max_iter=10_000)
    other.fit(scaled(vectors), targets, weights)
    ours = keras.ops.convert_to_numpy(keras.ops.softmax(logits(model)))
    expected = other.predict_proba(scaled(vectors))
    np.testing.assert_allclose(ours, expected, atol=2e-3)
    losses = -np.log(expected[np.arange(len(TEXTS)), targets])
    assert found["logits"].strength == strength
    assert found["logits"].loss == pytest.approx(
        np.average(losses, weights=weights), abs=1e-3
    )


def test_each_of_many_labels_has_a_logistic_regression(encoder, vectors):
    numbers = np.arange(len(TEXTS))
    targets = np.stack([numbers % 2, numbers % 5 == 0, numbers < 9], 1).astype("int32")
    model = kbl.multi_label_classifier(encoder, LABELS, pooling="mean")
    warm_start(model, batches(targets), strengths=[3.0])
    ours = keras.ops.convert_to_numpy(keras.ops.sigmoid(logits(model)))
    for column, expected in enumerate(targets.T):
        other = LogisticRegression(C=3.0, tol=1e-8, max_iter=10_000)
        other.fit(scaled(vectors), expected)
        found = other.predict_proba(scaled(vectors))[:, 1]
        np.testing.assert_allclose(ours[:, column], found, atol=2e-3)


def test_a_regressor_predicts_as_ridge_regression(encoder, vectors):
    targets = np.linspace(-3, 5, len(TEXTS))[:, None].astype("float32")
    model = kbl.regressor(encoder, pooling="mean")
    warm_start(model, batches(targets), strengths=[10.0])
    expected = Ridge(alpha=0.1).fit(scaled(vectors), targets).predict(scaled(vectors))
    np.testing.assert_allclose(logits(model)[:, 0], expected.ravel(), atol=2e-2)


@pytest.mark.parametrize("crf", [False, True])
def test_a_tagger_starts_from_the_words_that_have_a_weight(encoder, crf):
    tags = ["O", "B-X", "I-X"]
    model = kbl.token_classifier(encoder, tags, crf=crf)
    rows = [
        {"words": text.split(), "tags": ["B-X" if "fine" in text else "O", "I-X"]}
        for text in TEXTS
    ]
    data = kbl.token_dataset(rows, tiny.preprocessor(), labels=tags, batch_size=8)
    (found,) = warm_start(model, data, strengths=[10.0]).values()
    words, targets = [], []
    for x, y, weights in data:
        kept = np.asarray(weights) > 0
        words.append(to_numpy(encoder(x)["sequence_output"])[kept])
        targets.append(np.asarray(y)[kept])
    words, targets = scaled(np.concatenate(words)), np.concatenate(targets)
    other = LogisticRegression(C=10.0, tol=1e-8, max_iter=10_000).fit(words, targets)
    losses = -other.predict_log_proba(words)[np.arange(len(targets)), targets]
    assert len(targets) == 2 * len(TEXTS)
    assert found.loss == pytest.approx(losses.mean(), abs=2e-3)


def test_validation_rows_choose_the_strength(encoder):
    generator = np.random.default_rng(0)
    noise = generator.integers(0, 3, len(TEXTS))
    model = kbl.text_classifier(encoder, LABELS, pooling="mean")
    strengths = [1e4, 1e-4]
    kept = warm_start(model, batches(noise), strengths=strengths)["logits"]
    assert kept.strength == 1e4
    other = list(batches(generator.permutation(noise)))
    chosen = warm_start(model, batches(noise), other, strengths)["logits"]
    assert chosen.strength == 1e-4


def test_a_head_with_a_hidden_layer_gets_a_bias():
    model = kbl.text_classifier(
        tiny.encoder(pooling=None, **PLAIN),
        LABELS,
        head_form={"hidden_activation": "tanh"},
    )
    kernel = keras.ops.convert_to_numpy(model.get_layer("head").dense.kernel)
    targets = np.array([0] * 16 + [1] * 8 + [2] * 8)
    probe = warm_start(model, batches(targets))["logits"]
    head = model.get_layer("head").dense
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(head.kernel), kernel)
    shares = keras.ops.convert_to_numpy(keras.ops.softmax(head.bias))
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=1e-6)
    assert probe.strength is None
    assert probe.loss == pytest.approx(1.5 * np.log(2))


def test_a_label_without_rows_keeps_finite_numbers(encoder):
    targets = np.zeros((len(TEXTS), 3), "int32")
    model = kbl.multi_label_classifier(encoder, LABELS, pooling="mean")
    warm_start(model, batches(targets))
    assert np.isfinite(logits(model)).all()
    assert (logits(model) < -3).all()


def test_two_heads(encoder):
    rows = [
        {"text": text, "words": text.split(), "intent": "a", "tags": ["O", "B-X"]}
        for text in TEXTS
    ]
    model = kbl.intent_and_slot_classifier(encoder, ["a", "b"], ["O", "B-X", "I-X"])
    data = kbl.intent_and_slot_dataset(
        rows,
        tiny.preprocessor(),
        intents=["a", "b"],
        slots=["O", "B-X", "I-X"],
        batch_size=8,
    )
    found = warm_start(model, data)
    assert set(found) == {"intent_logits", "slot_logits"}


def test_each_head_starts_again_with_its_own_strength(encoder):
    rows = [
        {"words": text.split(), "intent": text[0], "tags": ["O", "B-X"]}
        for text in TEXTS
    ]
    labels = {"intents": ["b", "f", "n", "t"], "slots": ["O", "B-X", "I-X"]}
    model = kbl.intent_and_slot_classifier(encoder, **labels)
    data = kbl.intent_and_slot_dataset(
        rows, tiny.preprocessor(), batch_size=8, **labels
    )
    start, kernels = WarmStart(model), []
    for strength in (1.0, 10.0):
        strengths = {"intent_logits": 1.0, "slot_logits": strength}
        start.again(data, {name: Probe(x, 0.0) for name, x in strengths.items()})
        heads = [head_layers(model, name).values() for name in strengths]
        kernels.append([to_numpy(head.dense.kernel) for (head,) in heads])
    (intents, slots), (same, others) = kernels
    np.testing.assert_array_equal(intents, same)
    assert np.abs(slots - others).max() > 1e-3


def with_cosine(compared):
    """What a head on compared texts receives, with their cosine beside it."""
    compared = compared.astype("float64")
    cosine = compared[:, -compared.shape[-1] // 4 :].sum(1, keepdims=True)
    return np.hstack([scaled(compared), cosine / cosine.std()])


@pytest.mark.parametrize("labels", [None, LABELS])
def test_compared_texts_have_their_cosine(encoder, labels):
    options = {"pooling": "mean", "compare": True}
    if labels is None:
        model = kbl.regressor(encoder, **options)
        targets = [0.3 * i for i in range(len(TEXTS))]
    else:
        model = kbl.text_classifier(encoder, labels, **options)
        targets = [labels[i % 3] for i in range(len(TEXTS))]
    rows = [
        {"text": x, "text_pair": y, "label": z}
        for x, y, z in zip(TEXTS, TEXTS[5:] + TEXTS[:5], targets, strict=True)
    ]
    columns = {"text": ["text", "text_pair"], "labels": labels}
    data = kbl.text_dataset(rows, tiny.preprocessor(), batch_size=8, **columns)
    warm_start(model, data, strengths=[3.0])
    reader = keras.Model(model.inputs, model.get_layer("head").input)
    x = with_cosine(np.concatenate([to_numpy(reader(x)) for x, _ in data]))
    ours = np.concatenate([to_numpy(model(x)["logits"]) for x, _ in data])
    if labels is None:
        expected = Ridge(alpha=1 / 3).fit(x, targets).predict(x)[:, None]
    else:
        other = LogisticRegression(C=3.0, tol=1e-8, max_iter=10_000).fit(x, targets)
        expected = other.predict_log_proba(x)
        ours = keras.ops.convert_to_numpy(keras.ops.log_softmax(ours))
    np.testing.assert_allclose(ours, expected, atol=2e-2)


@pytest.mark.parametrize("compare", [False, True])
def test_a_choice_is_right_by_logistic_regression(compare):
    keras.utils.set_random_seed(0)
    body = tiny.encoder(pooling=None, **PLAIN)
    options = {"pooling": "mean", "head_form": {}, "compare": compare}
    model = kbl.multiple_choice(body, **options)
    rows = [
        {"text": x, "choices": TEXTS[i : i + 3], "label": i % 3, "weight": 0.5 + i % 2}
        for i, x in enumerate(TEXTS[:20])
    ]
    data = kbl.choice_dataset(
        rows, tiny.preprocessor(), weight="weight", compare=compare, batch_size=6
    )
    warm_start(model, data, strengths=[3.0])
    head = model.get_layer("head")
    reader = keras.Model(model.inputs, head.input)
    parts = [(to_numpy(reader(x)), y.numpy(), w.numpy()) for x, y, w in data]
    vectors = np.concatenate([x.reshape(-1, x.shape[-1]) for x, _, _ in parts])
    right = np.eye(3)[np.concatenate([y for _, y, _ in parts])].reshape(-1)
    weights = np.repeat(np.concatenate([w for _, _, w in parts]), 3)
    other = LogisticRegression(C=3.0, tol=1e-8, max_iter=10_000)
    x = with_cosine(vectors) if compare else scaled(vectors)
    expected = other.fit(x, right, weights).decision_function(x).reshape(-1, 3)
    logits = [to_numpy(model(x)["logits"]) for x, _, _ in data]
    atol = 5e-2 if compare else 2e-2  # L-BFGS stops sooner there
    np.testing.assert_allclose(np.concatenate(logits), expected, atol=atol)


@pytest.mark.parametrize(
    "make",
    [
        lambda encoder: kbl.question_answerer(encoder),
        lambda encoder: kbl.masked_lm(encoder),
        lambda encoder: kbl.sentence_encoder(encoder),
    ],
)
def test_refuses_other_heads(encoder, make):
    with pytest.raises(ValueError, match="must have heads for labels, numbers or"):
        warm_start(make(encoder), [])


def test_refuses(encoder):
    model = kbl.text_classifier(encoder, LABELS, pooling="mean")
    with pytest.raises(ValueError, match="`strengths` must be numbers above 0"):
        warm_start(model, [], strengths=[0.0])
    with pytest.raises(ValueError, match="`data` must have rows"):
        warm_start(model, [])
    none = [(*x, np.zeros(len(x[1]))) for x in batches(np.zeros(len(TEXTS), int))]
    with pytest.raises(ValueError, match=r"with a weight.*none for \['logits'\]"):
        warm_start(model, none)
    with pytest.raises(ValueError, match="`data` must have targets"):
        warm_start(model, [tiny.preprocessor()(TEXTS)])
    with pytest.raises(ValueError, match="made by the builder of a task"):
        warm_start(encoder, [])
    kbl.tuning.enable_lora(model, 2)
    model.get_layer("head").dense.enable_lora(2)
    with pytest.raises(ValueError, match="without LoRA weights"):
        warm_start(model, batches(np.zeros(len(TEXTS), int)))
