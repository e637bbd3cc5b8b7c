"""Building the model of an architecture from an encoder and config.json."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras

from keras_bert_lite.checkpoints.hugging_face.activations import activation_name
from keras_bert_lite.checks import (
    check_bool,
    check_choice,
    check_positive,
    check_rate,
)
from keras_bert_lite.tasks import (
    classification,
    masked_lm as words,
    multiple_choice as choices,
    question_answering as spans,
    ranking,
    token_classification as tokens,
)
from keras_bert_lite.tasks.pretraining import bert as pretraining

# `problem_type` of config.json -> our task.
PROBLEMS = {
    "single_label_classification": classification.TEXT_CLASSIFICATION,
    "multi_label_classification": classification.MULTI_LABEL_CLASSIFICATION,
    "regression": classification.REGRESSION,
}
# What sentence-transformers adds to config.json of a cross-encoder, since version 4 and
# before: the class of the activation of scores.
CROSS_ENCODER, ACTIVATION_KEY = "sentence_transformers", "activation_fn"
OLD_ACTIVATION = "sbert_ce_default_activation_function"
RANKER_ACTIVATIONS = {
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
    "torch.nn.modules.linear.Identity": None,
}


def sequence_classifier(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    """Builds a classifier, multi-label classifier or regressor, by `problem_type`.

    A cross-encoder of sentence-transformers with one score is a ranker.
    """
    options: dict[str, Any] = {
        "dropout": _dropout(raw, head),
        "head_form": _form(raw, head),
        "pooling": _pooling(raw, head),
    }
    names = label_names(raw)
    theirs = _cross_encoder_activation(raw)
    if theirs is not None and len(names) == 1:
        return ranking.ranker(encoder, activation=_ranker_activation(theirs), **options)
    problem = raw.get("problem_type")
    if problem not in (*PROBLEMS, None):
        raise ValueError(
            f"`problem_type` must be one of {tuple(PROBLEMS)}. Received: {problem!r}"
        )
    if problem is None:
        problem = "regression" if len(names) == 1 else "single_label_classification"
    task = PROBLEMS[problem]
    if task is classification.REGRESSION:
        return classification.regressor(encoder, len(names), names=names, **options)
    if task is classification.MULTI_LABEL_CLASSIFICATION:
        return classification.multi_label_classifier(encoder, names, **options)
    return classification.text_classifier(encoder, names, **options)


def _cross_encoder_activation(raw: dict) -> Any:
    """Returns the class of the activation of a cross-encoder; `None` if it is none."""
    section = raw.get(CROSS_ENCODER)
    theirs = section.get(ACTIVATION_KEY) if isinstance(section, dict) else None
    return raw.get(OLD_ACTIVATION) if theirs is None else theirs


def _ranker_activation(theirs: Any) -> str | None:
    if theirs not in RANKER_ACTIVATIONS:
        raise ValueError(
            f"`{ACTIVATION_KEY}` must be one of {[*RANKER_ACTIVATIONS]}. "
            f"Received: {theirs!r:.200}"
        )
    return RANKER_ACTIVATIONS[theirs]


def deberta_sequence_classifier(
    encoder: keras.Model, raw: dict, head: Any
) -> keras.Model:
    return sequence_classifier(encoder, raw, _with_deberta_form(raw, head))


def token_classifier(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    return tokens.token_classifier(
        encoder,
        label_names(raw),
        dropout=_dropout(raw, head),
        head_form=_form(raw, head),
    )


def question_answerer(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    dropout = _dropout(raw, head) if head.dropout else None
    return spans.question_answerer(encoder, dropout=dropout, head_form=_form(raw, head))


def multiple_choice(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    return choices.multiple_choice(
        encoder,
        dropout=_dropout(raw, head),
        head_form=_form(raw, head),
        pooling=_pooling(raw, head),
    )


def deberta_multiple_choice(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    return multiple_choice(encoder, raw, _with_deberta_form(raw, head))


def electra_multiple_choice(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    for name, value in {
        "summary_type": "first",
        "summary_use_proj": True,
        "summary_activation": "gelu",
    }.items():
        if raw.get(name, value) != value:
            raise ValueError(f"`{name}` must be {value!r}. Received: {raw[name]!r}")
    return multiple_choice(encoder, raw, head)


def masked_lm(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    options: dict[str, Any] = {}
    if head.own_form:
        options["head_form"] = _form(raw, head)
        options["output_bias"] = _switch(raw, "decoder_bias", True)
    return words.masked_lm(
        encoder, tied=is_tied(raw), activation=head.activation, **options
    )


def plain_masked_lm(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    """Builds EuroBERT's head: an output layer alone."""
    return words.masked_lm(encoder, tied=is_tied(raw), head_form={})


def enhanced_masked_lm(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    """Builds DeBERTa's own head, which is tied whatever the configuration says."""
    return words.masked_lm(encoder, enhanced=True)


def next_sentence_predictor(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    return pretraining.next_sentence_predictor(encoder)


def bert_pretrainer(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    dropout = _dropout(raw, head) if head.dropout else 0.0
    return pretraining.bert_pretrainer(
        encoder, dropout=dropout or 0.0, tied=is_tied(raw)
    )


def replaced_token_detector(encoder: keras.Model, raw: dict, head: Any) -> keras.Model:
    return pretraining.replaced_token_detector(encoder)


def is_tied(raw: Mapping[str, Any]) -> bool:
    return bool(raw.get("tie_word_embeddings", True))


def label_names(raw: Mapping[str, Any]) -> list[str]:
    """Returns the names of the labels in the order of their ids.

    Raises:
        ValueError: If `id2label` does not map 0 to n - 1 to names.
    """
    names = raw.get("id2label")
    if names is None or names == {}:
        count = raw.get("num_labels", 2)
        check_positive("num_labels", count)
        return [f"LABEL_{i}" for i in range(count)]
    try:
        by_id = {int(key): name for key, name in names.items()}
    except (AttributeError, ValueError, TypeError):
        by_id = {}
    if (
        not by_id
        or set(by_id) != set(range(len(names)))
        or not all(isinstance(name, str) for name in by_id.values())
    ):
        raise ValueError(
            f"`id2label` must map 0 to n - 1 to names. Received: {names!r}"
        )
    return [by_id[i] for i in range(len(by_id))]


def _form(raw: Mapping[str, Any], head: Any) -> dict[str, Any]:
    """Returns the head's hidden layer; see `families.Family`."""
    if not head.own_form:
        return dict(head.form)
    return {
        **head.form,
        "hidden_activation": activation_name(raw, "classifier_activation", "gelu"),
        "hidden_bias": _switch(raw, "classifier_bias", False),
    }


def _pooling(raw: Mapping[str, Any], head: Any) -> str | None:
    if not head.poolings:
        return None
    name = raw.get("classifier_pooling", next(iter(head.poolings)))
    check_choice("classifier_pooling", name, tuple(head.poolings))
    return head.poolings[name]


def _switch(raw: Mapping[str, Any], name: str, default: bool) -> bool:
    value = raw.get(name, default)
    check_bool(name, value)
    return value


def _dropout(raw: Mapping[str, Any], head: Any) -> float | None:
    if head.dropout is None:
        return None
    name, default = head.dropout
    rate = raw.get(name, default)
    if rate is not None:
        check_rate(name, rate)
    return rate


def _with_deberta_form(raw: Mapping[str, Any], head: Any) -> Any:
    """Returns the head with the hidden layer's options from DeBERTa's config.json."""
    rate = raw.get("pooler_dropout", 0.0)
    if rate is not None:
        check_rate("pooler_dropout", rate)
    form = {
        "hidden_activation": activation_name(raw, "pooler_hidden_act", "gelu"),
        "hidden_dropout": rate,
    }
    return dataclasses.replace(head, form=form)
