"""What is compiled: models with their batches, and where for."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import keras
import keras_hub
import numpy as np

import keras_bert_lite as kbl
from benchmarks.tpu.compiling import MODEL_PARALLEL, compile_step, filled, mesh_of

STEPS, RATE = 1000, 1e-4
OURS, KERAS_HUB = "keras_bert_lite", "KerasHub"
LAYERS = {"bert_base_uncased": 12, "bert_large_uncased": 24}


@dataclasses.dataclass(frozen=True)
class Case:
    """A training step.

    Attributes:
        side: `OURS` or `KERAS_HUB`.
        task: A key of `TASKS`.
        chip: `"v5e"` or `"v6e"`.
        rows, length: Of a batch, over all chips.
        preset: The encoder.
        data, model: Over how many chips rows, and weights, are split.
        fast_dropout: See `set_fast_dropout`.
        fused_attention: See `set_fused_attention`.
    """

    side: str = OURS
    task: str = "masked_lm"
    chip: str = "v5e"
    rows: int = 32
    length: int = 128
    preset: str = "bert_base_uncased"
    data: int = 1
    model: int = 1
    fast_dropout: bool = False
    fused_attention: bool = False

    @property
    def topology(self) -> str:
        """The smallest board of chips that has enough of them."""
        return f"{self.chip}:{'2x2' if self.data * self.model <= 4 else '4x4'}"

    @property
    def layers(self) -> int:
        return LAYERS[self.preset]

    @property
    def words(self) -> int:
        """The words of a row that are scored; 0 if the task has none."""
        return 0 if self.task == "classifier" else 20 * self.length // 128


def cases() -> Iterator[Case]:
    """All that the page shows, what the goals are about first."""
    sizes = (("v5e", 32, 128), ("v5e", 128, 128), ("v5e", 32, 512), ("v6e", 128, 128))
    for chip, rows, length in sizes:
        for side in (OURS, KERAS_HUB):
            yield Case(side, chip=chip, rows=rows, length=length)
    for rows, length in ((32, 512), (32, 128), (128, 128)):
        yield Case(rows=rows, length=length, fused_attention=True)
    yield Case(fast_dropout=True)
    yield Case(rows=128, data=4)
    yield Case(rows=128, data=2, model=2)
    for data, model in ((16, 1), (8, 2)):
        yield Case(rows=512, data=data, model=model)
    for task in ("packed", "classifier"):
        yield Case(task=task, rows=128)
        yield Case(task=task, length=512)
    yield Case(rows=32, preset="bert_large_uncased")
    yield Case(rows=256)


def largest_cases() -> Iterator[Case]:
    """The steps whose largest batches are searched, from about these rows on."""
    for length, rows, fused in ((128, 1088, 1408), (512, 160, 320)):
        yield Case(length=length, rows=rows)
        yield Case(length=length, rows=fused, fused_attention=True)


def compiled(case: Case, layers: int) -> Any:
    """Compiles the step of a case with so many layers."""
    keras.utils.clear_session()  # of its policy too
    keras.config.set_dtype_policy("mixed_bfloat16")
    build = keras_hub_model if case.side == KERAS_HUB else TASKS[case.task]
    model = build(case, layers)
    inputs = filled(model, case.rows, case.length, case.words)
    shape = (case.rows, case.words) if case.words else (case.rows,)
    targets = {x: np.zeros(shape, "int32") for x in model.output_names}
    weights = {x: np.ones(shape, "float32") for x in model.output_names}
    if case.side == KERAS_HUB:  # its one output has no name
        (targets,), (weights,) = targets.values(), weights.values()
    mesh = mesh_of(case.topology, case.data, case.model)
    layout = MODEL_PARALLEL if case.model > 1 else None
    return compile_step(model, (inputs, targets, weights), mesh, layout)


def _encoder(case: Case, layers: int) -> keras.Model:
    config = kbl.EncoderConfig.named(case.preset).to_dict()
    return kbl.encoder(kbl.EncoderConfig(**{**config, "num_layers": layers}))


def _compiled_by_keras(model: keras.Model, case: Case) -> keras.Model:
    kbl.compile(model, kbl.optimizers.bert_adamw(STEPS, RATE))
    kbl.tuning.set_fast_dropout(model, case.fast_dropout)
    kbl.tuning.set_fused_attention(model, case.fused_attention)
    return model


def masked_lm(case: Case, layers: int) -> keras.Model:
    model = kbl.masked_lm(_encoder(case, layers))
    packed = case.task == "packed"
    model = kbl.pretraining.masked_positions_model(model, packed=packed)
    return _compiled_by_keras(model, case)


def classifier(case: Case, layers: int) -> keras.Model:
    model = kbl.text_classifier(_encoder(case, layers), labels=["bad", "good"])
    return _compiled_by_keras(model, case)


TASKS = {"masked_lm": masked_lm, "packed": masked_lm, "classifier": classifier}


def keras_hub_model(case: Case, layers: int) -> keras.Model:
    """KerasHub's model of masked words, with Keras's AdamW and the same clipping."""
    config = kbl.EncoderConfig.named(case.preset)
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=config.vocabulary_size,
        num_layers=layers,
        num_heads=config.num_heads,
        hidden_dim=config.hidden_dim,
        intermediate_dim=config.intermediate_dim,
        dropout=config.dropout,
        max_sequence_length=config.max_sequence_length,
    )
    model = keras_hub.models.BertMaskedLM(backbone=backbone, preprocessor=None)
    rate = keras.optimizers.schedules.PolynomialDecay(RATE, STEPS, 0.0)
    model.compile(keras.optimizers.AdamW(rate, global_clipnorm=1.0))
    return model


def kernel_seconds(case: Case, tflops: float, gigabytes: float) -> float:
    """Returns what the attention kernels of a step take at least, on each chip.

    The compiler gives them no time. A forward pass has 2 products of all queries and
    keys and moves 4 arrays `(B, S, H)` of bfloat16, a backward pass 5 and 8. Half of
    the peak is what heads of 64 reach, for the units multiply 128 lanes.

    Args:
        case: A step.
        tflops, gigabytes: The peak of a chip, and what it moves in a second.
    """
    if not case.fused_attention:
        return 0.0
    width = kbl.EncoderConfig.named(case.preset).hidden_dim
    values = case.rows * case.length * width / (case.data * case.model)
    return case.layers * sum(
        max(
            products * 2 * values * case.length / (0.5 * tflops * 1e12),
            arrays * 2 * values / (0.8 * gigabytes * 1e9),
        )
        for products, arrays in ((2, 4), (5, 8))
    )


def products(case: Case) -> float:
    """Returns the operations of the forward pass's products, two for each sum."""
    config = kbl.EncoderConfig.named(case.preset)
    width, inner = config.hidden_dim, config.intermediate_dim
    tokens, words = case.rows * case.length, case.rows * case.words
    layer = 2 * tokens * (4 * width * width + 2 * width * inner)
    layer += 4 * tokens * case.length * width
    return case.layers * layer + 2 * words * width * (width + config.vocabulary_size)
