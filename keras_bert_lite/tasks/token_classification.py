"""Token classification: named entities, parts of speech, chunks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import keras
import numpy as np

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice
from keras_bert_lite.layers.heads.crf import FORBIDDEN, split_crf_scores
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.layers.heads.tag_spans import TagSpans, tag_spans
from keras_bert_lite.layers.heads.viterbi import CRFScores, viterbi
from keras_bert_lite.models.encoder_model import id_inputs, without_pooler
from keras_bert_lite.tagging import (
    allowed_transitions,
    has_scheme,
    span_types,
)
from keras_bert_lite.tasks import baselines
from keras_bert_lite.tasks.sequence_head import token_head_arguments
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
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.ragged import rows_of
from keras_bert_lite.text.strings import slices
from keras_bert_lite.training import objectives
from keras_bert_lite.training.data import row_formats, token_dataset
from keras_bert_lite.training.scores import tags as scores

DECODINGS = ("lenient", "constrained")
ENTITIES = {
    "entities": ("string", ""),
    "entity_labels": ("string", ""),
    "entity_starts": ("int32", -1),
    "entity_ends": ("int32", -1),
    "entity_scores": ("float32", 0.0),
}


class Words(NamedTuple):
    """The words of B texts, padded to W."""

    logits: tf.Tensor  # (B, W, L) float32
    mask: tf.Tensor  # (B, W) bool, true at words
    starts: tf.Tensor  # (B, W) int32, code points
    ends: tf.Tensor  # (B, W) int32, exclusive
    numbers: tf.Tensor  # (B, W) int64, indices of the given words


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EntityAnswer(Answer):
    """Returns the entities of a text, from the labels of its words.

    A word gets the label of its first piece, scored in the window that gives it
    the most context (BERT's max-context rule). A model with a CRF is decoded with
    the Viterbi algorithm over the whole text. If the labels have no scheme (parts
    of speech), every word not labelled `O` is an entity.

    Args:
        labels: The names of the labels, in the order of the logits.
        decoding: `"lenient"` reads labels that break their scheme as the official
            scorer does: an `I` that continues no entity begins one.
            `"constrained"` finds the best labels that the scheme allows.
        split_words: Whether the texts are given as lists of words; each word then
            gets a label.

    Call arguments:
        inputs: A dictionary of `logits` `(N, S, L)`, or `crf_scores` from a
            `CRF` layer, and the other outputs of `TextWindows`; with
            `split_words`, also `given`, the words `(B, W)`.

    Output shape:
        A dictionary.

        - `entities` and `entity_labels`, strings, `entity_starts` and
          `entity_ends`, int32, `entity_scores`, float32, all `(B, E)`: each
          entity's text, type, code point offsets and score, padded with empty
          strings, -1 and 0. `end` is exclusive; offsets refer to the words joined
          by spaces if `split_words`. The score is the mean softmax probability of
          its words' labels (also with a CRF, ignoring transitions).
        - with `split_words`, `labels`, strings, and `scores`, float32,
          `(B, W)`: each word's label; empty for an empty word, `O` for a word
          that the tokenizer drops.

    Raises:
        ValueError: If the labels mix schemes, or `decoding` is invalid.
    """

    absent: ClassVar = {"entity_starts": -1, "entity_ends": -1}

    def __init__(
        self,
        labels: Sequence[str],
        decoding: str = "lenient",
        split_words: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("decoding", decoding, DECODINGS)
        self.labels = check_labels(labels)
        self.decoding = decoding
        self.split_words = split_words
        self._spelled = has_scheme(self.labels)
        self._types = span_types(self.labels) if self._spelled else self.labels

    def without_padding(self, row: dict[str, Any]) -> dict[str, Any]:
        count = int((row["entity_starts"] >= 0).sum())
        kept = {name: row[name][:count] for name in ENTITIES}
        if self.split_words:
            # A word of characters that the tokenizer drops has no label.
            count = int(np.flatnonzero(row["labels"] != "").max(initial=-1)) + 1
            kept |= {name: row[name][:count] for name in ("labels", "scores")}
        return {**row, **kept}

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        words, tags = self.tags(inputs)
        shares = tf.nn.softmax(words.logits)
        shares = tf.gather(shares, tags, batch_dims=2) * tf.cast(words.mask, tf.float32)
        entities = self._entities(
            words, self._tag_spans(tags, words.mask), shares, inputs
        )
        if not self.split_words:
            return entities
        return {**entities, **self._word_labels(words, tags, shares, inputs["given"])}

    def tags(self, inputs: dict[str, tf.Tensor]) -> tuple[Words, tf.Tensor]:
        """Returns the words of the texts and the indices of their labels, (B, W)."""
        self._check_labels(inputs)
        scores = self._scores(inputs)
        words = _words(inputs, scores.logits)
        return words, self._tags(words, scores, "crf_scores" in inputs)

    def _check_labels(self, x: dict[str, Any]) -> None:
        self.check_labels_fit(self.labels, x.get("crf_scores", x.get("logits")))

    def _scores(self, x: dict[str, tf.Tensor]) -> CRFScores:
        """Returns the scores of labels and of their transitions, by window."""
        if "crf_scores" in x:
            return split_crf_scores(tf.cast(x["crf_scores"], tf.float32))
        logits, size = tf.cast(x["logits"], tf.float32), len(self.labels)
        pairs = tf.zeros([tf.shape(logits)[0], size, size])
        return CRFScores(logits, pairs, pairs[:, 0], pairs[:, 0])

    def _tags(self, words: Words, scores: CRFScores, crf: bool) -> tf.Tensor:
        """Returns the indices of the words' labels, (B, W)."""
        if self.decoding == "lenient" and not crf:
            return tf.argmax(words.logits, axis=-1, output_type=tf.int32)
        penalties: Any = (0.0, 0.0, 0.0)
        if self.decoding == "constrained":
            allowed = allowed_transitions(self.labels)
            penalties = tuple((~x * FORBIDDEN).astype("float32") for x in allowed)
        rows = tf.shape(words.logits)[:1]  # every window has the same transitions
        extra = (
            tf.broadcast_to(x[:1] + penalty, tf.concat([rows, tf.shape(x)[1:]], 0))
            for x, penalty in zip(scores[1:], penalties, strict=True)
        )
        return viterbi(CRFScores(words.logits, *extra), words.mask)[0]

    def _tag_spans(self, tags: tf.Tensor, mask: tf.Tensor) -> TagSpans:
        if self._spelled:
            return tag_spans(tags, mask, self.labels)
        named = tf.constant([label != "O" for label in self.labels])
        here = tf.broadcast_to(tf.range(tf.shape(tags)[1]), tf.shape(tags))
        return TagSpans(tf.logical_and(mask, tf.gather(named, tags)), here, tags)

    def _entities(
        self,
        words: Words,
        found: TagSpans,
        shares: tf.Tensor,
        x: dict[str, tf.Tensor],
    ) -> dict[str, tf.Tensor]:
        position = tf.where(found.begins)  # (E, 2)
        row = position[:, 0]
        last = tf.cast(tf.gather_nd(found.ends, position), tf.int64)
        starts = tf.gather_nd(words.starts, position)
        ends = tf.gather_nd(words.ends, tf.stack([row, last], 1))
        sums = tf.pad(tf.cumsum(shares, axis=1), [[0, 0], [1, 0]])
        total = tf.gather_nd(sums, tf.stack([row, last + 1], 1))
        total -= tf.gather_nd(sums, position)
        count = tf.cast(last + 1 - position[:, 1], tf.float32)
        types = tf.gather_nd(found.types, position)
        values = {
            "entities": slices(x["text"], row, starts, ends),
            "entity_labels": tf.gather(tf.constant(self._types), types),
            "entity_starts": starts,
            "entity_ends": ends,
            "entity_scores": total / count,
        }
        rows = tf.size(x["text"], tf.int64)
        return {
            name: tf.RaggedTensor.from_value_rowids(
                value, row, rows, validate=False
            ).to_tensor(ENTITIES[name][1])
            for name, value in values.items()
        }

    def _word_labels(
        self, words: Words, tags: tf.Tensor, shares: tf.Tensor, given: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        seen = tf.where(words.mask)
        position = tf.stack([seen[:, 0], tf.gather_nd(words.numbers, seen)], 1)
        shape = tf.shape(given, tf.int64)
        # 0 means no label.
        number = tf.scatter_nd(position, tf.gather_nd(tags, seen) + 1, shape)
        names = tf.gather(tf.constant(["", *self.labels]), number)
        outside = next((x for x in ("O", "o") if x in self.labels), "")
        unseen = tf.logical_and(number == 0, given != "")
        return {
            "labels": tf.where(unseen, outside, names),
            "scores": tf.scatter_nd(position, tf.gather_nd(shares, seen), shape),
        }

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        self._check_labels(inputs)
        shape = (*inputs["text"].shape, None)
        specs = {
            name: keras.KerasTensor(shape, dtype=dtype)
            for name, (dtype, _) in ENTITIES.items()
        }
        if self.split_words:
            given = inputs["given"].shape
            specs["labels"] = keras.KerasTensor(given, dtype="string")
            specs["scores"] = keras.KerasTensor(given, dtype="float32")
        return specs

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "labels": list(self.labels),
            "decoding": self.decoding,
            "split_words": self.split_words,
        }


def _words(x: dict[str, tf.Tensor], logits: tf.Tensor) -> Words:
    """Merges windows, taking each word from the one with the most context."""
    rows = rows_of(x["row_splits"])  # (T,)
    kept = tf.logical_and(x["most_context"], tf.gather(x["firsts"], x["tokens"]))
    tokens = tf.boolean_mask(x["tokens"], kept)
    order = tf.argsort(tokens)
    tokens = tf.gather(tokens, order)
    position = tf.boolean_mask(tf.stack([x["windows"], x["columns"]], 1), kept)
    values = (
        tf.gather_nd(logits, tf.gather(position, order)),
        tf.ones_like(tokens, tf.bool),
        tf.gather(x["starts"], tokens),
        _word_ends(x, rows, tokens),
        tf.gather(x["words"], tokens),
    )
    row = tf.gather(rows, tokens)
    count = tf.size(x["text"], tf.int64)
    parts = (
        tf.RaggedTensor.from_value_rowids(v, row, count, validate=False).to_tensor()
        for v in values
    )
    # Add a column, so that there is always one.
    return Words(
        *(tf.pad(v, [[0, 0], [0, 1], *[[0, 0]] * (v.shape.rank - 2)]) for v in parts)
    )


def _word_ends(
    x: dict[str, tf.Tensor], rows: tf.Tensor, firsts: tf.Tensor
) -> tf.Tensor:
    """Returns the end offsets (W,) of the words whose first tokens are `firsts`."""
    word = tf.cumsum(tf.cast(x["firsts"], tf.int64)) - 1  # (T,)
    own = tf.gather(tf.concat([firsts, [0]], 0), tf.maximum(word, 0))
    same = tf.logical_and(word >= 0, tf.equal(tf.gather(rows, own), rows))
    # A piece that is only a space has no width and lies behind the word.
    seen = tf.logical_and(same, x["ends"] > x["starts"])
    ends = tf.where(seen, x["ends"], 0)
    count = tf.size(firsts, tf.int64)
    ends = tf.math.unsorted_segment_max(ends, tf.maximum(word, 0), count + 1)[:-1]
    return tf.maximum(ends, tf.gather(x["starts"], firsts))


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    tag = answer(labels_of(model), **options, name="answer")
    inputs, values = about_words(model, preprocessor, tag.split_words)
    return inputs, tag(values)


def decoding(labels: Sequence[str] | None) -> dict[str, str]:
    """Returns the option of answers that follows the labels' scheme, if any."""
    return {"decoding": "constrained" if has_scheme(labels or []) else "lenient"}


TOKEN_FINE_TUNING = FineTuning(
    rows=row_formats.TaggedWords(),
    build=lambda encoder, labels, apart: token_classifier(encoder, **labels),
    scorer=scores.TagScorer(),
    baselines={"most common tag of each word": baselines.most_common_tags},
    answer_options=lambda model: decoding(labels_of(model)),
    scored_options={"split_words": True},
    kept_options=("decoding",),
    epochs=2,  # most tags are rare
    rate=2.0,  # see `benchmarks.recipe_choices`
)
TOKEN_CLASSIFICATION = Task(
    name="token_classification",
    head=layers.ClassificationHead,
    outputs=(
        Output("logits", objectives.WORD_CROSS_ENTROPY, (objectives.tag_scores,)),
    ),
    data_set=token_dataset,
    fine_tuning=TOKEN_FINE_TUNING,
    explained="tag",
    answer=EntityAnswer,
    string_form=_string_form,
    windowed=True,
    hugging_face="ForTokenClassification",
    alternatives=True,
)
CRF_TOKEN_CLASSIFICATION = dataclasses.replace(
    TOKEN_CLASSIFICATION,
    name="crf_token_classification",
    fine_tuning=dataclasses.replace(
        TOKEN_FINE_TUNING,
        build=lambda encoder, labels, apart: token_classifier(
            encoder, **labels, crf=True
        ),
    ),
    outputs=(
        Output("crf_scores", objectives.CRF_LIKELIHOOD, (objectives.tag_scores,)),
    ),
    hugging_face=None,
    not_saved="without a conditional random field, which transformers does not have",
    alternatives=False,
)


def token_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    crf: bool = False,
    constrained: bool = False,
    head_form: dict[str, Any] | None = None,
    name: str = "token_classifier",
) -> keras.Model:
    """Builds a model that labels every token.

    Args:
        encoder: An encoder. Its pooler, if any, is not used.
        labels: The names of the labels; a target is an index into them.
        dropout: Dropout rate before the last layer; `None` means the encoder's.
        crf: Whether to add a conditional random field, which scores whole
            sequences of labels.
        constrained: Whether the CRF forbids transitions that the labels' scheme
            does not allow (`O` to `I-PER`); see `layers.CRF`.
        head_form: See `text_classifier`; `{}` for no hidden layer.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, S, len(labels))`. `kbl.compile` trains it with
        `keras.losses.SparseCategoricalCrossentropy(from_logits=True,
        reduction="mean_with_sample_weight")` and weights of 0 at all pieces but
        the first of each word, as `token_dataset` makes them. With `crf` the
        output is `crf_scores` and the loss is `training.losses.CRFLoss()`.

    Raises:
        ValueError: If `constrained` is true and `crf` is not.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.token_classifier(encoder, labels=["O", "B-PER", "I-PER"])
    >>> model.output["logits"].shape
    (None, None, 3)

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 5.3;
    [Lample et al., 2016](https://arxiv.org/abs/1603.01360) for the CRF.
    """
    if constrained and not crf:
        raise ValueError(
            '`constrained` needs `crf=True`; `with_text(..., decoding="constrained")` '
            "constrains the answers of any model. Received: crf=False"
        )
    arguments = token_head_arguments(encoder, dropout, head_form)
    head = layers.ClassificationHead(check_labels(labels), **arguments)
    inputs = id_inputs()
    logits = head(without_pooler(encoder)(inputs)["sequence_output"])
    if not crf:
        outputs = {"logits": logits}
        return task_model(TOKEN_CLASSIFICATION, inputs, outputs, [head], name)
    field = layers.CRF(head.labels, constrained, name="crf")
    outputs = {"crf_scores": field(logits)}
    return task_model(CRF_TOKEN_CLASSIFICATION, inputs, outputs, [head, field], name)
