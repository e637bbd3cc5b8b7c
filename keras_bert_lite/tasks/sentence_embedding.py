"""Sentence embeddings."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.checks import check_not_negative, check_positive
from keras_bert_lite.models.encoder_model import config_of, id_inputs
from keras_bert_lite.tasks.sequence_head import grouped_inputs
from keras_bert_lite.tasks.task import (
    Output,
    Task,
    marked_model,
    options_of,
    task_model,
)
from keras_bert_lite.training.in_chunks import InChunks

EMBEDDING = "sentence_embedding"
SENTENCE_EMBEDDING = Task(
    name="sentence_embedding",
    head=None,
    outputs=(Output(EMBEDDING, objective=None),),
    hugging_face="Model",
)


def sentence_encoder(
    encoder: keras.Model,
    pooling: str | Sequence[str] = "mean",
    normalize: bool = True,
    prompt_length: int = 0,
    dense: Sequence[keras.layers.Dense] = (),
    dimensions: int | None = None,
    name: str = "sentence_encoder",
) -> keras.Model:
    """Builds a model that turns a text into one vector.

    Args:
        encoder: An encoder.
        pooling: How to pool the tokens; see `layers.Pooler`. The vectors of several
            poolings are joined.
        normalize: Whether to scale the vector to length 1.
        prompt_length: Number of tokens at the beginning of each row to leave out of
            the pooling: `[CLS]` and the prompt (`include_prompt` of
            sentence-transformers); see `Preprocessor.prompt_length`.
        dense: Layers between the pooling and the normalization, one after the other.
        dimensions: How many of a vector's first numbers are kept, as after training
            with `losses.MatryoshkaLoss`; `None`: all.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output
        `sentence_embedding`, `(B, H)`; H is the width of the encoder, times the number
        of poolings, or that of the last dense layer, or `dimensions`.

    Raises:
        ValueError: If an argument is invalid, or `dimensions` exceeds the width.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.sentence_encoder(encoder)
    >>> model.output["sentence_embedding"].shape
    (None, 128)

    Reference: [Reimers and Gurevych, 2019](https://arxiv.org/abs/1908.10084).
    """
    check_not_negative("prompt_length", prompt_length)
    poolings = [pooling] if isinstance(pooling, str) else list(pooling)
    if not poolings:
        raise ValueError(f"`pooling` must be one or more. Received: {pooling!r}")
    if prompt_length and "weighted_mean" in poolings:
        raise ValueError(
            "`prompt_length` must be 0 with the pooling 'weighted_mean', whose weights "
            f"count from the beginning of a row. Received: {prompt_length}"
        )
    for layer in dense:
        if not isinstance(layer, keras.layers.Dense):
            raise TypeError(f"`dense` must be Dense layers. Received: {layer!r}")
    inputs = id_inputs()
    tokens, mask = encoder(inputs)["sequence_output"], inputs["padding_mask"]
    if prompt_length:
        tokens, mask = tokens[:, prompt_length:], mask[:, prompt_length:]
    initializer_range = config_of(encoder).initializer_range
    vectors = [
        layers.Pooler(x, initializer_range, name=f"pooling_{i}" if i else "pooling")(
            tokens, padding_mask=mask
        )
        for i, x in enumerate(poolings)
    ]
    vector = vectors[0]
    if len(vectors) > 1:
        vector = keras.layers.Concatenate(name="join_poolings")(vectors)
    for layer in dense:
        vector = layer(vector)
    options: dict[str, Any] = {
        "pooling": poolings if len(poolings) > 1 else poolings[0]
    }
    if dimensions is not None:
        check_positive("dimensions", dimensions)
        if dimensions > vector.shape[-1]:
            raise ValueError(
                f"`dimensions` must be at most {vector.shape[-1]}, the width of the "
                f"vectors. Received: {dimensions}"
            )
        vector = vector[:, :dimensions]
        options["dimensions"] = dimensions
    if normalize:
        vector = layers.UnitNormalization(name="normalize")(vector)
    options["normalize"] = normalize
    if prompt_length:
        options["prompt_length"] = prompt_length
    outputs = {EMBEDDING: vector}
    return task_model(SENTENCE_EMBEDDING, inputs, outputs, dense, name, **options)


def sentence_encoder_trainer(
    encoder: keras.Model,
    name: str = "sentence_encoder_trainer",
    chunk_size: int | None = None,
) -> keras.Model:
    """Builds a model that trains a sentence encoder on groups of texts.

    It shares the weights of `encoder`, so training it trains `encoder`.

    Args:
        encoder: A model made by `sentence_encoder`.
        name: Name of the model.
        chunk_size: How many texts are encoded at once in training, so that large
            batches fit into memory. The gradients are those of the whole batch; each
            text is encoded twice. `None`: all texts of a batch.

    Returns:
        A functional model whose inputs have an axis of C texts, `(B, C, S)`: a
        pair, or an anchor, a positive and a negative. The output is
        `sentence_embedding`, `(B, C, H)`. Train it with a loss from
        `keras_bert_lite.losses`.

    Raises:
        ValueError: If `encoder` was not made by `sentence_encoder`.

    Reference: [Gao et al., 2021](https://arxiv.org/abs/2101.06983), for `chunk_size`.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.sentence_encoder_trainer(kbl.sentence_encoder(encoder))
    >>> model.output["sentence_embedding"].shape
    (None, None, 128)
    """
    marks = marked_model(encoder)[1].values()
    if [mark.task for mark in marks] != [SENTENCE_EMBEDDING.name]:
        raise ValueError(
            f"`encoder` must be made by `sentence_encoder`. Received: {encoder!r}"
        )
    inputs, rows = grouped_inputs()
    join = layers.RestoreGroups(name="join_texts")
    read = encoder if chunk_size is None else InChunks(encoder, chunk_size)
    vectors = join(read(rows)[EMBEDDING], inputs["token_ids"])
    outputs = {EMBEDDING: vectors}
    return task_model(
        SENTENCE_EMBEDDING,
        inputs,
        outputs,
        [],
        name,
        grouped=True,
        **options_of(encoder),
    )
