"""ELECTRA's pretraining: a generator replaces tokens, the encoder finds them."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.config import EncoderConfig, check_choice
from keras_bert_lite.models.encoder import (
    config_of,
    connect_blocks,
    connect_layers,
    copy_weights,
    encoder_layers,
    encoder_of,
    id_inputs,
    places,
    without_pooler,
)
from keras_bert_lite.models.generator import (
    SHARED_EMBEDDINGS,
    Copied,
    as_masked_lm,
    check_sizes,
    divide_tables,
    generator_scores,
    shared_embedding,
    united_embeddings,
)
from keras_bert_lite.models.pretraining import masked_inputs, replaced_token_detector

SHARING = ("tied", "gradient_disentangled", "none")


def replaced_token_pretrainer(
    encoder: keras.Model,
    generator: EncoderConfig | keras.Model | None = None,
    sharing: str = "tied",
    packed: bool = False,
    seed: int | None = None,
    name: str = "replaced_token_pretrainer",
) -> keras.Model:
    """Builds ELECTRA's pretraining model: replaced token detection.

    A small masked language model, the generator, scores words for the masked
    positions; a word is drawn from its scores for each; the encoder, with a head,
    tells for every token whether it was replaced. A drawn word that is the
    original one counts as original. No gradient goes through the draws.

    Args:
        encoder: What is pretrained, without a pooler that it may have; or a
            `replaced_token_detector`, whose head is then trained further.
        generator: Its configuration; a model made by `masked_lm` or loaded with
            such a head, whose weights are copied; or `None`: as the encoder, with
            a quarter of the attention heads and widths.
        sharing: What generator and encoder share of their embeddings: `"tied"`,
            all tables (ELECTRA); `"gradient_disentangled"`, the token table,
            which the encoder adds to but does not change (DeBERTa-v3); `"none"`.
        packed: See `for_masked_positions`.
        seed: Of the draws.
        name: Name of the model.

    Returns:
        A functional model with the inputs of `for_masked_positions(...)` and the
        outputs `prediction_logits`, `(B, P, V)`, and `replaced_logits`, `(B, S, 2)`
        float32: a score, above 0 for replaced, and the token that was seen. Train
        the first as `for_masked_positions` says, the second with
        `losses.ReplacedTokenLoss()`, times 50. What is fine-tuned is
        `discriminator_of(model)`, or the `encoder_of` that.

    Raises:
        ValueError: If generator and encoder do not have the embeddings' sizes in
            common that they share, or the generator's output is not tied to its
            embeddings.

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
    ids, where = inputs["token_ids"], places(inputs)
    x = embed(ids, **where)
    logits = generator_scores(small, inputs, x, tables, copied)
    replace = layers.ReplaceTokens(seed, name="replace_tokens")
    seen = replace(ids, inputs["masked_positions"], logits)
    states = connect_blocks(inputs, embed_seen(seen, **where), blocks)
    found = head(states["sequence_output"])
    found = layers.WithSeenTokens(name="with_seen_tokens")(found, seen)
    outputs = {"prediction_logits": logits, "replaced_logits": found}
    copied.fill()
    if isinstance(tables, layers.GradientDisentangledEmbeddings):
        copy_weights(encoder_layers(small)[0], tables.generator)
        divide_tables(tables, embeddings, trained=isinstance(generator, keras.Model))
    return keras.Model(inputs, outputs, name=name)


def discriminator_of(
    model: keras.Model, name: str = "replaced_token_detector"
) -> keras.Model:
    """Returns the `replaced_token_detector` that a pretrainer has trained.

    Args:
        model: Made by `replaced_token_pretrainer`.
        name: Name of the new model.

    Returns:
        A model of the pretrainer's own layers; of a pretrainer with
        gradient-disentangled embeddings, one whose embeddings are a copy, the sum
        of both tables.

    Raises:
        ValueError: If the model is no such pretrainer.
    """
    names = {layer.name: layer for layer in model.layers}
    if "replace_tokens" not in names:
        raise ValueError(
            f"`model` must be made by `replaced_token_pretrainer`. Received: {model!r}"
        )
    embeddings = names.get("embeddings") or united_embeddings(names[SHARED_EMBEDDINGS])
    inputs = id_inputs()
    states = connect_layers(inputs, embeddings, names["blocks"], None)
    logits = names["head"](states["sequence_output"])
    return keras.Model(inputs, {"logits": logits}, name=name)


def _head(model: keras.Model) -> layers.ReplacedTokenHead:
    for layer in model.layers:
        if isinstance(layer, layers.ReplacedTokenHead):
            return layer
    return replaced_token_detector(encoder_of(model)).get_layer("head")
