"""ELECTRA's pretraining: the encoder detects tokens replaced by a generator."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.checks import check_choice
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.encoder_model import (
    config_of,
    connect_blocks,
    connect_layers,
    copy_weights,
    encoder_layers,
    encoder_of,
    id_inputs,
    position_inputs,
    without_pooler,
)
from keras_bert_lite.tasks.masked_lm import PREDICTION
from keras_bert_lite.tasks.pretraining.bert import (
    REPLACED_TOKENS,
    masked_inputs,
    replaced_token_detector,
)
from keras_bert_lite.tasks.pretraining.generator import (
    SHARED_EMBEDDINGS,
    Copied,
    as_masked_lm,
    check_sizes,
    divide_tables,
    generator_scores,
    shared_embedding,
    united_embeddings,
)
from keras_bert_lite.tasks.task import (
    Output,
    Task,
    head_layers,
    marked_model,
    task_model,
)
from keras_bert_lite.training import objectives

# ELECTRA's weight: most tokens are easy, so the loss is small.
REPLACED = Output(
    "replaced_logits",
    objectives.REPLACED_TOKENS,
    (objectives.replaced_token_accuracy, objectives.replaced_token_recall),
    weight=50.0,
)
REPLACED_TOKEN_PRETRAINING = Task(
    name="replaced_token_pretraining",
    head=layers.ReplacedTokenHead,
    outputs=(PREDICTION, REPLACED),
    not_saved="a pretrainer's `electra_discriminator`, which transformers has",
)

SHARING = ("tied", "gradient_disentangled", "none")


def electra_pretrainer(
    encoder: keras.Model,
    generator: EncoderConfig | keras.Model | None = None,
    sharing: str = "tied",
    packed: bool = False,
    seed: int | None = None,
    name: str = "electra_pretrainer",
) -> keras.Model:
    """Builds ELECTRA's pretraining model: replaced token detection.

    The generator, a small masked language model, predicts words at the masked
    positions, and a word is sampled for each. The encoder, with a head, classifies
    every token as original or replaced. A sampled word equal to the original one is
    labelled original. No gradient flows through the sampling.

    Args:
        encoder: The encoder to pretrain, whose pooler, if any, is not used; or a
            `replaced_token_detector`, whose head is then trained further.
        generator: The generator's configuration, or a model made by `masked_lm` or
            loaded with such a head, whose weights are copied. `None` means the
            encoder's configuration with a quarter of the attention heads and widths.
        sharing: Which embeddings generator and encoder share. `"tied"`: all tables
            (ELECTRA). `"gradient_disentangled"`: the token table, without gradients
            from the encoder, which adds its own table (DeBERTa-v3). `"none"`: none.
        packed: See `masked_positions_model`.
        seed: Random seed of the sampling.
        name: Name of the model.

    Returns:
        A functional model with the inputs of `masked_positions_model(...)` and the
        outputs `prediction_logits`, `(B, P, V)`, and `replaced_logits`, `(B, S, 2)`
        float32: a logit, above 0 for replaced, and the encoder's input token.
        `kbl.compile` trains the first as described in `masked_positions_model`, the
        second with `losses.ReplacedTokenLoss()` and a weight of 50. Fine-tune
        `electra_discriminator(model)`, or its `encoder_of`.

    Raises:
        ValueError: If the shared embeddings of generator and encoder differ in
            size, or the generator's output is not tied to its embeddings.

    Reference: [Clark et al., 2020](https://arxiv.org/abs/2003.10555), section 2;
    [He et al., 2021](https://arxiv.org/abs/2111.09543), section 3.3.
    """
    check_choice("sharing", sharing, SHARING)
    head = _head(encoder)
    encoder = without_pooler(encoder_of(encoder))
    embeddings, blocks, _ = encoder_layers(encoder)
    small = as_masked_lm(config_of(encoder), generator)
    check_sizes(config_of(encoder), config_of(encoder_of(small)), sharing)
    copied = Copied()
    embed, embed_seen, tables = shared_embedding(embeddings, small, sharing, copied)
    inputs = masked_inputs(packed)
    ids, where = inputs["token_ids"], position_inputs(inputs)
    x, table = embed(ids, **where, return_table=True)
    logits, generator_head = generator_scores(small, inputs, x, table, copied)
    replace = layers.ReplaceTokens(seed, name="replace_tokens")
    seen = replace(ids, inputs["masked_positions"], logits)
    states = connect_blocks(inputs, embed_seen(seen, **where), blocks)
    found = head(states["sequence_output"])
    found = layers.AppendTokenIds(name="with_seen_tokens")(found, seen)
    outputs = {PREDICTION.name: logits, REPLACED.name: found}
    copied.fill()
    if isinstance(tables, layers.GradientDisentangledEmbeddings):
        copy_weights(encoder_layers(small)[0], tables.generator)
        divide_tables(tables, embeddings, trained=isinstance(generator, keras.Model))
    heads = {PREDICTION.name: generator_head, REPLACED.name: [head]}
    return task_model(REPLACED_TOKEN_PRETRAINING, inputs, outputs, heads, name)


def electra_discriminator(
    model: keras.Model, name: str = "replaced_token_detector"
) -> keras.Model:
    """Returns the `replaced_token_detector` inside a pretrainer.

    Args:
        model: A model made by `electra_pretrainer`.
        name: Name of the new model.

    Returns:
        A model that shares the pretrainer's layers. With gradient-disentangled
        embeddings, however, its embeddings are a copy with the sum of both token
        tables.

    Raises:
        ValueError: If the model was not made by `electra_pretrainer`.
    """
    marks = marked_model(model)[1]
    if REPLACED.name not in marks:
        raise ValueError(
            f"`model` must be made by `electra_pretrainer`. Received: {model!r}"
        )
    names = {layer.name: layer for layer in model.layers}
    embeddings = names.get("embeddings") or united_embeddings(names[SHARED_EMBEDDINGS])
    inputs = id_inputs()
    states = connect_layers(inputs, embeddings, names["blocks"], None)
    head = _only(head_layers(model, REPLACED.name))
    outputs = {"logits": head(states["sequence_output"])}
    return task_model(REPLACED_TOKENS, inputs, outputs, [head], name)


def _head(model: keras.Model) -> keras.layers.Layer:
    """Returns the head of a detector, or a new one for an encoder."""
    marks = marked_model(model)[1].values()
    if [mark.task for mark in marks] != [REPLACED_TOKENS.name]:
        model = replaced_token_detector(encoder_of(model))
    return _only(head_layers(model))


def _only(head: dict[str, keras.layers.Layer]) -> keras.layers.Layer:
    (layer,) = head.values()
    return layer
