"""Rewrites of ONNX graphs for operators with fast kernels."""

from typing import Any

import numpy as np
import onnx
import onnx_ir
from onnxscript.rewriter import pattern, rewrite


def simplify(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the graph with fewer operators, and those that ONNX Runtime knows.

    A layer normalization becomes one `LayerNormalization`, and in
    `0.5 x (1 + erf(x / sqrt 2))` the division, of which TensorFlow makes a product,
    is one again. A choice that tf2onnx writes as products is a `Where`. Negative
    indices of rows are left to `Gather`. All other nodes are kept.
    """
    for rules in (_rules(), _index_rules()):
        model = rewrite(model, pattern_rewrite_rules=rules)
    return model


def _rules() -> pattern.RewriteRuleSet:
    return pattern.RewriteRuleSet(
        [
            pattern.RewriteRule(_layer_norm_of_ours, _layer_norm, _are_constant),
            pattern.RewriteRule(_gelu_of_ours, _gelu),
            pattern.RewriteRule(_choice_of_products, _choice),
        ],
        commute=True,  # the factors of a product come in either order
    )


def _index_rules() -> pattern.RewriteRuleSet:
    return pattern.RewriteRuleSet(
        [pattern.RewriteRule(_gather_from_start, _gather, _counts_from_end)],
        commute=True,
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


def _choice_of_products(op: Any, condition: Any, x: Any, y: Any) -> Any:
    chosen, other = op.Cast(condition), op.Cast(op.Not(condition))
    return op.Add(op.Mul(x, chosen), op.Mul(y, other))


def _choice(op: Any, condition: Any, x: Any, y: Any) -> Any:
    return op.Where(condition, x, y)


def _gather_from_start(op: Any, table: Any, indices: Any, zero: Any, rows: Any) -> Any:
    below = op.Less(op.Cast(indices), zero)
    raised = op.Where(below, op.Add(indices, rows), indices)
    return op.Gather(table, raised, _outputs=["found"])


def _counts_from_end(
    context: Any, table: Any, zero: Any, rows: Any, found: Any, **_: Any
) -> bool:
    values = (zero.const_value, rows.const_value, table.shape)
    axis = found.producer().attributes.get("axis")
    if any(x is None for x in values) or (axis is not None and axis.as_int()):
        return False
    return _value(zero).item() == 0 and _value(rows).item() == table.shape[0]


def _gather(op: Any, table: Any, indices: Any, **_: Any) -> Any:
    return op.Gather(table, indices)


def _value(constant: Any) -> np.ndarray:
    return constant.const_value.numpy()


def _constant(op: Any, value: np.ndarray) -> Any:
    return op.Constant(value=onnx_ir.tensor(value))
