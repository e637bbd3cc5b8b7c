"""A model's outputs for the batches of data sets."""

import pytest
import tensorflow as tf

from keras_bert_lite.tasks import outputs
from tests.tasks.says import says


@pytest.mark.tensorflow(reason="TensorFlow traces, and warns of it")
def test_many_models_and_data_sets_cause_no_warning_of_retracing(caplog):
    # TensorFlow counts traces of all models by their line in the source.
    traces, model = [], says()
    call = model.call

    def counted(*arguments, **options):
        traces.append(1)
        return call(*arguments, **options)

    for _ in range(6):
        model = says()
        traces.clear()
        model.call = counted
        predictor = outputs.Predictor(model)
        for width in (2, 3, 2):
            data = tf.data.Dataset.from_tensors((tf.ones((1, width)), 0)).repeat(2)
            for inputs, _ in data:
                predict = predictor.of(data)
                assert predict(inputs)["logits"].shape == (1, width)
        assert len(traces) == 2  # one for each kind of batches
    assert "retracing" not in caplog.text
