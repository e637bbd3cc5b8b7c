"""Every public layer does what Keras expects of its own; see `tests.conformance`."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from keras_bert_lite import layers
from tests.conformance import WITHOUT_GRADIENT, assert_all_close, check_layer
from tests.layers.samples import (
    HIDDEN,
    PADDING_MASK,
    SEGMENT_IDS,
    SEQUENCE_IDS,
    STATES,
    TOKEN_IDS,
)
from tests.policies import dtype_policy

GENERATOR = np.random.default_rng(0)
PADDED = {"x": STATES, "padding_mask": PADDING_MASK}
PACKED = {**PADDED, "sequence_ids": SEQUENCE_IDS}
VECTORS = STATES[:, 0]
# Peaked, so that each draw is the same.
SCORES = 1e4 * np.eye(12, dtype="float32")[[[3, 5], [7, 1]]]


@dataclasses.dataclass(frozen=True)
class Case:
    """How a layer is made and called; see `check_layer`."""

    make: Callable[..., keras.layers.Layer]
    inputs: dict[str, Any]
    without_gradient: tuple[str, ...] = WITHOUT_GRADIENT
    leave_out: tuple[str, ...] = ()


def floats(*shape: int) -> np.ndarray:
    return GENERATOR.normal(size=shape).astype("float32")


def maps(heads: int) -> list[np.ndarray]:
    """Attention maps of one layer."""
    return [np.full((2, heads, 5, 5), 0.2, "float32")]


def two_sides(dtype: Any = None, **kwargs: Any) -> keras.layers.Layer:
    with dtype_policy(dtype or keras.config.dtype_policy()):
        sides = [
            layers.Embeddings(12, HIDDEN, name=name, initializer_range=0.2)
            for name in ("generator", "discriminator")
        ]
        return layers.GradientDisentangledEmbeddings(*sides, **kwargs)


@functools.cache
def small_model() -> keras.Model:
    x = keras.Input((HIDDEN,))
    return keras.Model(x, keras.layers.Dense(3, name="dense")(x))


CASES = {
    "AnyToken": Case(
        layers.AnyToken,
        {"padding_mask": GENERATOR.normal(size=(2, 3, 4)) > 0},
        leave_out=("padding",),
    ),
    "AppendTokenIds": Case(
        layers.AppendTokenIds, {"logits": floats(2, 5), "token_ids": TOKEN_IDS}
    ),
    "AttentionDistillation": Case(
        layers.AttentionDistillation,
        {"x": STATES, "attentions": maps(2), "teacher_attentions": maps(2)},
    ),
    "CompareTexts": Case(layers.CompareTexts, {"x": floats(3, 2, 4)}),
    "CRF": Case(layers.CRF, {"logits": STATES}),
    "CRFDecoder": Case(
        layers.CRFDecoder,
        {"crf_scores": floats(2, 10, 3), "word_mask": PADDING_MASK},
    ),
    "ClassificationHead": Case(
        functools.partial(
            layers.ClassificationHead, ["no", "yes", "perhaps"], initializer_range=0.2
        ),
        {"x": VECTORS},
    ),
    "DenseHead": Case(
        functools.partial(layers.DenseHead, 3, initializer_range=0.2), {"x": STATES}
    ),
    "DisentangledAttention": Case(
        functools.partial(
            layers.DisentangledAttention, 2, max_distance=8, initializer_range=0.2
        ),
        {**PACKED, "relative_embeddings": floats(16, HIDDEN)},
    ),
    "Embeddings": Case(
        functools.partial(layers.Embeddings, 12, HIDDEN, initializer_range=0.2),
        {"token_ids": TOKEN_IDS, "segment_ids": SEGMENT_IDS},
    ),
    "Encoder": Case(functools.partial(layers.Encoder, 2, 2, 12), PADDED),
    "EncoderBlock": Case(functools.partial(layers.EncoderBlock, 2, 12), PACKED),
    "FeedForward": Case(functools.partial(layers.FeedForward, 12), {"x": STATES}),
    "FlattenGroups": Case(layers.FlattenGroups, {"x": floats(2, 3, 5)}),
    "GradientDisentangledEmbeddings": Case(
        two_sides,
        {"token_ids": TOKEN_IDS},
        # A loss moves one of the two sides; tests of ELECTRA hold which.
        leave_out=("training", "lora"),
    ),
    "HiddenStateDistillation": Case(
        layers.HiddenStateDistillation,
        {"x": STATES, "states": [STATES], "teacher_states": [floats(2, 5, 6)]},
    ),
    "LayerMix": Case(layers.LayerMix, {"states": [STATES, floats(*STATES.shape)]}),
    "LayerNorm": Case(layers.LayerNorm, {"inputs": STATES}),
    "LogitDistillation": Case(
        layers.LogitDistillation,
        {"x": STATES, "teacher_logits": floats(*STATES.shape)},
    ),
    "MaskedLMTransform": Case(
        functools.partial(layers.MaskedLMTransform, 4, initializer_range=0.2),
        {"x": STATES},
    ),
    "Pooler": Case(functools.partial(layers.Pooler, initializer_range=0.2), PADDED),
    "RegressionHead": Case(
        functools.partial(layers.RegressionHead, 2, ["a", "b"], initializer_range=1),
        {"x": VECTORS},
    ),
    "RelativeBiasTable": Case(
        functools.partial(layers.RelativeBiasTable, 2), {"x": STATES}
    ),
    "RelativeTable": Case(functools.partial(layers.RelativeTable, 4), {"x": STATES}),
    "ReplaceTokens": Case(
        layers.ReplaceTokens,
        {
            "token_ids": TOKEN_IDS,
            "positions": np.array([[1, 2], [3, 0]], "int32"),
            "logits": SCORES,
        },
    ),
    "ReplacedTokenHead": Case(
        functools.partial(layers.ReplacedTokenHead, initializer_range=0.2),
        {"x": STATES},
    ),
    "RestoreGroups": Case(
        layers.RestoreGroups, {"x": floats(6, 4), "like": floats(2, 3, 5)}
    ),
    "SelfAttention": Case(
        functools.partial(layers.SelfAttention, 2, initializer_range=0.2), PACKED
    ),
    "SequencePositions": Case(layers.SequencePositions, {"sequence_ids": SEQUENCE_IDS}),
    "SimilarityDistillation": Case(
        layers.SimilarityDistillation,
        {"x": VECTORS, "row": VECTORS, "first": floats(2, 8), "second": floats(2, 8)},
    ),
    "SpanHead": Case(functools.partial(layers.SpanHead, initializer_range=0.2), PADDED),
    "TakePositions": Case(
        layers.TakePositions,
        {"x": STATES, "positions": np.array([[4, 0], [1, 1]], "int32")},
    ),
    # The last two pass on what they are given, in its own dtype.
    "TaskOutput": Case(
        functools.partial(layers.TaskOutput, "regression", "logits", ["head"]),
        {"x": VECTORS},
        leave_out=("policies",),
    ),
    # A teacher is not trained, whatever its model could do.
    "Teacher": Case(
        lambda **kwargs: layers.Teacher(small_model(), **kwargs),
        {"inputs": VECTORS},
        leave_out=("policies", "training", "lora", "int8"),
    ),
    "TokenConvolution": Case(
        layers.TokenConvolution,
        {"x": STATES, "residual": floats(*STATES.shape), "padding_mask": PADDING_MASK},
    ),
    "UnitNormalization": Case(layers.UnitNormalization, {"inputs": VECTORS}),
    "VocabularyBias": Case(layers.VocabularyBias, {"x": STATES}),
    "VocabularyScores": Case(
        layers.VocabularyScores, {"x": STATES, "table": floats(12, HIDDEN)}
    ),
}


def test_compares_choices_with_a_text():
    make = functools.partial(layers.CompareTexts, choices=True)
    check_layer(make, {"x": floats(3, 4, 4)})


@pytest.mark.parametrize("options", [{"scale": False}, {"axis": [-2, -1]}])
def test_other_normalizations_are_keras_own(options):
    assert layers.LayerNorm().is_usual
    assert not layers.LayerNorm(**options).is_usual
    for x in (STATES, STATES[0]):
        expected = keras.layers.LayerNormalization(epsilon=1e-12, **options)(x)
        assert_all_close(layers.LayerNorm(**options)(x), expected)
        usual = layers.LayerNorm()
        usual(x)
        assert usual.is_usual  # once it is built, too


def test_no_layer_is_left_out():
    public = {name: getattr(layers, name) for name in layers.__all__}
    kinds = {k for k, x in public.items() if issubclass(x, keras.layers.Layer)}
    assert set(CASES) == kinds
    assert set(public) - kinds == {"RotaryPositions"}


@pytest.mark.parametrize("name", CASES)
def test_no_property_returns_layers(name):
    """Keras would store weights under the name of one that does."""
    layer = CASES[name].make()
    kinds = [x for x in type(layer).__mro__ if x.__module__.startswith("keras_bert")]
    properties = {
        key for x in kinds for key, y in vars(x).items() if isinstance(y, property)
    }
    values = {key: getattr(layer, key, None) for key in properties}
    assert not any(
        isinstance(x, keras.layers.Layer) for x in keras.tree.flatten(values)
    )


@pytest.mark.parametrize("name", CASES)
def test_conforms(name):
    case = CASES[name]
    check_layer(
        case.make,
        case.inputs,
        without_gradient=case.without_gradient,
        leave_out=case.leave_out,
    )
