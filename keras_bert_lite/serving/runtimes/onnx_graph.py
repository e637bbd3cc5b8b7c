"""Rewrites of ONNX graphs for operators with fast kernels."""

from typing import Any

import numpy as np
import onnx
import onnx_ir
from onnxscript.rewriter import pattern, rewrite


def simplify(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the graph with layer normalization and GELU in their usual forms.

    tf2onnx translates TensorFlow's ops one by one, and neither ONNX Runtime's
    optimizers nor onnxscript's own rules recognize the result. A layer
    normalization becomes one `LayerNormalization`, and `0.5 x (1 - erf(-x / sqrt 2))`
    becomes `0.5 x (1 + erf(x / sqrt 2))`, written as ONNX Runtime fuses it.
    All other nodes are kept.
    """
    return rewrite(model, pattern_rewrite_rules=_rules())


def _rules() -> pattern.RewriteRuleSet:
    return pattern.RewriteRuleSet(
        [
            pattern.RewriteRule(_layer_norm_of_keras, _layer_norm, _are_constant),
            pattern.RewriteRule(_gelu_of_tensorflow, _gelu),
        ],
        commute=True,  # the factors of a product come in either order
    )


def _layer_norm_of_keras(
    op: Any, x: Any, axis: Any, epsilon: Any, gamma: Any, beta: Any
) -> Any:
    mean = op.ReduceMean(x, axis)
    difference = op.Sub(x, mean)
    variance = op.ReduceMean(op.Mul(difference, difference), axis)
    scale = op.Mul(op.Reciprocal(op.Sqrt(op.Add(variance, epsilon))), gamma)
    return op.Add(op.Mul(x, scale), op.Add(op.Mul(op.Neg(mean), scale), beta))


def _layer_norm(op: Any, x: Any, axis: Any, epsilon: Any, gamma: Any, beta: Any) -> Any:
    vectors = [_constant(op, _value(y).ravel()) for y in (gamma, beta)]
    return op.LayerNormalization(x, *vectors, epsilon=_value(epsilon).item())


def _are_constant(context: Any, epsilon: Any, gamma: Any, beta: Any, **_: Any) -> bool:
    return all(x.const_value is not None for x in (epsilon, gamma, beta))


def _gelu_of_tensorflow(op: Any, x: Any, half: Any, one: Any, factor: Any) -> Any:
    return op.Mul(op.Mul(half, x), op.Sub(one, op.Erf(op.Mul(op.Neg(x), factor))))


def _gelu(op: Any, x: Any, half: Any, one: Any, factor: Any) -> Any:
    root = _constant(op, np.array(2**0.5, np.float32))
    return op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, root)), one)), half)


def _value(constant: Any) -> np.ndarray:
    return constant.const_value.numpy()


def _constant(op: Any, value: np.ndarray) -> Any:
    return op.Constant(value=onnx_ir.tensor(value))
