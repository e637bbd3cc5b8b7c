"""The sides: each builds a model and a function that trains through an epoch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gpu import workloads
from benchmarks.gpu.workloads import Arrays, Step, Workload

Epoch = Callable[[], None]  # trains on all steps and waits for the device
RATE = 1e-4
SIZES = {"num_layers": 12, "num_heads": 12, "hidden_dim": 768, "intermediate_dim": 3072}
TINY = {"num_layers": 2, "num_heads": 2, "hidden_dim": 32, "intermediate_dim": 64}


def keras_bert_lite(
    work: Workload, steps: list[Step], sizes: dict[str, int], unpadding: bool = False
) -> Epoch:
    """This package, under the backend that KERAS_BACKEND names.

    Args:
        work: What is trained.
        steps: The texts.
        sizes: Of the encoder, the vocabulary included.
        unpadding: Whether padding is removed, which excludes XLA.
    """
    import keras

    import keras_bert_lite as kbl

    keras.config.set_dtype_policy("mixed_bfloat16")
    config = kbl.EncoderConfig(**sizes, max_sequence_length=work.length)
    encoder = kbl.encoder(config, unpadding=unpadding)
    packed = work.real and work.task == "masked words" and not unpadding
    optimizer = kbl.optimizers.bert_adamw(10**6, RATE)
    if work.task == "masked words":
        model = kbl.masked_lm(encoder)
        model = kbl.pretraining.masked_positions_model(model, packed=packed)
    else:
        model = kbl.text_classifier(encoder, labels=["0", "1"])
    xla = not unpadding and keras.backend.backend() != "torch"
    kbl.compile(model, optimizer, jit_compile=xla)
    batches = [
        _keras_batch(model, x) for x in _laid_out(work, steps, packed, unpadding)
    ]
    data = _sequence(batches)
    return lambda: model.fit(data, verbose=0, shuffle=False)  # waits for the metrics


def _laid_out(
    work: Workload, steps: list[Step], packed: bool, unpadding: bool
) -> list[Arrays]:
    if not work.real:
        return [workloads.padded(step, work.length) for step in steps]
    if packed:
        return workloads.packed(steps, work.length)
    if unpadding:
        return [workloads.padded(step, _longest(step)) for step in steps]
    return [workloads.bucketed(step, work.length) for step in steps]


def _keras_batch(model: Any, arrays: Arrays) -> tuple:
    """Returns inputs, targets and weights of a batch, by the names of the model."""
    arrays = {**arrays, "segment_ids": np.zeros_like(arrays["token_ids"])}
    inputs = {name: arrays[name] for name in model.input}
    if "masked_positions" in inputs:
        name = "prediction_logits"
        weights = arrays["weights"].astype("float32")
        return inputs, {name: arrays["hidden"]}, {name: weights}
    return inputs, {"logits": arrays["labels"]}


def _sequence(batches: list[tuple]) -> Any:
    """Returns batches that lie in memory, of several widths, as Keras reads them.

    That needs no TensorFlow, unless it is the backend.
    """
    import keras

    class Sequence(keras.utils.PyDataset):
        def __len__(self) -> int:
            return len(batches)

        def __getitem__(self, i: int) -> tuple:
            return batches[i]

    return Sequence()


def transformers(
    work: Workload, steps: list[Step], sizes: dict[str, int], compiled: bool = False
) -> Epoch:
    """transformers on torch with SDPA; on a GPU if there is one.

    Args:
        work: What is trained.
        steps: The texts.
        sizes: Of the encoder, the vocabulary included, by the names of Keras.
        compiled: Whether through `torch.compile`.
    """
    import torch
    import transformers

    config = transformers.BertConfig(
        vocab_size=sizes["vocabulary_size"],
        num_hidden_layers=sizes["num_layers"],
        num_attention_heads=sizes["num_heads"],
        hidden_size=sizes["hidden_dim"],
        intermediate_size=sizes["intermediate_dim"],
        max_position_embeddings=work.length,
        num_labels=2,
        attn_implementation="sdpa",
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    masked = work.task == "masked words"
    kind = "BertForMaskedLM" if masked else "BertForSequenceClassification"
    model = getattr(transformers, kind)(config).train().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, fused=True)
    forward = torch.compile(model) if compiled else model
    widths = [_longest(step) if work.real else work.length for step in steps]
    batches = [
        {name: torch.from_numpy(x) for name, x in _torch_batch(masked, *each).items()}
        for each in zip(steps, widths, strict=True)
    ]
    if device == "cuda":
        batches = [{k: x.pin_memory() for k, x in batch.items()} for batch in batches]

    def epoch() -> None:
        for arrays in batches:
            batch = {k: x.to(device, non_blocking=True) for k, x in arrays.items()}
            with torch.autocast(device, torch.bfloat16):
                loss = forward(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        loss.item()  # waits for the device

    return epoch


def _torch_batch(masked: bool, step: Step, width: int) -> Arrays:
    arrays = workloads.padded(step, width)
    labels = arrays["labels"].astype("int64")
    if masked:
        labels = np.full(arrays["token_ids"].shape, -100, "int64")
        for row, text in enumerate(step):
            labels[row, text.places] = text.hidden
    return {
        "input_ids": arrays["token_ids"].astype("int64"),
        "attention_mask": arrays["padding_mask"].astype("int64"),
        "labels": labels,
    }


def _longest(step: Step) -> int:
    return max(len(text.ids) for text in step)
