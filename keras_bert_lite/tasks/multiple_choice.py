"""Multiple choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_bool
from keras_bert_lite.families import FAMILIES
from keras_bert_lite.models.encoder_model import config_of
from keras_bert_lite.tasks import baselines
from keras_bert_lite.tasks.sequence_head import (
    default_pooling,
    grouped_inputs,
    head_arguments,
    sequence_vector,
)
from keras_bert_lite.tasks.string_form import (
    Answer,
    Options,
    Tensors,
    about_texts_apart,
    check_windows,
    string_inputs,
)
from keras_bert_lite.tasks.task import (
    FineTuning,
    Output,
    Task,
    options_of,
    task_model,
)
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.strings import valid_utf8
from keras_bert_lite.training import objectives
from keras_bert_lite.training.data import choice_dataset, row_formats
from keras_bert_lite.training.scores import questions as scores


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ChoiceAnswer(Answer):
    """Returns the best of several texts.

    Call arguments:
        inputs: A dictionary of `logits`, `(B, C)`, and `choices`, strings of the
            same shape.

    Output shape:
        A dictionary: `choice`, int32 `(B,)`, the index of the best; `answer`,
        strings `(B,)`, its text without invalid UTF-8; `scores`,
        float32 `(B, C)`, the softmax.
    """

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        logits = tf.cast(inputs["logits"], tf.float32)
        best = tf.argmax(logits, axis=-1, output_type=tf.int32)
        answer = valid_utf8(tf.gather(inputs["choices"], best, batch_dims=1))
        return {"choice": best, "answer": answer, "scores": tf.nn.softmax(logits)}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        batch, choices = inputs["choices"].shape
        return {
            "choice": keras.KerasTensor((batch,), dtype="int32"),
            "answer": keras.KerasTensor((batch,), dtype="string"),
            "scores": keras.KerasTensor((batch, choices), dtype="float32"),
        }


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    if "compare" in options_of(model):
        inputs, values = about_texts_apart(model, preprocessor, choices=True)
    else:
        check_windows(preprocessor, False)
        inputs = string_inputs(["text", "text_pair"], {"text_pair": (None,)})
        values = model(preprocessor(inputs))
    choose = answer(**options, name="answer")
    return inputs, choose({**values, "choices": inputs["text_pair"]})


MULTIPLE_CHOICE = Task(
    name="multiple_choice",
    head=layers.DenseHead,
    outputs=(
        Output("logits", objectives.CHOICE_CROSS_ENTROPY, (objectives.accuracy,)),
    ),
    data_set=choice_dataset,
    fine_tuning=FineTuning(
        rows=row_formats.Choices(),
        build=lambda encoder, labels, apart: multiple_choice(
            encoder, pooling="mean", head_form={}, compare=apart
        ),
        scorer=scores.ChoiceScorer(),
        baselines={"TF-IDF, most similar choice": baselines.most_similar_choice},
        data_options=lambda pairs, apart: {"text_pair": "choices", "compare": apart},
        # With 500 rows MiniLM learned them better so; with 200 both ways were alike
        # (`benchmarks.recipe_choices`, one draw).
        together_from=300,
    ),
    answer=ChoiceAnswer,
    string_form=_string_form,
    hugging_face="ForMultipleChoice",
    alternatives=True,
)


def multiple_choice(
    encoder: keras.Model,
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    pooling: str | None = None,
    compare: bool = False,
    name: str = "multiple_choice",
) -> keras.Model:
    """Builds a model that scores the choices of a question.

    Args:
        encoder, dropout, name: See `text_classifier`.
        pooling: See `text_classifier`; `"late"` is not for choices.
        head_form: See `text_classifier`; the default for RoBERTa is `{}`, because
            it scores choices with the `pooled_output`.
        compare: Whether the question and the choices are encoded apart. The head then
            receives `u, v, |u - v|, u v` of the unit vectors of the question and a
            choice, as `layers.CompareTexts` gives them. The rows of ids must be those
            of `choice_dataset(compare=True)`: a model cannot tell the two layouts
            apart.

    Returns:
        A functional model with the encoder's inputs for C choices, `(B, C, S)`, or,
        with `compare`, for the question and them, `(B, 1 + C, S)`, and the output
        `logits`, `(B, C)`. A target is the index of the right choice.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> kbl.multiple_choice(encoder).output["logits"].shape
    (None, None)

    Reference: `BertForMultipleChoice` in transformers.
    """
    check_bool("compare", compare)
    if head_form is None and FAMILIES[config_of(encoder).family].pooled_choices:
        head_form = {}
    pooling = default_pooling(encoder, head_form, pooling)
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.DenseHead(1, **arguments)
    inputs, rows = grouped_inputs()
    vectors = sequence_vector(encoder, rows, head, pooling)
    options: dict[str, Any] = {} if pooling is None else {"pooling": pooling}
    if compare:
        join = layers.RestoreGroups(name="join_texts")
        vectors = join(vectors, inputs["token_ids"])
        scores = head(layers.CompareTexts(choices=True, name="compare")(vectors))
        logits = keras.layers.Reshape((-1,), name="scores")(scores)
        options["compare"] = True
    else:
        join = layers.RestoreGroups(name="join_choices")
        logits = join(head(vectors), inputs["token_ids"])
    return task_model(
        MULTIPLE_CHOICE, inputs, {"logits": logits}, [head], name, **options
    )
