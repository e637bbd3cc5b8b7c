"""Intent and slot classification: a label for each text and a tag for each word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.models.encoder_model import id_inputs
from keras_bert_lite.tasks import baselines
from keras_bert_lite.tasks.classification import LabelAnswer
from keras_bert_lite.tasks.sequence_head import (
    default_pooling,
    head_arguments,
    read_sequence,
)
from keras_bert_lite.tasks.string_form import (
    Answer,
    Options,
    Tensors,
    about_words,
)
from keras_bert_lite.tasks.task import (
    FineTuning,
    Output,
    Task,
    labels_of,
    task_model,
)
from keras_bert_lite.tasks.token_classification import EntityAnswer, decoding
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training import objectives
from keras_bert_lite.training.data import (
    intent_and_slot_dataset,
    intents,
    row_formats,
)
from keras_bert_lite.training.scores import tags as scores

INTENT = Output(intents.INTENT, objectives.CROSS_ENTROPY, (objectives.accuracy,))
SLOTS = Output(intents.SLOTS, objectives.WORD_CROSS_ENTROPY, (objectives.tag_scores,))


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class IntentAndSlotAnswer(Answer):
    """Returns the intent of a text and the slots filled by its words.

    Args:
        intents: The names of the intents, in the order of the logits.
        slots: The names of the tags, in the order of the logits.
        decoding, split_words: See `EntityAnswer`.

    Call arguments:
        inputs: A dictionary of `intent_logits` `(N, I)`, `slot_logits`
            `(N, S, L)`, and the other outputs of `TextWindows`; with `split_words`,
            also `given`. The first window determines the intent of a text.

    Output shape:
        A dictionary: `label`, strings `(B,)`, the most probable intent;
        `label_scores`, float32 `(B, I)`, their softmax; and `entities`,
        `entity_labels`, `entity_starts`, `entity_ends` and `entity_scores`, as
        `EntityAnswer` returns them, with `split_words` also `labels` and `scores`.
    """

    absent = EntityAnswer.absent

    def __init__(
        self,
        intents: Sequence[str],
        slots: Sequence[str],
        decoding: str = "lenient",
        split_words: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.intents, self.slots = check_labels(intents), check_labels(slots)
        self.decoding = decoding
        self.split_words = split_words
        self._label = LabelAnswer(self.intents)
        self.entity_answer = EntityAnswer(self.slots, decoding, split_words)

    def without_padding(self, row: dict[str, Any]) -> dict[str, Any]:
        return self.entity_answer.without_padding(row)

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        values = dict(inputs)
        intent, slots = values.pop(INTENT.name), values.pop(SLOTS.name)
        texts = tf.range(tf.size(values["text"], tf.int64))
        first = tf.searchsorted(values["window_rows"], texts)
        label = self._label(tf.gather(intent, first))
        entities = self.entity_answer({**values, "logits": slots})
        return {"label": label["label"], "label_scores": label["scores"], **entities}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        self.check_labels_fit(self.intents, inputs[INTENT.name], "intents")
        (batch,) = inputs["text"].shape
        return {
            "label": keras.KerasTensor((batch,), dtype="string"),
            "label_scores": keras.KerasTensor((batch, len(self.intents)), "float32"),
            **self.entity_answer.compute_output_spec(
                {**inputs, "logits": inputs[SLOTS.name]}
            ),
        }

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "intents": list(self.intents),
            "slots": list(self.slots),
            "decoding": self.decoding,
            "split_words": self.split_words,
        }


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    labels = [labels_of(model, output.name) for output in (INTENT, SLOTS)]
    found = answer(*labels, **options, name="answer")
    inputs, values = about_words(model, preprocessor, found.split_words)
    return inputs, found(values)


INTENT_AND_SLOTS = Task(
    name="intent_and_slots",
    head=layers.ClassificationHead,
    outputs=(INTENT, SLOTS),
    data_set=intent_and_slot_dataset,
    fine_tuning=FineTuning(
        rows=row_formats.TaggedWordsWithIntent(),
        build=lambda encoder, labels, apart: intent_and_slot_classifier(
            encoder, **labels, pooling="mean"
        ),
        scorer=scores.IntentAndTagScorer(),
        baselines={
            "TF-IDF, logistic regression; most common tag of each word": (
                baselines.intent_and_common_tags
            )
        },
        answer_options=lambda model: decoding(labels_of(model, SLOTS.name)),
        scored_options={"split_words": True},
        kept_options=("decoding",),
        epochs=2,  # most tags are rare
        rate=2.0,  # see `benchmarks.recipe_choices`
    ),
    explained="intent_or_slot",
    answer=IntentAndSlotAnswer,
    string_form=_string_form,
    windowed=True,
    not_saved="of one head, for transformers has no class for intent and slots",
    alternatives=True,
)


def intent_and_slot_classifier(
    encoder: keras.Model,
    intents: Sequence[str],
    slots: Sequence[str],
    dropout: float | None = None,
    pooling: str | None = None,
    name: str = "intent_and_slot_classifier",
) -> keras.Model:
    """Builds a model that labels a text and its tokens in one forward pass.

    Args:
        encoder: An encoder.
        intents: The names of the texts' labels.
        slots: The names of the tokens' labels, such as `"O"`, `"B-artist"`.
        dropout: Dropout rate before the last layers; `None` means the encoder's.
        pooling: How to pool the tokens for the intent; see `text_classifier`.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the outputs
        `intent_logits`, `(B, len(intents))`, and `slot_logits`,
        `(B, S, len(slots))`. `kbl.compile` trains it with the sum of both
        cross-entropies, on the data of `intent_and_slot_dataset`.

    Raises:
        ValueError: If `intents` or `slots` are not at least two unique names.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.intent_and_slot_classifier(
    ...     encoder, ["play", "stop"], ["O", "B-song", "I-song"]
    ... )
    >>> sorted(model.output)
    ['intent_logits', 'slot_logits']

    Reference: [Chen et al., 2019](https://arxiv.org/abs/1902.10909).
    """
    pooling = default_pooling(encoder, None, pooling)
    arguments = head_arguments(encoder, dropout, pooling=pooling)
    plain = {key: arguments[key] for key in ("dropout", "initializer_range")}
    heads = {
        INTENT.name: layers.ClassificationHead(
            check_labels(intents, argument="intents"),
            **{**arguments, "name": "intent_head"},
        ),
        SLOTS.name: layers.ClassificationHead(
            check_labels(slots, argument="slots"), **plain, name="slot_head"
        ),
    }
    inputs = id_inputs()
    tokens, vector = read_sequence(encoder, inputs, heads[INTENT.name], pooling)
    outputs = {
        INTENT.name: heads[INTENT.name](vector),
        SLOTS.name: heads[SLOTS.name](tokens),
    }
    marks = {name: [head] for name, head in heads.items()}
    return task_model(INTENT_AND_SLOTS, inputs, outputs, marks, name)
