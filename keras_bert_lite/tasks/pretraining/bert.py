"""Models of BERT's and ALBERT's pretraining, and ELECTRA's discriminator."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder_model import (
    config_of,
    connect_with_table,
    encoder_layers,
    id_inputs,
)
from keras_bert_lite.tasks.masked_lm import (
    PREDICTION,
    masked_lm_head,
    masked_lm_layers,
    word_scores,
)
from keras_bert_lite.tasks.task import (
    Output,
    Task,
    head_layers,
    marked_model,
    task_model,
)
from keras_bert_lite.training import objectives
from keras_bert_lite.training.data import text_dataset

PAIRS = Output(
    "seq_relationship_logits", objectives.WORD_CROSS_ENTROPY, (objectives.accuracy,)
)
PRETRAINING = Task(
    name="pretraining",
    head=layers.MaskedLMTransform,
    outputs=(PREDICTION, PAIRS),
    hugging_face="ForPreTraining",
    alternatives=True,
)
NEXT_SENTENCE = Task(
    name="next_sentence",
    head=layers.DenseHead,
    outputs=(PAIRS,),
    data_set=text_dataset,
    hugging_face="ForNextSentencePrediction",
    alternatives=True,
)
REPLACED_TOKENS = Task(
    name="replaced_tokens",
    head=layers.ReplacedTokenHead,
    outputs=(Output("logits", objective=None),),
    hugging_face="ForPreTraining",
)


def bert_pretrainer(
    encoder: keras.Model,
    dropout: float = 0.0,
    tied: bool = True,
    name: str = "bert_pretrainer",
) -> keras.Model:
    """Builds BERT's and ALBERT's pretraining model: masked words and text pairs.

    Args:
        encoder: An encoder with `pooled_output`.
        dropout: Dropout rate before the layer that classifies pairs (ALBERT).
        tied: See `masked_lm`.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the outputs
        `prediction_logits`, `(B, S, V)`, and `seq_relationship_logits`,
        `(B, 2)`. Class 0 of the latter means that the second text follows the
        first (BERT) or that both are in order (ALBERT).

    Raises:
        ValueError: If the encoder has no `pooled_output`.
    """
    _check_pooled(encoder)
    inputs = id_inputs()
    outputs, table = connect_with_table(inputs, *encoder_layers(encoder))
    words, pairs = masked_lm_layers(encoder, tied), _pair_head(encoder, dropout)
    logits = {
        PREDICTION.name: word_scores(table, *words, outputs["sequence_output"]),
        PAIRS.name: pairs(outputs["pooled_output"]),
    }
    heads = {PREDICTION.name: words, PAIRS.name: [pairs]}
    return task_model(PRETRAINING, inputs, logits, heads, name)


def next_sentence_predictor(
    encoder: keras.Model, name: str = "next_sentence_predictor"
) -> keras.Model:
    """Builds a model that predicts whether the second text follows the first.

    Returns:
        A functional model with the encoder's inputs and the output
        `seq_relationship_logits`, `(B, 2)`; class 0 means that it does.

    Raises:
        ValueError: If the encoder has no `pooled_output`.
    """
    _check_pooled(encoder)
    inputs = id_inputs()
    head = _pair_head(encoder, 0.0)
    outputs = {PAIRS.name: head(encoder(inputs)["pooled_output"])}
    return task_model(NEXT_SENTENCE, inputs, outputs, [head], name)


def replaced_token_detector(
    encoder: keras.Model, name: str = "replaced_token_detector"
) -> keras.Model:
    """Builds ELECTRA's discriminator, which detects replaced tokens.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, S)`; above 0 means replaced.
    """
    config = config_of(encoder)
    head = layers.ReplacedTokenHead(
        hidden_activation=config.activation,
        initializer_range=config.initializer_range,
        name="head",
    )
    inputs = id_inputs()
    outputs = {"logits": head(encoder(inputs)["sequence_output"])}
    return task_model(REPLACED_TOKENS, inputs, outputs, [head], name)


def masked_positions_model(model: keras.Model, packed: bool = False) -> keras.Model:
    """Returns a model with the same weights that scores only masked positions.

    Use it for pretraining: logits over the vocabulary at all positions would take
    most of the time and memory.

    Args:
        model: A model made by `masked_lm` or `bert_pretrainer`, or loaded with such
            a head.
        packed: Whether rows hold several sequences, which do not attend to each
            other; the model then has an input `sequence_ids`.

    Returns:
        A functional model. Its inputs are the encoder's, `masked_positions` `(B, P)`
        and, if packed, `sequence_ids` `(B, S)`, as `pretraining_dataset` makes them.
        Its outputs are `prediction_logits` `(B, P, V)` and, from a
        `bert_pretrainer`, `seq_relationship_logits` `(B, 2)`. `kbl.compile` trains
        each with `keras.losses.SparseCategoricalCrossentropy(from_logits=True,
        reduction="mean_with_sample_weight")`; their sum is BERT's loss.

    Raises:
        ValueError: If the model has no such head, or `packed` is true and the model
            classifies pairs.

    Reference: `gather_indexes` in google-research/bert; packing: [Krell et al.,
    2021](https://arxiv.org/abs/2107.02027).
    """
    words = masked_lm_head(model)
    pair_head = next(iter(head_layers(model, PAIRS.name).values()), None)
    if packed and pair_head is not None:
        raise ValueError(
            "`packed` needs a model that does not classify pairs. "
            f"Received: {model.name!r}, which has {sorted(model.output)}"
        )
    embeddings, blocks, pooler = encoder_layers(model)
    inputs = masked_inputs(packed)
    outputs, table = connect_with_table(
        inputs, embeddings, blocks, pair_head and pooler
    )
    take = layers.TakePositions(name="masked_tokens")
    tokens = take(outputs["sequence_output"], inputs["masked_positions"])
    logits = {PREDICTION.name: word_scores(table, *words, tokens)}
    if pair_head is not None:
        logits[PAIRS.name] = pair_head(outputs["pooled_output"])
    marks = marked_model(model)[1]
    logits = {name: _again(marks[name])(x) for name, x in logits.items()}
    return keras.Model(inputs, logits, name=model.name)


def _again(mark: layers.TaskOutput) -> layers.TaskOutput:
    return layers.TaskOutput.from_config(mark.get_config())


def masked_inputs(packed: bool) -> dict[str, keras.KerasTensor]:
    """Returns the inputs of a pretraining model."""
    added = ("masked_positions", "sequence_ids") if packed else ("masked_positions",)
    inputs = {x: keras.Input((None,), dtype="int32", name=x) for x in added}
    return id_inputs() | inputs


def _pair_head(encoder: keras.Model, dropout: float) -> layers.DenseHead:
    return layers.DenseHead(
        2,
        dropout=dropout,
        initializer_range=config_of(encoder).initializer_range,
        name="pair_head",
    )


def _check_pooled(encoder: keras.Model) -> None:
    if config_of(encoder).pooling is None:
        raise ValueError(
            "`encoder` must have a `pooled_output`; this one has only "
            f"{sorted(encoder.output)}. `load_encoder(source, pooling=...)` adds one."
        )
