import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from tests import tiny
from tests.conformance import assert_all_close, randomize

TEXTS = ["A fine day!", "", "bad weather, is it not? " * 9]


@pytest.fixture(scope="module")
def encoder():
    model = tiny.encoder()
    randomize(model)
    return model


@pytest.fixture(scope="module")
def pair(encoder, tmp_path_factory):
    path = tmp_path_factory.mktemp("hub") / "tiny"
    kbl.serving.export_tf_hub(encoder, tiny.preprocessor(), path)
    return [tf.saved_model.load(str(path / name)) for name in ("preprocess", "encoder")]


def test_from_strings_to_vectors(encoder, pair):
    preprocess, encode = pair
    inputs = preprocess(tf.constant(TEXTS))
    assert {x.shape.as_list()[1] for x in inputs.values()} == {16}
    assert {x.dtype for x in inputs.values()} == {tf.int32}
    outputs = encode(inputs)
    expected = kbl.with_hidden_states(encoder, attentions=False)(
        tiny.preprocessor(padding="max_length")(TEXTS)
    )
    assert_all_close(outputs["pooled_output"], expected["pooled_output"])
    assert_all_close(outputs["default"], outputs["pooled_output"])
    assert_all_close(outputs["sequence_output"], expected["sequence_output"])
    assert_all_close(outputs["encoder_outputs"], expected["hidden_states"][1:])


def test_tokenize_then_pack(pair):
    preprocess, _ = pair
    first, second = (preprocess.tokenize(tf.constant(x)) for x in (TEXTS, TEXTS[::-1]))
    assert first.to_list() == tiny.tokenizer()(TEXTS).to_list()
    for length in (12, tf.constant(12)):
        packed = preprocess.bert_pack_inputs([first, second], seq_length=length)
        expected = kbl.Preprocessor(tiny.tokenizer(), 12, padding="max_length")(
            (TEXTS, TEXTS[::-1])
        )
        assert_all_close(packed["input_word_ids"], expected["token_ids"])
        assert_all_close(packed["input_type_ids"], expected["segment_ids"])
        assert_all_close(packed["input_mask"], np.int32(expected["padding_mask"]))
    alone = preprocess.bert_pack_inputs([first], seq_length=8)
    assert alone["input_word_ids"].shape == (3, 8)


def test_special_tokens(pair):
    numbers = pair[0].tokenize.get_special_tokens_dict()
    assert {name: int(x) for name, x in numbers.items()} == {
        "vocab_size": len(tiny.VOCABULARY),
        "start_of_sequence_id": 2,
        "end_of_segment_id": 3,
        "padding_id": 0,
        "mask_id": 4,
    }


def test_the_encoder_can_be_trained(encoder, pair):
    preprocess, encode = pair
    inputs = preprocess(tf.constant(TEXTS))
    with tf.GradientTape() as tape:
        outputs = encode(inputs, training=True)
        loss = tf.reduce_sum(outputs["default"] ** 2)
    gradients = tape.gradient(loss, encode.trainable_variables)
    assert len(gradients) == len(encoder.trainable_variables)
    assert all(x is not None for x in gradients)


def test_refusals(encoder, tmp_path):
    with pytest.raises(ValueError, match=r"`sequence_length`\. Received: None"):
        kbl.serving.export_tf_hub(
            encoder, kbl.Preprocessor(tiny.tokenizer()), tmp_path / "x"
        )
    with pytest.raises(ValueError, match="with a `pooled_output`"):
        kbl.serving.export_tf_hub(
            tiny.encoder(pooling=None), tiny.preprocessor(), tmp_path / "x"
        )
    with pytest.raises(FileExistsError, match="must not exist"):
        kbl.serving.export_tf_hub(encoder, tiny.preprocessor(), tmp_path)
    diverged = tiny.encoder()
    diverged.weights[0].assign(np.full(diverged.weights[0].shape, np.nan))
    with pytest.raises(ValueError, match=r"`encoder` must have finite weights.*NaN"):
        kbl.serving.export_tf_hub(diverged, tiny.preprocessor(), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
