"""What each side does with a batch of ids and its mask."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

VOCABULARY, PADDING = 50368, 50283
READING, STEP, CHECKPOINTED = "reading", "step", "checkpointed step"
Run = Callable[[np.ndarray, np.ndarray], Any]


def ours(kind: str) -> Run:
    import keras
    import tensorflow as tf

    import keras_bert_lite as kbl

    keras.utils.set_random_seed(0)
    encoder = kbl.encoder(kbl.EncoderConfig.named("modernbert_base"))
    if kind == READING:
        return _traced(
            lambda ids, mask: encoder(_inputs(ids, mask))["sequence_output"], "bool"
        )
    model = kbl.text_classifier(encoder, labels=["a", "b"])
    if kind == CHECKPOINTED:
        kbl.tuning.set_gradient_checkpointing(model)
    kbl.compile(model, learning_rate=1e-5)
    zeros = np.zeros(64, "int32")
    return lambda ids, mask: model.train_on_batch(
        _inputs(tf.constant(ids), tf.constant(mask)), zeros[: len(ids)]
    )


def _inputs(ids: Any, mask: Any) -> dict[str, Any]:
    import tensorflow as tf

    return {
        "token_ids": ids,
        "segment_ids": tf.zeros_like(ids),
        "padding_mask": mask,
    }


def _traced(function: Callable, mask: str) -> Run:
    """Makes a graph for all shapes of ids and masks."""
    import tensorflow as tf

    signature = [tf.TensorSpec([None, None], x) for x in ("int32", mask)]
    run = tf.function(function, input_signature=signature)
    return lambda ids, seen: run(ids, seen.astype(mask)).numpy()


def transformers(kind: str) -> Run:
    import torch
    import transformers

    torch.set_num_threads(os.cpu_count() or 1)
    torch.manual_seed(0)
    config = transformers.ModernBertConfig(num_labels=2)
    assert config.vocab_size == VOCABULARY

    def tensors(ids: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
        return {
            "input_ids": torch.tensor(ids.astype("int64")),
            "attention_mask": torch.tensor(mask.astype("int64")),
        }

    if kind == READING:
        encoder = transformers.ModernBertModel(config).eval()

        def run(ids: np.ndarray, mask: np.ndarray) -> Any:
            with torch.inference_mode():
                return encoder(**tensors(ids, mask)).last_hidden_state.numpy()

        return run
    model = transformers.ModernBertForSequenceClassification(config).train()
    if kind == CHECKPOINTED:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def update(ids: np.ndarray, mask: np.ndarray) -> None:
        labels = torch.zeros(len(ids), dtype=torch.int64)
        model(**tensors(ids, mask), labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return update


def zeromodels(kind: str) -> Run:
    from zeromodels.models.modernbert import ModernBertConfig, ModernBertModel

    assert kind == READING
    model = ModernBertModel(ModernBertConfig())
    return _traced(
        lambda ids, mask: model({"input_ids": ids, "attention_mask": mask})[
            "last_hidden_state"
        ],
        "int32",
    )


SIDES = {"ours": ours, "transformers": transformers, "zeromodels": zeromodels}
