"""Rewrites of ONNX graphs for operators with fast kernels."""

from typing import Any

import numpy as np
import onnx
import onnx_ir
from onnxscript.rewriter import pattern, rewrite


def simplify(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the graph with layer normalization and GELU as ONNX Runtime knows them.

    A layer normalization becomes one `LayerNormalization`, and in
    `0.5 x (1 + erf(x / sqrt 2))` the division, of which TensorFlow makes a product,
    is one again. All other nodes are kept.
    """
    return rewrite(model, pattern_rewrite_rules=_rules())


def _rules() -> pattern.RewriteRuleSet:
    return pattern.RewriteRuleSet(
        [
            pattern.RewriteRule(_layer_norm_of_ours, _layer_norm, _are_constant),
            pattern.RewriteRule(_gelu_of_ours, _gelu),
        ],
        commute=True,  # the factors of a product come in either order
    )


def _layer_norm_of_ours(
    op: Any, x: Any, axis: Any, epsilon: Any, gamma: Any, beta: Any
) -> Any:
    centered = op.Sub(x, op.ReduceMean(x, axis))
    variance = op.ReduceMean(op.Mul(centered, centered), axis)
    normal = op.Div(centered, op.Sqrt(op.Add(variance, epsilon)))
    return op.Add(op.Mul(normal, gamma), beta)


def _layer_norm(op: Any, x: Any, axis: Any, epsilon: Any, gamma: Any, beta: Any) -> Any:
    vectors = [_constant(op, _value(y).ravel()) for y in (gamma, beta)]
    return op.LayerNormalization(x, *vectors, epsilon=_value(epsilon).item())


def _are_constant(context: Any, epsilon: Any, gamma: Any, beta: Any, **_: Any) -> bool:
    return all(x.const_value is not None for x in (epsilon, gamma, beta))


def _gelu_of_ours(op: Any, x: Any, half: Any, one: Any, factor: Any) -> Any:
    return op.Mul(op.Mul(half, x), op.Add(one, op.Erf(op.Mul(x, factor))))


def _gelu(op: Any, x: Any, half: Any, one: Any, factor: Any) -> Any:
    root = _constant(op, np.array(2**0.5, np.float32))
    return op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, root)), one)), half)


def _value(constant: Any) -> np.ndarray:
    return constant.const_value.numpy()


def _constant(op: Any, value: np.ndarray) -> Any:
    return op.Constant(value=onnx_ir.tensor(value))
