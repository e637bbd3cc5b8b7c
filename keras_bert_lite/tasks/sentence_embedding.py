"""Sentence embeddings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice, check_not_negative, check_positive
from keras_bert_lite.layers.unit_normalization import unit_vectors
from keras_bert_lite.models.encoder_model import config_of, id_inputs
from keras_bert_lite.tasks import baselines
from keras_bert_lite.tasks.sequence_head import grouped_inputs
from keras_bert_lite.tasks.string_form import (
    Answer,
    Options,
    Tensors,
    about_text,
)
from keras_bert_lite.tasks.task import (
    FineTuning,
    Output,
    Task,
    marked_model,
    options_of,
    task_model,
)
from keras_bert_lite.tasks.text_parts import answers_to, preprocessor_of
from keras_bert_lite.text.inputs import PROMPT, TEXT
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data import text_dataset
from keras_bert_lite.training.data.row_formats import ComparedTexts
from keras_bert_lite.training.in_chunks import InChunks
from keras_bert_lite.training.losses import CoSENTLoss, InBatchNegativesLoss
from keras_bert_lite.training.scores.sentences import (
    FOUND,
    PairScorer,
    SimilarityScorer,
    TripletScorer,
    all_cosines,
    best_places,
)

EMBEDDING = "sentence_embedding"
PRECISIONS = ("float32", "int8")
STEPS = 127  # of int8, from 0 to 1
# The names of the prompts of what is sought and what is found, as `encode_query` and
# `encode_document` of sentence-transformers look for them.
QUERY, DOCUMENT = ("query",), ("document", "passage", "corpus")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EmbeddingAnswer(Answer):
    """Makes vectors smaller: of fewer numbers, or of one byte each.

    Args:
        dimensions: How many of the first numbers are kept, as after training with
            `losses.MatryoshkaLoss`; the vectors are then scaled to length 1. `None`:
            all.
        precision: `"int8"` scales vectors to length 1 and returns whole numbers, 127
            for 1, so that a product of two vectors over 127 squared is about their
            cosine; `"float32"` does not.

    Call arguments:
        vectors: Floats `(B, H)`.

    Output shape:
        A dictionary: `sentence_embedding`, float32 or int8, `(B, H)` or
        `(B, dimensions)`.

    Raises:
        ValueError: If an argument is invalid, or `dimensions` exceeds H.
    """

    def __init__(
        self, dimensions: int | None = None, precision: str = "float32", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if dimensions is not None:
            check_positive("dimensions", dimensions)
        check_choice("precision", precision, PRECISIONS)
        self.dimensions, self.precision = dimensions, precision

    def call(self, vectors: tf.Tensor) -> dict[str, tf.Tensor]:
        vectors = tf.cast(vectors, tf.float32)[:, : self.dimensions]
        if self.dimensions is not None or self.precision == "int8":
            vectors = unit_vectors(vectors)
        if self.precision == "int8":
            vectors = tf.cast(tf.round(STEPS * vectors), tf.int8)
        return {EMBEDDING: vectors}

    def compute_output_spec(self, vectors: Any) -> dict[str, keras.KerasTensor]:
        batch, width = vectors.shape
        if self.dimensions is not None:
            _check_width(self.dimensions, width)
        shape = (batch, self.dimensions or width)
        return {EMBEDDING: keras.KerasTensor(shape, dtype=self.precision)}

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "dimensions": self.dimensions,
            "precision": self.precision,
        }


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    prompts = options.pop(PROMPT, False)
    if prompts:
        _check_prompts(model, preprocessor)
    inputs, values = about_text(model, preprocessor, pairs, prompts=prompts)
    if options:
        values = answer(**options, name="answer")(values[EMBEDDING])
    return inputs, values


def _check_prompts(model: keras.Model, preprocessor: Preprocessor) -> None:
    if not preprocessor.prompts:
        raise ValueError(
            "`preprocessor` must have `prompts` for a model that takes `prompt_name`. "
            "Received: none"
        )
    if skipped := options_of(model).get("prompt_length"):
        raise ValueError(
            "`prompt_name` must be False for a model that leaves a prompt out of its "
            f"pooling. Received: a model with prompt_length={skipped}"
        )


def _data_options(*texts: str, label: str | None = None) -> Callable:
    return lambda pairs, apart: {"text": list(texts), "label": label}


def _answering(model: keras.Model) -> keras.Model:
    """Returns the sentence encoder, which may be inside what trains it."""
    if not options_of(model).get("grouped"):
        return model
    return next(x for x in model.layers if isinstance(x, keras.Model))


def embed(
    model: Any,
    texts: Sequence[str],
    prompts: Sequence[str] = (),
    batch_size: int = 64,
    argument: str = "model",
) -> np.ndarray:
    """Returns the vectors of texts `(N, H)`, which are read in order of their lengths.

    Args:
        model: A sentence encoder that takes strings.
        texts: The texts.
        prompts: Names of prompts; the texts begin with the first that the model has,
            if it takes the name of a prompt.
        batch_size: Texts that are read at once.
        argument: The model's name in error messages.
    """
    inputs = {TEXT: [*texts]}
    if PROMPT in model.input:
        inputs[PROMPT] = [preprocessor_of(model).prompt_for(prompts)] * len(texts)
    lengths = [len(text) for text in texts]
    return answers_to(model, inputs, lengths, batch_size, argument)[EMBEDDING]


def _search(model: Any, queries: list[str], texts: list[str]) -> list[np.ndarray]:
    asked, offered = embed(model, queries, QUERY), embed(model, texts, DOCUMENT)
    return [best_places(scores, FOUND) for scores in all_cosines(asked, offered)]


_PAIRS = FineTuning(
    rows=ComparedTexts(),
    build=lambda encoder, labels, apart: sentence_encoder_trainer(
        sentence_encoder(encoder)
    ),
    continues=lambda model: sentence_encoder_trainer(model),
    answering=_answering,
    scorer=PairScorer(),
    baselines={"BM25": baselines.bm25_pairs},
    untrained_baselines=True,
    data_options=_data_options("text", "text_pair"),
    kept_options=("dimensions", "precision"),
    loss=InBatchNegativesLoss,
    distinct=True,
    search=_search,
    prompts=(QUERY, DOCUMENT),
)
SENTENCE_EMBEDDING = Task(
    name="sentence_embedding",
    head=None,
    outputs=(Output(EMBEDDING, objective=None),),
    answer=EmbeddingAnswer,
    input_options=(PROMPT,),
    string_inputs=(TEXT,),
    string_form=_string_form,
    hugging_face="Model",
    data_set=text_dataset,
    fine_tuning=_PAIRS,
    other_forms={
        "negative": dataclasses.replace(
            _PAIRS,
            scorer=TripletScorer(),
            baselines={"BM25": baselines.bm25_triplets},
            prompts=(QUERY, DOCUMENT, DOCUMENT),
            data_options=_data_options("text", "text_pair", "negative"),
        ),
        "label": dataclasses.replace(
            _PAIRS,
            scorer=SimilarityScorer(),
            baselines={"TF-IDF": baselines.tf_idf_similarity},
            data_options=_data_options("text", "text_pair", label="label"),
            loss=CoSENTLoss,
            distinct=False,
            prompts=(),
        ),
    },
)


def sentence_encoder(
    encoder: keras.Model,
    pooling: str | Sequence[str] = "mean",
    normalize: bool = True,
    prompt_length: int = 0,
    dense: Sequence[keras.layers.Dense] = (),
    dimensions: int | None = None,
    name: str = "sentence_encoder",
) -> keras.Model:
    """Builds a model that turns a text into one vector.

    Args:
        encoder: An encoder.
        pooling: How to pool the tokens; see `layers.Pooler`. The vectors of several
            poolings are joined.
        normalize: Whether to scale the vector to length 1.
        prompt_length: Number of tokens at the beginning of each row to leave out of
            the pooling: `[CLS]` and the prompt (`include_prompt` of
            sentence-transformers); see `Preprocessor.prompt_length`.
        dense: Layers between the pooling and the normalization, one after the other.
        dimensions: How many of a vector's first numbers are kept, as after training
            with `losses.MatryoshkaLoss`; `None`: all.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output
        `sentence_embedding`, `(B, H)`; H is the width of the encoder, times the number
        of poolings, or that of the last dense layer, or `dimensions`.

    Raises:
        ValueError: If an argument is invalid, or `dimensions` exceeds the width.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.sentence_encoder(encoder)
    >>> model.output["sentence_embedding"].shape
    (None, 128)

    Reference: [Reimers and Gurevych, 2019](https://arxiv.org/abs/1908.10084).
    """
    check_not_negative("prompt_length", prompt_length)
    poolings = [pooling] if isinstance(pooling, str) else list(pooling)
    if not poolings:
        raise ValueError(f"`pooling` must be one or more. Received: {pooling!r}")
    if prompt_length and "weighted_mean" in poolings:
        raise ValueError(
            "`prompt_length` must be 0 with the pooling 'weighted_mean', whose weights "
            f"count from the beginning of a row. Received: {prompt_length}"
        )
    for layer in dense:
        if not isinstance(layer, keras.layers.Dense):
            raise TypeError(f"`dense` must be Dense layers. Received: {layer!r}")
    inputs = id_inputs()
    tokens, mask = encoder(inputs)["sequence_output"], inputs["padding_mask"]
    if prompt_length:
        tokens, mask = tokens[:, prompt_length:], mask[:, prompt_length:]
    initializer_range = config_of(encoder).initializer_range
    vectors = [
        layers.Pooler(x, initializer_range, name=f"pooling_{i}" if i else "pooling")(
            tokens, padding_mask=mask
        )
        for i, x in enumerate(poolings)
    ]
    vector = vectors[0]
    if len(vectors) > 1:
        vector = keras.layers.Concatenate(name="join_poolings")(vectors)
    for layer in dense:
        vector = layer(vector)
    options: dict[str, Any] = {
        "pooling": poolings if len(poolings) > 1 else poolings[0]
    }
    if dimensions is not None:
        check_positive("dimensions", dimensions)
        _check_width(dimensions, vector.shape[-1])
        vector = vector[:, :dimensions]
        options["dimensions"] = dimensions
    if normalize:
        vector = layers.UnitNormalization(name="normalize")(vector)
    options["normalize"] = normalize
    if prompt_length:
        options["prompt_length"] = prompt_length
    outputs = {EMBEDDING: vector}
    return task_model(SENTENCE_EMBEDDING, inputs, outputs, dense, name, **options)


def _check_width(dimensions: int, width: int) -> None:
    if dimensions > width:
        raise ValueError(
            f"`dimensions` must be at most {width}, the width of the vectors. "
            f"Received: {dimensions}"
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
