import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.layers.execution.reads import Reads
from keras_bert_lite.layers.execution.real_tokens import RealTokens, _bounds
from keras_bert_lite.layers.execution.whole_rows import WholeRows
from keras_bert_lite.models.encoder_parts import make_blocks
from tests import tiny
from tests.conformance import assert_all_close, randomize, to_numpy
from tests.models import samples
from tests.policies import dtype_policy

tensorflow_only = pytest.mark.tensorflow(reason="padding removal is TensorFlow's")

LENGTHS = {
    "one row": [5],
    "full rows": [6, 6, 6],
    "mixed": [3, 1, 12, 7, 2],
    "one long row": [2, 2, 3, 40, 2, 1],
    "an empty row": [4, 0, 2],
    "nothing but padding": [0, 0],
    "an empty batch": [],
}


def mask_of(lengths):
    width = max([2, *lengths])
    return np.arange(width) < np.array(lengths, "int64").reshape(-1, 1)


def encoder(unpadding, **changes):
    model = kbl.encoder(tiny.config(max_sequence_length=64, **changes))
    randomize(model)
    model.get_layer("blocks").unpadding = unpadding
    return model


def inputs_of(mask):
    ids = np.random.default_rng(1).integers(5, 30, size=mask.shape).astype("int32")
    return {"token_ids": ids, "segment_ids": ids % 2, "padding_mask": mask}


@tensorflow_only
@pytest.mark.parametrize("layout", [RealTokens, WholeRows])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_heads_come_back_to_their_tokens(lengths, layout):
    mask = mask_of(lengths)
    if layout is WholeRows and mask.size and not mask.any():
        pytest.skip("it needs a token")
    rows = layout([Reads(num_heads=2, head_dim=3)], tf.constant(mask))
    x = np.random.default_rng(0).normal(size=(*mask.shape, 6)).astype("float32")
    packed = rows.without_padding(tf.constant(x))
    assert packed.shape == (mask.sum(), 6)
    assert_all_close(rows.with_padding(packed), x * mask[:, :, None])
    heads = tf.reshape(packed, [-1, 2, 3])
    assert_all_close(rows.attend(lambda q, k, v, _: q, heads, heads, heads), packed)
    assert_all_close(rows.attend(lambda q, k, v, _: v, heads, heads, heads), packed)


@tensorflow_only
def test_one_long_row_is_a_group_of_its_own():
    lengths = tf.constant([1, 2, 2, 2, 3, 40])
    assert [int(b) for b in _bounds(lengths)] == [0, 5, 6]
    same = [int(b) for b in _bounds(tf.constant([6, 6, 6]))]
    assert same == [0, 0, 3]


@tensorflow_only
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("num_groups", [None, 1])
def test_outputs_equal_those_of_padded_rows(lengths, num_groups):
    config = tiny.config(max_sequence_length=64, num_groups=num_groups)
    model = kbl.encoder(config, hidden_states=True)
    randomize(model)
    inputs = inputs_of(mask_of(lengths))
    outputs = []
    for choice in (True, False):
        model.get_layer("blocks").unpadding = choice
        outputs.append(model(inputs))
    filled = np.array(lengths, bool)  # rows of padding alone have no values
    for removed, padded in zip(*map(keras.tree.flatten, outputs), strict=True):
        assert_all_close(to_numpy(removed)[filled], to_numpy(padded)[filled])


@tensorflow_only
def test_masks_need_not_be_prefixes():
    mask = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 1, 0], [0, 0, 1, 1, 1]], "bool")
    removed, padded = (encoder(choice)(inputs_of(mask)) for choice in (True, False))
    for name in ("sequence_output", "pooled_output"):
        rows = to_numpy(removed[name]), to_numpy(padded[name])
        if name == "pooled_output":  # of the first position, here padding in rows
            rows = rows[0][[1]], rows[1][[1]]
        assert_all_close(*rows)


@tensorflow_only
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_gradients_equal_those_of_padded_rows(lengths, training):
    inputs = {k: tf.constant(x) for k, x in inputs_of(mask_of(lengths)).items()}
    filled = tf.constant(np.array(lengths, bool))  # padding alone has no values
    gradients = []
    for choice in (True, False):
        model = encoder(choice, dropout=0.0, attention_dropout=0.0)
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=training)
            rows = [tf.boolean_mask(x, filled) for x in outputs.values()]
            loss = sum(tf.reduce_sum(x**3) for x in rows)
        variables = [v.value for v in model.trainable_variables]
        gradients.append(
            [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        )
    for removed, padded in zip(*gradients, strict=True):
        scale = max(1.0, float(tf.reduce_max(tf.abs(padded))))
        np.testing.assert_allclose(removed / scale, padded / scale, atol=1e-5)


@tensorflow_only
def test_large_batches_take_the_fused_normalization():
    mask = mask_of([60] * 70)  # 70 x 60 x 16 numbers, over FUSED_SIZE
    inputs = {k: tf.constant(x) for k, x in inputs_of(mask).items()}
    outputs = [
        tf.function(encoder(choice))(inputs)["sequence_output"]
        for choice in (True, False)
    ]
    assert_all_close(*outputs)


@tensorflow_only
def test_trains_with_fit_and_keeps_dropout():
    keras.utils.set_random_seed(0)
    model = tiny.classifier(dropout=0.5)
    assert model.get_layer("encoder").get_layer("blocks").unpadding == "auto"
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = [to_numpy(v).copy() for v in model.trainable_variables]
    model.fit(samples.ids(), np.array([0, 1]), verbose=0)
    changed = [
        (to_numpy(v) != x).any()
        for v, x in zip(model.trainable_variables, before, strict=True)
    ]
    assert np.mean(changed) > 0.8
    outputs = [to_numpy(model(samples.ids(), training=True)["logits"]) for _ in "ab"]
    assert (outputs[0] != outputs[1]).any()


@tensorflow_only
def test_mixed_precision():
    model = kbl.encoder(tiny.config())
    randomize(model)
    with dtype_policy("mixed_bfloat16"):
        mixed = make_blocks(tiny.config())
    mask = mask_of([3, 5])
    x = np.random.default_rng(0).normal(size=(2, 5, 16)).astype("float32")
    mixed(x, padding_mask=mask)
    mixed.set_weights(model.get_layer("blocks").get_weights())
    exact = model.get_layer("blocks")(x, padding_mask=mask)["sequence_output"]
    got = mixed(x, padding_mask=mask)["sequence_output"]
    assert keras.backend.standardize_dtype(got.dtype) == "bfloat16"
    assert_all_close(tf.cast(got, "float32"), exact, tolerance=0.1)


@tensorflow_only
def test_keras_leaves_xla_off():
    model = encoder(True)
    with pytest.warns(UserWarning, match="doesn't support `jit_compile=True`"):
        model.compile("sgd", jit_compile=True)
    for choice in (False, "auto"):
        padded = encoder(choice)
        padded.compile("sgd", jit_compile=True)
        assert padded.jit_compile


@tensorflow_only
def test_automatic_is_padded_where_xla_compiles():
    model = encoder("auto")
    inputs = {k: tf.constant(x) for k, x in samples.ids().items()}
    inner = tf.function(model)  # whose graph is not itself that of the XLA context
    compiled = tf.function(lambda x: inner(x), jit_compile=True)
    assert_all_close(compiled(inputs), model(inputs))


@tensorflow_only
def test_attentions_are_those_of_padded_rows():
    model = kbl.with_hidden_states(encoder(True))
    outputs = model(samples.ids())
    assert outputs["attentions"][0].shape == (2, 2, 5, 5)
    assert_all_close(
        outputs["sequence_output"], encoder(True)(samples.ids())["sequence_output"]
    )


@tensorflow_only
def test_choice_is_saved(tmp_path):
    model = encoder(False)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert loaded.get_layer("blocks").unpadding is False


@pytest.mark.parametrize("choice", ["on", None, 2])
def test_refuses_other_choices(choice):
    with pytest.raises(ValueError, match="`unpadding` must be one of"):
        encoder(choice)


@pytest.mark.skipif(
    keras.backend.backend() == "tensorflow", reason="only TensorFlow can"
)
def test_refused_where_shapes_must_be_known():
    with pytest.raises(NotImplementedError, match="needs the TensorFlow backend"):
        encoder(True)
    assert encoder("auto").get_layer("blocks").supports_jit
