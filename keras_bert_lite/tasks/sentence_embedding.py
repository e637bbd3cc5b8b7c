"""Sentence embeddings."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.checks import check_not_negative
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
    pooling: str = "mean",
    normalize: bool = True,
    prompt_length: int = 0,
    name: str = "sentence_encoder",
) -> keras.Model:
    """Builds a model that turns a text into one vector.

    Args:
        encoder: An encoder.
        pooling: How to pool the tokens; see `layers.Pooler`.
        normalize: Whether to scale the vector to length 1.
        prompt_length: Number of tokens at the beginning of each row to leave out of
            the pooling: `[CLS]` and the prompt (`include_prompt` of
            sentence-transformers); see `Preprocessor.prompt_length`.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output
        `sentence_embedding`, `(B, H)`.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.sentence_encoder(encoder)
    >>> model.output["sentence_embedding"].shape
    (None, 128)

    Reference: [Reimers and Gurevych, 2019](https://arxiv.org/abs/1908.10084).
    """
    check_not_negative("prompt_length", prompt_length)
    inputs = id_inputs()
    tokens, mask = encoder(inputs)["sequence_output"], inputs["padding_mask"]
    if prompt_length:
        tokens, mask = tokens[:, prompt_length:], mask[:, prompt_length:]
    initializer_range = config_of(encoder).initializer_range
    pooler = layers.Pooler(pooling, initializer_range, name="pooling")
    vector = pooler(tokens, padding_mask=mask)
    if normalize:
        vector = layers.UnitNormalization(name="normalize")(vector)
    return task_model(
        SENTENCE_EMBEDDING,
        inputs,
        {EMBEDDING: vector},
        [],
        name,
        pooling=pooling,
        normalize=normalize,
        **({"prompt_length": prompt_length} if prompt_length else {}),
    )


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
