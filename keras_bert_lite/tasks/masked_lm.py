"""Masked language modelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.families import FAMILIES
from keras_bert_lite.layer_config import layer_from_config
from keras_bert_lite.models.encoder_model import (
    config_of,
    connect_with_table,
    encoder_layers,
    id_inputs,
)
from keras_bert_lite.tasks.string_form import (
    Answer,
    Options,
    Tensors,
    check_windows,
    string_inputs,
)
from keras_bert_lite.tasks.task import (
    Output,
    Task,
    head_layers,
    task_model,
)
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.ragged import repeat
from keras_bert_lite.text.strings import valid_utf8
from keras_bert_lite.training import objectives


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MaskAnswer(Answer):
    """Returns the most probable pieces for each mask, and the filled text.

    Args:
        tokenizer: The tokenizer, which must recognize mask tokens in text.
        top_k: Number of pieces per mask.

    Call arguments:
        inputs: A dictionary of `prediction_logits` `(B, S, V)`, `token_ids`
            `(B, S)` and `text` `(B,)`.

    Output shape:
        A dictionary.

        - `tokens`, strings `(B, M, top_k)`: the most probable pieces for each
          mask of the text, the best first. M is the largest number of masks in
          a text of the batch; shorter rows are padded with empty strings;
        - `scores`, float32 of the same shape: their softmax probabilities;
        - `filled`, strings `(B,)`: the text with each mask replaced by its best
          piece. A piece that continues a word (`##ing`) is appended without a
          space. Truncated masks are kept.

    Raises:
        ValueError: If the tokenizer does not recognize masks in text, or `top_k`
            is not between 1 and the size of the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer, top_k: int = 5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_positive("top_k", top_k)
        if top_k > tokenizer.vocabulary_size():
            raise ValueError(
                f"`top_k` must be at most {tokenizer.vocabulary_size()}, the size of "
                f"the vocabulary. Received: {top_k}"
            )
        self.tokenizer = tokenizer
        self.top_k = top_k
        self._mask_token = tokenizer.roles["mask"]
        self._mask_id = self._id_in_text()
        texts, inside = zip(*tokenizer.piece_texts(), strict=True)
        self._texts = np.array([text.encode() for text in texts], object)
        self._inside = np.array(inside)

    def _id_in_text(self) -> int:
        ids = self.tokenizer([self._mask_token]).flat_values.numpy().tolist()
        if ids != [self.tokenizer.token_to_id(self._mask_token)]:
            raise ValueError(
                "`tokenizer` must recognize masks in text: make it with "
                "`special_tokens_in_text=True`. Received one that splits "
                f"{self._mask_token!r} into {len(ids)} pieces"
            )
        return ids[0]

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        index = tf.where(tf.equal(inputs["token_ids"], self._mask_id))  # (M, 2)
        logits = tf.gather_nd(inputs["prediction_logits"], index)
        logits = tf.cast(logits, tf.float32)[:, : len(self._texts)]
        best, ids = tf.nn.top_k(tf.nn.softmax(logits), self.top_k)
        rows = tf.size(inputs["text"], tf.int64)
        ids, best = (
            tf.RaggedTensor.from_value_rowids(x, index[:, 0], rows, validate=False)
            for x in (ids, best)
        )
        return {
            "tokens": tf.gather(tf.constant(self._texts), ids).to_tensor(""),
            "scores": best.to_tensor(0.0),
            "filled": self._filled(inputs["text"], ids[:, :, 0]),
        }

    def _filled(self, text: tf.Tensor, ids: tf.RaggedTensor) -> tf.Tensor:
        """Replaces the masks of texts (B,) with pieces (B, None)."""
        parts = tf.strings.split(valid_utf8(text), self._mask_token)
        joins = tf.gather(tf.constant(self._inside), ids)
        pieces = tf.gather(tf.constant(self._texts), ids)
        pieces = tf.where(
            joins.values,
            tf.strings.regex_replace(pieces.values, "^##", ""),
            pieces.values,
        )
        # Append the truncated masks and the end of the text.
        missing = parts.row_lengths() - ids.row_lengths()
        indices = tf.ragged.range(missing)
        ends = tf.equal(indices.values, repeat(missing, missing) - 1)
        rest = indices.with_values(tf.where(ends, "", self._mask_token))
        pieces = tf.concat([ids.with_values(pieces), rest], 1)
        joins = tf.concat([joins, indices.with_values(tf.zeros_like(ends))], 1)
        before = tf.strings.regex_replace(parts.values, r"\s+$", "")
        before = tf.where(joins.values, before, parts.values)
        joined = parts.with_values(tf.strings.join([before, pieces.values]))
        return tf.strings.reduce_join(joined, axis=1)

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        (batch,) = inputs["text"].shape
        shape = (batch, None, self.top_k)
        return {
            "tokens": keras.KerasTensor(shape, dtype="string"),
            "scores": keras.KerasTensor(shape, dtype="float32"),
            "filled": keras.KerasTensor((batch,), dtype="string"),
        }

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
            "top_k": self.top_k,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> MaskAnswer:
        tokenizer = layer_from_config(config["tokenizer"], Tokenizer, "`tokenizer`")
        return cls(**{**config, "tokenizer": tokenizer})


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    check_windows(preprocessor, False)
    fill = answer(preprocessor.tokenizer, **options, name="answer")
    inputs = string_inputs(["text"])
    ids = preprocessor(inputs)
    return inputs, fill({**model(ids), "token_ids": ids["token_ids"], **inputs})


PREDICTION = Output(
    "prediction_logits",
    objectives.WORD_CROSS_ENTROPY,
    (objectives.vocabulary_accuracy, objectives.perplexity),
)
MASKED_LM = Task(
    name="masked_lm",
    head=layers.MaskedLMTransform,
    outputs=(PREDICTION,),
    answer=MaskAnswer,
    string_form=_string_form,
    hugging_face="ForMaskedLM",
    alternatives=True,
)


def masked_lm(
    encoder: keras.Model,
    tied: bool = True,
    activation: str | None = None,
    enhanced: bool = False,
    head_form: dict[str, Any] | None = None,
    output_bias: bool | None = None,
    name: str = "masked_lm",
) -> keras.Model:
    """Builds a masked language model, with logits for every position.

    The model uses the encoder's own layers, so input and output can share the
    token embeddings; `encoder_of` returns the encoder.

    Args:
        encoder: An encoder.
        tied: Whether the output layer shares the token embeddings. Otherwise it
            has its own weights.
        activation: Activation of the hidden layer; `None` means the encoder's.
        enhanced: Whether checkpoints store the head in DeBERTa's own layout; the
            computation is the same.
        head_form: The hidden layer: whether it has a `hidden_bias`, and perhaps its
            `hidden_activation`; `{}` for no hidden layer. `None` means the family's
            way.
        output_bias: Whether the output layer has a bias; by default it has, or
            without a hidden layer if the feed-forward layers have (EuroBERT).
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output
        `prediction_logits`, `(B, S, V)`.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> kbl.masked_lm(encoder).output["prediction_logits"].shape
    (None, None, 30522)

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 3.1.
    """
    inputs, (embeddings, blocks, _) = id_inputs(), encoder_layers(encoder)
    outputs, table = connect_with_table(inputs, embeddings, blocks, None)
    head = masked_lm_layers(encoder, tied, activation, head_form, output_bias)
    logits = word_scores(table, *head, outputs["sequence_output"])
    outputs = {PREDICTION.name: logits}
    options = {"enhanced": True} if enhanced else {}
    return task_model(MASKED_LM, inputs, outputs, head, name, **options)


def masked_lm_layers(
    encoder: keras.Model,
    tied: bool,
    activation: str | None = None,
    head_form: Mapping[str, Any] | None = None,
    output_bias: bool | None = None,
) -> tuple[keras.layers.Layer, keras.layers.Layer]:
    """Makes the two layers of a masked language model's head; see `masked_lm`."""
    config = config_of(encoder)
    form = FAMILIES[config.family].word_form if head_form is None else head_form
    transform: keras.layers.Layer = keras.layers.Identity(name="prediction_transform")
    if form:
        chosen = form.get("hidden_activation") or activation or config.activation
        transform = layers.MaskedLMTransform(
            config.embedding_dim or config.hidden_dim,
            activation=chosen,
            layer_norm_epsilon=config.layer_norm_epsilon,
            use_bias=form.get("hidden_bias", True),
            norm_bias=config.norms.bias,
            initializer_range=config.initializer_range,
            name="prediction_transform",
        )
    if output_bias is None:
        output_bias = bool(form) or config.biases.output
    if not tied:
        rows = config.vocabulary_size
        return transform, keras.layers.Dense(
            rows, use_bias=output_bias, name="prediction_dense"
        )
    if output_bias:
        return transform, layers.VocabularyBias(name="prediction_bias")
    return transform, keras.layers.Identity(name="prediction_scores")


def masked_lm_head(
    model: keras.Model,
) -> tuple[keras.layers.Layer, keras.layers.Layer]:
    """Returns the two layers of a model's masked language modelling head.

    Raises:
        ValueError: If the model has no such head.
    """
    head = tuple(head_layers(model, PREDICTION.name).values())
    if not head:
        raise ValueError(
            "`model` must be made by `masked_lm` or `bert_pretrainer`, or loaded with "
            f"such a head. Received: {model!r}"
        )
    return head


def word_scores(
    table: keras.KerasTensor,
    transform: keras.layers.Layer,
    last: keras.layers.Layer,
    x: keras.KerasTensor,
    name: str = "vocabulary_scores",
) -> keras.KerasTensor:
    """Returns the logits over the vocabulary for each vector.

    Args:
        table: The token embeddings; an output layer with weights of its own needs none.
        transform, last: The head; see `masked_lm_layers`.
        x: The vectors.
        name: Name of the layer that scores them against the table.
    """
    x = transform(x)
    if not isinstance(last, keras.layers.Dense):
        x = layers.VocabularyScores(name=name)(x, table)
    return last(x)
