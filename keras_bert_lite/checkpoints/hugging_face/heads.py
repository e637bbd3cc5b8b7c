"""The heads of each family: how they are built and how their tensors are named.

The family and the suffix of the transformers class (`ForSequenceClassification`)
determine a `Head`. It holds the function that builds the model, the names of the
head's modules, whether the architecture has the encoder's pooler, and the
config.json field of the head's dropout rate.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import keras

from keras_bert_lite.checkpoints.hugging_face import head_builders as build
from keras_bert_lite.families import FAMILIES

Names = Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Head:
    """How an architecture's head is built and named.

    Args:
        build: Builds the model from the encoder, config.json and this head.
        names: The head's modules, mapped to our layers; see `name_table.targets`.
        pooled: Whether the architecture has the encoder's pooler.
        dropout: The config.json field of the dropout rate, and its default. The
            builder's default applies if this or the rate is `None`.
        form: `hidden_activation` and `hidden_dropout` of `DenseHead`.
        activation: The activation of a masked LM head, if not the encoder's.
        enhanced: The head for `"legacy": false`, an alternative layout of
            DeBERTa's `ForMaskedLM`.
        poolings: The values of `classifier_pooling` in config.json, mapped to the
            `pooling` of our builders. The first one is the default.
        own_form: Whether config.json describes the hidden layer, by
            `classifier_bias` and `classifier_activation`.
    """

    build: Callable[[keras.Model, dict[str, Any], "Head"], keras.Model]
    names: Names
    pooled: bool = False
    dropout: tuple[str, float | None] | None = None
    form: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    activation: str | None = None
    enhanced: "Head | None" = None
    poolings: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    own_form: bool = False


PLAIN = {"classifier": "head.dense"}
HIDDEN = {"classifier.dense": "head.hidden_dense", "classifier.out_proj": "head.dense"}
SPAN = {"qa_outputs": "head.dense"}
TANH = {"hidden_activation": "tanh"}
GELU = {"hidden_activation": "gelu"}
RELU = {"hidden_activation": "relu", "hidden_dropout": 0.0}
CLASSIFIER_DROPOUT = ("classifier_dropout", None)


def _prediction(transform: str, norm: str, bias: str) -> Names:
    return {
        f"{transform}": "prediction_transform.dense",
        f"{norm}": "prediction_transform.layer_norm",
        f"{bias}": "prediction_bias",
        f"{bias}.decoder": "prediction_dense",
    }


BERT_PREDICTION = _prediction(
    "cls.predictions.transform.dense",
    "cls.predictions.transform.LayerNorm",
    "cls.predictions",
)
PAIR = {"cls.seq_relationship": "pair_head.dense"}
BERT = {
    "ForSequenceClassification": Head(
        build.sequence_classifier, PLAIN, True, CLASSIFIER_DROPOUT
    ),
    "ForMultipleChoice": Head(build.multiple_choice, PLAIN, True, CLASSIFIER_DROPOUT),
    "ForTokenClassification": Head(
        build.token_classifier, PLAIN, dropout=CLASSIFIER_DROPOUT
    ),
    "ForQuestionAnswering": Head(build.question_answerer, SPAN),
    "ForMaskedLM": Head(build.masked_lm, BERT_PREDICTION),
    "ForNextSentencePrediction": Head(build.next_sentence_predictor, PAIR, True),
    "ForPreTraining": Head(build.bert_pretrainer, {**BERT_PREDICTION, **PAIR}, True),
}
ROBERTA = {
    "ForSequenceClassification": Head(
        build.sequence_classifier, HIDDEN, dropout=CLASSIFIER_DROPOUT, form=TANH
    ),
    "ForMultipleChoice": Head(build.multiple_choice, PLAIN, True),
    "ForTokenClassification": BERT["ForTokenClassification"],
    "ForQuestionAnswering": BERT["ForQuestionAnswering"],
    "ForMaskedLM": Head(
        build.masked_lm,
        _prediction("lm_head.dense", "lm_head.layer_norm", "lm_head"),
        activation="gelu",
    ),
}
MPNET = {
    **ROBERTA,
    "ForSequenceClassification": Head(build.sequence_classifier, HIDDEN, form=TANH),
    "ForTokenClassification": Head(build.token_classifier, PLAIN),
}
DISTIL_NAMES = {"pre_classifier": "head.hidden_dense", **PLAIN}
DISTIL_DROPOUT = ("seq_classif_dropout", 0.2)
DISTILBERT = {
    "ForSequenceClassification": Head(
        build.sequence_classifier, DISTIL_NAMES, dropout=DISTIL_DROPOUT, form=RELU
    ),
    "ForMultipleChoice": Head(
        build.multiple_choice, DISTIL_NAMES, dropout=DISTIL_DROPOUT, form=RELU
    ),
    "ForTokenClassification": Head(build.token_classifier, PLAIN),
    "ForQuestionAnswering": Head(
        build.question_answerer, SPAN, dropout=("qa_dropout", 0.1)
    ),
    "ForMaskedLM": Head(
        build.masked_lm,
        {
            "vocab_transform": "prediction_transform.dense",
            "vocab_layer_norm": "prediction_transform.layer_norm",
            "vocab_projector": "prediction_bias|prediction_dense",
        },
    ),
}
ALBERT_DROPOUT = ("classifier_dropout_prob", 0.1)
ALBERT_PREDICTION = _prediction(
    "predictions.dense", "predictions.LayerNorm", "predictions"
)
ALBERT = {
    "ForSequenceClassification": Head(
        build.sequence_classifier, PLAIN, True, ALBERT_DROPOUT
    ),
    "ForMultipleChoice": Head(build.multiple_choice, PLAIN, True, ALBERT_DROPOUT),
    "ForTokenClassification": Head(
        build.token_classifier, PLAIN, dropout=ALBERT_DROPOUT
    ),
    "ForQuestionAnswering": Head(build.question_answerer, SPAN),
    "ForMaskedLM": Head(build.masked_lm, ALBERT_PREDICTION),
    "ForPreTraining": Head(
        build.bert_pretrainer,
        {**ALBERT_PREDICTION, "sop_classifier.classifier": "pair_head.dense"},
        True,
        ALBERT_DROPOUT,
    ),
}
ELECTRA = {
    "ForSequenceClassification": Head(
        build.sequence_classifier, HIDDEN, dropout=CLASSIFIER_DROPOUT, form=GELU
    ),
    "ForMultipleChoice": Head(
        build.electra_multiple_choice,
        {"sequence_summary.summary": "head.hidden_dense", **PLAIN},
        dropout=("summary_last_dropout", 0.1),
        form={**GELU, "hidden_dropout": 0.0},
    ),
    "ForTokenClassification": BERT["ForTokenClassification"],
    "ForQuestionAnswering": BERT["ForQuestionAnswering"],
    "ForMaskedLM": Head(
        build.masked_lm,
        {
            "generator_predictions.dense": "prediction_transform.dense",
            "generator_predictions.LayerNorm": "prediction_transform.layer_norm",
            "generator_lm_head": "prediction_bias|prediction_dense",
        },
        activation="gelu",
    ),
    "ForPreTraining": Head(
        build.replaced_token_detector,
        {
            "discriminator_predictions.dense": "head.hidden_dense",
            "discriminator_predictions.dense_prediction": "head.dense",
        },
    ),
}
DEBERTA_NAMES = {"pooler.dense": "head.hidden_dense", **PLAIN}
DEBERTA_DROPOUT = ("cls_dropout", None)
DEBERTA = {
    "ForSequenceClassification": Head(
        build.deberta_sequence_classifier, DEBERTA_NAMES, dropout=DEBERTA_DROPOUT
    ),
    "ForMultipleChoice": Head(
        build.deberta_multiple_choice, DEBERTA_NAMES, dropout=DEBERTA_DROPOUT
    ),
    "ForTokenClassification": Head(build.token_classifier, PLAIN),
    "ForQuestionAnswering": Head(build.question_answerer, SPAN),
    "ForMaskedLM": Head(
        build.masked_lm,
        BERT_PREDICTION,
        enhanced=Head(
            build.enhanced_masked_lm,
            {
                "lm_predictions.lm_head.dense": "prediction_transform.dense",
                "lm_predictions.lm_head.LayerNorm": "prediction_transform.layer_norm",
                "lm_predictions.lm_head": "prediction_bias",
            },
        ),
    ),
}
DEBERTA_V1 = {name: x for name, x in DEBERTA.items() if name != "ForMultipleChoice"}
MODERNBERT_NAMES = {
    "head.dense": "head.hidden_dense",
    "head.norm": "head.hidden_norm",
    **PLAIN,
}
MODERNBERT_DROPOUT = ("classifier_dropout", 0.0)


def _modernbert(builder: Callable, pools: bool = False) -> Head:
    return Head(
        builder,
        MODERNBERT_NAMES,
        dropout=MODERNBERT_DROPOUT,
        form=FAMILIES["modernbert"].head_form,
        poolings={"cls": None, "mean": "mean"} if pools else {},
        own_form=True,
    )


MODERNBERT = {
    "ForSequenceClassification": _modernbert(build.sequence_classifier, pools=True),
    "ForMultipleChoice": _modernbert(build.multiple_choice, pools=True),
    "ForTokenClassification": _modernbert(build.token_classifier),
    "ForQuestionAnswering": _modernbert(build.question_answerer),
    "ForMaskedLM": Head(
        build.masked_lm,
        {
            "head.dense": "prediction_transform.dense",
            "head.norm": "prediction_transform.layer_norm",
            "decoder": "prediction_bias|prediction_dense",
        },
        own_form=True,
    ),
}
NOMIC = {
    **{
        name: BERT[name]
        for name in ("ForSequenceClassification", "ForTokenClassification")
    },
    "ForMaskedLM": Head(
        build.masked_lm,
        _prediction(
            "cls.predictions.transform.dense",
            "cls.predictions.transform.layer_norm",
            "cls.predictions",
        ),
    ),
}
GTE = {
    **NOMIC,
    "ForMaskedLM": Head(
        build.masked_lm,
        {
            "lm_head.dense": "prediction_transform.dense",
            "lm_head.norm": "prediction_transform.layer_norm",
            "lm_head.decoder": "prediction_bias|prediction_dense",
        },
        activation="gelu",
    ),
}
JINA = {name: x for name, x in ROBERTA.items() if name != "ForMultipleChoice"}
EUROBERT = {
    "ForSequenceClassification": Head(
        build.sequence_classifier,
        {"dense": "head.hidden_dense", **PLAIN},
        form=FAMILIES["eurobert"].head_form,
        poolings={"late": "late", "bos": None, "mean": "mean"},
    ),
    "ForTokenClassification": Head(build.token_classifier, PLAIN),
    "ForMaskedLM": Head(
        build.plain_masked_lm, {"lm_head": "prediction_bias|prediction_dense"}
    ),
}
HEADS: dict[str, dict[str, Head]] = {
    "bert": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "distilbert": DISTILBERT,
    "albert": ALBERT,
    "electra": ELECTRA,
    "mpnet": MPNET,
    "deberta": DEBERTA_V1,
    "deberta-v2": DEBERTA,
    "modernbert": MODERNBERT,
    "nomic_bert": NOMIC,
    "gte": GTE,
    "jina_embeddings_v3": JINA,
    "eurobert": EUROBERT,
}
