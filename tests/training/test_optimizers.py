"""The optimizer that BERT is fine-tuned with."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.optimizers import (
    AdamW,
    Lamb,
    OptimizerStart,
    bert_adamw,
    bert_lamb,
    depths_below_head,
)
from tests import tiny
from tests.policies import dtype_policy
from tests.training.samples import (
    FAMILIES,
    INPUTS,
    TARGETS,
    changed,
    classifier,
    compiled,
    same,
    values,
)

tensorflow_only = pytest.mark.tensorflow(reason="only TensorFlow has gradients so")
HEADS = {
    "text_classifier": lambda encoder: kbl.text_classifier(encoder, ["a", "b"]),
    "token_classifier": lambda encoder: kbl.token_classifier(encoder, ["a", "b"]),
    "question_answerer": kbl.question_answerer,
    "masked_lm": kbl.masked_lm,
    "replaced_token_detector": kbl.pretraining.replaced_token_detector,
}
OTHERS = [head for head in HEADS if head != "text_classifier"]


def update(optimizer, model, gradients):
    """Applies a gradient to each weight: a number, or arrays by path."""
    weights = model.trainable_weights
    if not isinstance(gradients, dict):
        gradients = {x.path: np.full(x.shape, gradients, "float32") for x in weights}
    tensors = [keras.ops.convert_to_tensor(gradients[x.path]) for x in weights]
    optimizer.apply(tensors, weights)


def random_gradients(model, count):
    generator = np.random.default_rng(5)
    return [
        {x.path: random_array(generator, x.shape) for x in model.trainable_weights}
        for _ in range(count)
    ]


def random_array(generator, shape):
    return generator.normal(size=shape).astype("float32")


def ones(model):
    for weight in model.weights:
        weight.assign(np.ones(weight.shape, "float32"))


def test_has_the_values_of_the_paper():
    optimizer = bert_adamw(steps=1000)
    assert optimizer.decoupled_weight_decay == 0.01
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.999, 1e-6)
    assert optimizer.global_clipnorm == 1.0
    schedule = keras.optimizers.schedules.deserialize(
        optimizer.get_config()["learning_rate"]
    )
    expected = {"peak": 5e-5, "steps": 1000, "warmup_steps": 100, "accumulate": 1}
    assert schedule.get_config() == {**expected, "cooldown_steps": None}


def test_has_a_cooldown():
    optimizer = bert_adamw(100, accumulate=2, warmup=0.2, cooldown=0.5)
    schedule = optimizer.get_config()["learning_rate"]["config"]
    assert (schedule["warmup_steps"], schedule["cooldown_steps"]) == (10, 25)
    with pytest.raises(
        ValueError, match=r"`cooldown` must be .*Received: cooldown=0.9"
    ):
        bert_adamw(100, warmup=0.2, cooldown=0.9)


def test_without_steps_keeps_the_rate():
    optimizer = bert_adamw(None, learning_rate=3e-4)
    assert float(optimizer.learning_rate) == pytest.approx(3e-4)


@pytest.mark.parametrize(
    ("family", "head"),
    [*((x, "text_classifier") for x in FAMILIES), *(("bert", x) for x in OTHERS)],
)
def test_biases_and_normalizations_do_not_decay(family, head):
    model = HEADS[head](tiny.encoder(num_layers=1, **FAMILIES[family]))
    ones(model)
    before = values(model)
    update(bert_adamw(None, 0.5, weight_decay=0.5), model, 0.0)
    matrices = {x.path for x in model.weights if len(x.shape) > 1}
    assert changed(before, values(model)) == matrices
    assert {round(float(values(model)[path].max()), 6) for path in matrices} == {0.75}


def shares(model, layer_decay=0.5):
    """The share of the rate that each weight gets, as Adam's first update shows."""
    ones(model)
    update(
        bert_adamw(None, 0.1, 0, 0, layer_decay=layer_decay, clip_norm=None), model, 1.0
    )
    moved = {path: float((1 - x.mean()) / 0.1) for path, x in values(model).items()}
    return {path: round(share, 4) for path, share in moved.items()}


def test_layers_learn_the_slower_the_lower_they_are():
    got = shares(tiny.classifier(num_layers=3))
    assert got["head/dense/kernel"] == got["pooler/dense/bias"] == 1
    assert got["blocks/block_2/attention/query/kernel"] == 0.5
    assert got["blocks/block_1/output_norm/beta"] == 0.25
    assert got["blocks/block_0/feed_forward/intermediate_dense/bias"] == 0.125
    below = {x for path, x in got.items() if path.startswith("embeddings/")}
    assert below == {0.0625}


def test_a_shared_block_is_one_layer():
    got = shares(tiny.classifier(num_layers=4, **FAMILIES["albert"]))
    assert {x for path, x in got.items() if "/block_0/" in path} == {0.5}
    assert {x for path, x in got.items() if "embeddings/" in path} == {0.25}


def test_what_deberta_has_beside_its_blocks_is_low():
    got = shares(tiny.classifier(**FAMILIES["deberta"]))
    assert got["blocks/convolution/norm/gamma"] == 0.25
    assert got["blocks/relative_table/embedding/embeddings"] == 0.125


def test_weight_decay_follows_the_rate_of_the_layer():
    model = tiny.classifier()
    ones(model)
    update(bert_adamw(None, 0.5, weight_decay=0.5, layer_decay=0.5), model, 0.0)
    got = values(model)
    assert got["head/dense/kernel"].max() == pytest.approx(1 - 0.25)
    assert got[
        "blocks/block_0/feed_forward/output_dense/kernel"
    ].max() == pytest.approx(1 - 0.0625)


def test_depths_of_the_layers_that_train():
    paths = ["a/block_3/x/kernel", "a/embeddings/token_embedding/embeddings", "b/bias"]
    assert depths_below_head(paths) == [1, 5, 0]
    # A part of a block may have the name of the convolution beside the first one.
    paths = ["a/block_3/convolution/kernel", "a/convolution/kernel"]
    assert depths_below_head(paths) == [1, 4]


def test_refuses_layer_decay_without_blocks():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="only")])
    with pytest.raises(ValueError, match=r"`layer_decay` needs .*: .*only/kernel"):
        update(bert_adamw(None, layer_decay=0.9), model, 1.0)


@pytest.mark.parity
@pytest.mark.parametrize("layer_decay", [None, 0.8])
def test_equals_torch(layer_decay):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = classifier()
    # So small, or it would show: see the next test.
    arguments = {"lr": 1e-2, "eps": 1e-12}
    ours = bert_adamw(12, 1e-2, epsilon=1e-12, warmup=0.25, layer_decay=layer_decay)
    paths = [x.path for x in model.trainable_weights]
    depths = depths_below_head(paths) if layer_decay else [0] * len(paths)
    twins = {p: torch.nn.Parameter(torch.tensor(x)) for p, x in values(model).items()}
    groups = [
        {
            "params": [twins[path]],
            "lr": arguments["lr"] * (layer_decay or 1) ** depth,
            "weight_decay": 0.0 if twins[path].ndim == 1 else 0.01,
        }
        for path, depth in zip(paths, depths, strict=True)
    ]
    theirs = torch.optim.AdamW(groups, **arguments)
    schedule = transformers.get_linear_schedule_with_warmup(theirs, 3, 12)
    for gradients in random_gradients(model, 12):
        update(ours, model, gradients)
        for path, twin in twins.items():
            twin.grad = torch.tensor(gradients[path])
        torch.nn.utils.clip_grad_norm_(twins.values(), 1.0)
        theirs.step()
        schedule.step()
    same(values(model), {p: x.detach().numpy() for p, x in twins.items()}, 1e-6)


@tensorflow_only
def test_one_pass_is_the_update_that_keras_composes(monkeypatch):
    start, results = values(classifier()), []
    for one_pass in (True, False):
        model, optimizer = classifier(), AdamW(1e-2, weight_decay=0.1)
        check = lambda self, variable, choice=one_pass: choice  # noqa: E731
        monkeypatch.setattr(AdamW, "_updates_in_one_pass", check)
        for gradients in random_gradients(model, 3):
            update(optimizer, model, gradients)
        results.append(values(model))
    assert changed(results[0], start)
    same(*results)


def test_epsilon_is_added_before_the_bias_correction():
    model = tiny.classifier()
    ones(model)
    update(
        bert_adamw(None, 0.1, weight_decay=0, epsilon=1.0, clip_norm=None), model, 1.0
    )
    expected = 1 - 0.1 * np.sqrt(1e-3) / (np.sqrt(1e-3) + 1)
    assert values(model)["head/dense/bias"] == pytest.approx(expected, rel=1e-4)


def test_accumulating_gradients_equals_their_mean():
    plain, accumulating = classifier(), classifier()
    first, second = bert_adamw(3, 1e-2), bert_adamw(3 * 2, 1e-2, accumulate=2)
    gradients = random_gradients(plain, 6)
    for one, two in zip(gradients[::2], gradients[1::2], strict=True):
        update(first, plain, {path: (one[path] + two[path]) / 2 for path in one})
        before = values(accumulating)
        update(second, accumulating, one)
        same(values(accumulating), before, 0)
        update(second, accumulating, two)
        same(values(accumulating), values(plain))
    assert int(second.iterations) == 3


@tensorflow_only
@pytest.mark.parametrize("kind", [AdamW, Lamb])
def test_sees_whole_gradients(kind):
    import tensorflow as tf

    table = keras.Variable(np.ones((3, 2)), name="table")
    twin = keras.Variable(np.ones((3, 2)), name="table")
    # The first row of the table was looked up twice.
    rows, shape = tf.constant([0, 0, 2]), tf.constant([3, 2])
    pieces = tf.IndexedSlices(tf.ones((3, 2)), rows, shape)
    arguments = {"epsilon": 1.0, "global_clipnorm": 1.0}
    kind(0.1, **arguments).apply([pieces], [table])
    kind(0.1, **arguments).apply([tf.convert_to_tensor(pieces)], [twin])
    np.testing.assert_allclose(table.numpy(), twin.numpy(), rtol=1e-6)


def trainee(**arguments):
    model = classifier(num_layers=1, dropout=0.0, attention_dropout=0.0)
    kbl.set_unpadding(model, False)
    optimizer = bert_adamw(8, 1e-2, accumulate=2, layer_decay=0.9)
    return compiled(model, optimizer, **arguments)


def test_continues_after_saving(tmp_path):
    model = trainee()
    for _ in range(3):
        model.train_on_batch(INPUTS, TARGETS)
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    assert twin.optimizer.get_config() == model.optimizer.get_config()
    for _ in range(3):
        model.train_on_batch(INPUTS, TARGETS)
        twin.train_on_batch(INPUTS, TARGETS)
    same(values(twin), values(model))


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() == "torch", reason="needs a C++ compiler")
def test_xla_computes_the_same():
    eager, fused = trainee(), trainee(jit_compile=True)
    for model in (eager, fused):
        model.fit(INPUTS, TARGETS, batch_size=2, epochs=2, shuffle=False, verbose=0)
    same(values(fused), values(eager), 1e-4)


def test_learns_under_mixed_precision():
    with dtype_policy("mixed_float16"):
        model = trainee()
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    before = values(model)
    for _ in range(4):
        assert np.isfinite(model.train_on_batch(INPUTS, TARGETS))
    assert "head/dense/kernel" in changed(before, values(model))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("steps", 0),
        ("steps", 1),
        ("learning_rate", 0.0),
        ("warmup", 1.0),
        ("weight_decay", -1),
        ("epsilon", 0),
        ("clip_norm", -1.0),
        ("layer_decay", 0),
        ("layer_decay", 1.5),
        ("accumulate", 0),
    ],
)
def test_refuses_arguments(argument, value):
    arguments = {"steps": 10, "accumulate": 2, argument: value}
    with pytest.raises(ValueError, match=f"`{argument}` must .*Received: .*{value}"):
        bert_adamw(**arguments)


def test_says_how_to_exclude_weights():
    with pytest.raises(
        NotImplementedError, match=r"`AdamW\(exclude=...\)` must be used"
    ):
        bert_adamw(10).exclude_from_weight_decay(var_names=["kernel"])
    assert AdamW(exclude=["kernel"]).get_config()["exclude"] == ["kernel"]


def test_lamb_is_keras_own_with_the_schedule():
    optimizer = bert_lamb(10, 2e-3, warmup=0.2, weight_decay=0.1, accumulate=2)
    assert isinstance(optimizer, keras.optimizers.Lamb)
    assert optimizer.weight_decay == 0.1
    assert optimizer.gradient_accumulation_steps == 2
    model = tiny.classifier()
    optimizer.build(model.trainable_variables)
    decayed = [x.path for x in model.weights if optimizer._use_weight_decay(x)]
    assert decayed
    assert all(path.endswith(("kernel", "embeddings")) for path in decayed)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("steps", 0), ("weight_decay", -1), ("clip_norm", -1.0), ("accumulate", 0)],
)
def test_lamb_refuses_arguments(argument, value):
    with pytest.raises(ValueError, match=f"`{argument}` must .*Received: .*{value}"):
        bert_lamb(**{"steps": 10, argument: value})


STARTS = {
    "adamw": lambda: bert_adamw(steps=4, learning_rate=0.1),
    "lamb": lambda: bert_lamb(steps=None, learning_rate=0.1),
    "accumulation": lambda: bert_adamw(steps=4, accumulate=2),
    "moving averages": lambda: bert_adamw(steps=4, use_ema=True),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1, initial_accumulator_value=0.3),
    "nadam": lambda: keras.optimizers.Nadam(0.1),
    "ftrl": lambda: keras.optimizers.Ftrl(0.1, initial_accumulator_value=0.2),
    "adafactor": lambda: keras.optimizers.Adafactor(0.1),
    "loss scale": lambda: keras.optimizers.LossScaleOptimizer(
        bert_adamw(steps=4, learning_rate=0.1), initial_scale=8.0
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_an_optimizer_starts_over(name):
    optimizer = STARTS[name]()
    weight = keras.Variable(np.ones((2, 3), "float32"), name="kernel")
    optimizer.build([weight])
    start = OptimizerStart(optimizer)
    before = [keras.ops.convert_to_numpy(x.value) for x in optimizer.variables]
    ends = []
    for _ in range(2):
        weight.assign(np.ones((2, 3), "float32"))
        for gradient in (0.5, 3.0):
            optimizer.apply([keras.ops.full((2, 3), gradient)], [weight])
        ends.append(keras.ops.convert_to_numpy(weight.value))
        start.restore()
        for a, b in zip(before, optimizer.variables, strict=True):
            np.testing.assert_array_equal(a, keras.ops.convert_to_numpy(b.value))
    np.testing.assert_array_equal(*ends)
    assert (ends[0] != 1).all()


def test_values_that_differ_start_over_too():
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build([keras.Variable(np.ones((3,), "float32"), name="kernel")])
    slot = next(x for x in optimizer.variables if x.shape == (3,))
    slot.assign([1.0, 2.0, 3.0])
    start = OptimizerStart(optimizer)
    slot.assign([0.0, 0.0, 0.0])
    start.restore()
    assert keras.ops.convert_to_numpy(slot.value).tolist() == [1.0, 2.0, 3.0]
