"""The counted products are those that TensorFlow's graphs hold."""

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.tasks.pretraining.bert import (
    bert_pretrainer,
    masked_positions_model,
)
from keras_bert_lite.training.flops import peak_tflops, training_flops
from tests import tiny
from tests.pretraining.runs import tensorflow_only

LENGTH, POSITIONS, ROWS = 16, 3, 2


def products_of_graph(model):
    """Returns the multiplications of matrices in a forward pass, for one row."""
    kbl.set_unpadding(model, False)
    shapes = {"masked_positions": (ROWS, POSITIONS)}
    signature = {
        name: tf.TensorSpec(shapes.get(name, (ROWS, LENGTH)), x.dtype, name)
        for name, x in model.input.items()
    }
    graph = tf.function(model).get_concrete_function(signature).graph
    total = 0
    for op in graph.get_operations():
        if op.type in ("MatMul", "BatchMatMulV2"):
            turned = op.get_attr({"MatMul": "transpose_a"}.get(op.type, "adj_x"))
            inner = op.inputs[0].shape[-2 if turned else -1]
            total += np.prod(op.outputs[0].shape.as_list()) * inner
    return total / ROWS


def bert(encoder):
    return masked_positions_model(bert_pretrainer(encoder))


def words(encoder):
    return masked_positions_model(kbl.masked_lm(encoder))


@tensorflow_only
@pytest.mark.parametrize(
    ("build", "changes"),
    [
        (bert, {}),
        (words, {"embedding_dim": 8, "num_groups": 1, "gated": True}),
    ],
)
def test_counts_the_products_of_the_graph(build, changes):
    model = build(tiny.encoder(**changes))
    counted = training_flops(model, LENGTH, POSITIONS) / 6
    assert counted == pytest.approx(products_of_graph(model), rel=0.02)


def test_a_teacher_has_no_backward_pass():
    student, teacher = words(tiny.encoder()), words(tiny.encoder())
    one = training_flops(student, LENGTH, POSITIONS)
    both = kbl.distillation.distillation_model(student, teacher)
    assert training_flops(both, LENGTH, POSITIONS) == pytest.approx(one * 4 / 3)


def test_peaks_by_name():
    assert peak_tflops("TPU v5 lite") == 197
    assert peak_tflops("TPU v5p") == 459
    assert peak_tflops("NVIDIA H100 80GB HBM3") == 989
    assert peak_tflops("cpu") is None
