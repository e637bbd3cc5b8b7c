from unittest import mock

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.distribution import strategies
from keras_bert_lite.distribution.strategies import check_strategy
from tests import tiny
from tests.distribution.test_setup import begin, report

pytestmark = pytest.mark.tensorflow(reason="`tf.distribute` is TensorFlow's")


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory):
    """What two logical CPUs of a process of their own compute."""
    return report(begin("mirrored_program", tmp_path_factory.mktemp("mirrored")))


@pytest.mark.slow
def test_clips_like_one_device(mirrored):
    alone = mirrored["alone"]
    np.testing.assert_allclose(mirrored["replicated"], alone, rtol=1e-5)
    assert alone[1] < alone[0]


@pytest.mark.slow
def test_pretrains(mirrored):
    losses = mirrored["pretrain"]
    assert len(losses) == 2
    assert np.isfinite(losses).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "option",
    [
        "steps_per_execution",
        "jit_compile",
        "global_clipnorm",
        "gradient_accumulation_steps",
    ],
)
def test_refuses_options(mirrored, option):
    message = mirrored[option]
    assert message.startswith(
        "NotImplementedError: Under `tf.distribute.MirroredStrategy`"
    )
    assert f"Received: {{'{option}'" in message


@pytest.mark.slow
def test_refuses_batches(mirrored):
    message = mirrored["batch_size"]
    assert "`batch_size` must divide by the 2 devices" in message


@pytest.mark.parametrize("kind", strategies.unsupported())
def test_refuses_strategies(monkeypatch, kind):
    strategy = mock.Mock(spec=kind)
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: strategy)
    with pytest.raises(NotImplementedError, match=r"distribution\.setup") as error:
        check_strategy()
    assert "JAX backend" in str(error.value)


def test_refused_at_once(tmp_path):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tiny.classifier()
    name = "Received: CollectiveAllReduceStrategy|Received: MultiWorkerMirroredStrategy"
    with pytest.raises(NotImplementedError, match=name):
        kbl.compile(model)  # outside of the scope, too
    with pytest.raises(NotImplementedError, match=name):
        kbl.pretraining.pretrain(model, tmp_path, tmp_path, 1)
    with strategy.scope(), pytest.raises(NotImplementedError, match=name):
        kbl.finetune("text_classification", [])


def test_one_device_is_free():
    """Nothing is refused without a strategy."""
    model = tiny.classifier()
    kbl.compile(model, keras.optimizers.Adam(global_clipnorm=1.0), jit_compile=False)
