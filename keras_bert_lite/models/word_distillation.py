"""A student that learns a teacher's vectors of words, with a vocabulary of its own."""

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite import layers
from keras_bert_lite.models.encoder_model import config_of, encoder_layers, id_inputs

TEACHER = "teacher_"  # begins the names of the teacher's inputs
SECOND = "teacher_second_"  # those of the second text of a pair
PAIR = "pair_"  # the student's, of both texts in one row
WORDS = "word_positions"  # (B, W), where the words' first tokens stand
MASK = "word_mask"  # (B, W), true at words
WORDS_LAYER = "words"
COMPONENTS = "teacher_components"
SIMILARITY_WEIGHT = 10.0  # a squared difference of cosines is small


def word_distillation_model(
    student: keras.Model,
    teacher: keras.Model,
    pairs: bool = False,
    name: str = "word_distillation",
) -> keras.Model:
    """Builds the model that trains an encoder to see words as another one does.

    Its loss is `1 - cosine` between what the two give for a word, at its first
    token, and between what they give for the text, the mean over its tokens;
    each is a mean over what is real. So the two may split words differently. A
    teacher that is wider is reduced to the student's width by a matrix that
    `set_components` finds and that is not trained.

    With `pairs` the student also reads two texts in one row, and its mean over the
    row's tokens is to tell, through a linear layer, the cosine of the teacher's
    vectors of the two (`layers.SimilarityDistillation`, its weight 10).

    Args:
        student: An encoder.
        teacher: An encoder, at least as wide. It is made untrainable.
        pairs: Whether there are pairs of texts.
        name: Name of the model.

    Returns:
        A functional model whose inputs are those of an encoder, the same for the
        teacher (`teacher_token_ids` and so on), `word_positions` and
        `teacher_word_positions` `(B, W)` int32, and `word_mask` `(B, W)` bool; with
        `pairs`, an encoder's for both texts in a row (`pair_token_ids` and so on)
        and for the second text alone (`teacher_second_token_ids` and so on). Its
        output is the student's vectors of words, `(B, W, H)`. Compile it with an
        optimizer alone. Training it trains `student`.

    Raises:
        ValueError: If the teacher is narrower, or, with `pairs`, the student has no
            embeddings of segments.

    Reference: hidden states, [Sanh et al., 2019](https://arxiv.org/abs/1910.01108);
    texts, and a teacher reduced by its principal components,
    [Reimers and Gurevych, 2020](https://arxiv.org/abs/2004.09813) and their code;
    another vocabulary, [Zhao et al., 2019](https://arxiv.org/abs/1909.11687); pairs,
    [Liu et al., 2022](https://arxiv.org/abs/2109.13059), section 2.
    """
    width, wide = (config_of(x).hidden_dim for x in (student, teacher))
    if wide < width:
        raise ValueError(
            "`teacher` must be at least as wide as `student`. Received: hidden_dim="
            f"{wide} and {width}"
        )
    segments = config_of(student).num_segments
    if pairs and segments < 2:
        raise ValueError(
            "`pairs=True` needs a `student` that tells two texts apart by their "
            f"segments. Received: num_segments={segments}"
        )
    inputs = _inputs(pairs)
    ours = _Reader(_states(student, "student"), inputs)
    theirs = _Reader(layers.Teacher(_states(teacher, "teacher")), inputs)
    states, seen = ours.states(""), theirs.states(TEACHER)
    targets = seen
    if wide > width:
        targets = keras.layers.Dense(
            width,
            use_bias=False,
            trainable=False,
            kernel_initializer="identity",
            name=COMPONENTS,
        )(seen)
    words, target_words = (
        layers.TakePositions(name=prefix + WORDS_LAYER)(x, inputs[prefix + WORDS])
        for prefix, x in (("", states), (TEACHER, targets))
    )
    match = layers.HiddenStateDistillation(((0, 0),), name="match_words")
    words = match(words, [words], [target_words], valid=inputs[MASK])
    match = layers.HiddenStateDistillation(((0, 0),), name="match_texts")
    words = match(words, [ours.mean(states, "")], [theirs.mean(targets, TEACHER)])
    if pairs:
        both = ours.mean(ours.states(PAIR), PAIR)
        first = theirs.mean(seen, TEACHER)
        second = theirs.mean(theirs.states(SECOND), SECOND)
        match = layers.SimilarityDistillation(SIMILARITY_WEIGHT, name="match_pairs")
        words = match(words, both, first, second)
    return keras.Model(inputs, words, name=name)


def set_components(model: keras.Model, batches: Iterable[dict[str, Any]]) -> None:
    """Finds the matrix that loses least of a teacher that is wider.

    Its columns are the teacher's principal components, turned so that the words come
    to lie where the student's lie already: one that has learned from this teacher
    before goes on from there.

    Args:
        model: Made by `word_distillation_model`; if both are as wide, nothing is
            done.
        batches: Inputs, with a few thousand words in all.

    Reference: [Reimers and Gurevych, 2020](https://arxiv.org/abs/2004.09813), their
    code; [Schönemann, 1966](https://doi.org/10.1007/BF02289451), the rotation.
    """
    if COMPONENTS not in [layer.name for layer in model.layers]:
        return
    layer = model.get_layer(COMPONENTS)
    outputs = [layer.input, model.get_layer(WORDS_LAYER).output]
    read = keras.Model(model.input, outputs)
    moments: Any = 0.0
    shared: Any = 0.0
    for inputs in batches:
        values = {key: ops.convert_to_numpy(x) for key, x in inputs.items()}
        states, ours = (
            ops.convert_to_numpy(x).astype("float32")
            for x in read.predict_on_batch(values)
        )
        vectors = states[values[f"{TEACHER}padding_mask"]]
        moments += vectors.T @ vectors  # not about the mean: angles stay as they are
        places = values[TEACHER + WORDS][..., None]
        theirs = np.take_along_axis(states, places, axis=1)
        theirs, ours = (_unit(x[values[MASK]]) for x in (theirs, ours))
        shared += theirs.T @ ours
    _, components = np.linalg.eigh(moments)  # rising
    components = components[:, ::-1][:, : layer.units]
    left, _, right = np.linalg.svd(components.T @ shared)
    layer.set_weights([components @ left @ right])


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-9)


def share_segments(encoder: keras.Model) -> None:
    """Gives all segments the embedding of the first.

    Where single texts trained it from random weights, the others are noise still.
    """
    table = encoder_layers(encoder)[0].segment_embedding
    if table is not None:
        (rows,) = table.get_weights()
        rows[1:] = rows[0]
        table.set_weights([rows])


def _states(encoder: keras.Model, role: str) -> keras.Model:
    return keras.Model(encoder.input, encoder.output["sequence_output"], name=role)


class _Reader:
    """An encoder on the inputs of one prefix or another."""

    def __init__(self, encoder: keras.layers.Layer, inputs: dict[str, Any]) -> None:
        self.encoder, self.inputs = encoder, inputs

    def states(self, prefix: str) -> keras.KerasTensor:
        return self.encoder({key: self.inputs[prefix + key] for key in id_inputs()})

    def mean(self, states: keras.KerasTensor, prefix: str) -> keras.KerasTensor:
        mask = self.inputs[f"{prefix}padding_mask"]
        return layers.Pooler("mean")(states, padding_mask=mask)


def _inputs(pairs: bool) -> dict[str, keras.KerasTensor]:
    inputs = {}
    for prefix in ("", TEACHER, PAIR, SECOND)[: 4 if pairs else 2]:
        for key, x in id_inputs().items():
            name = prefix + key
            inputs[name] = keras.Input(x.shape[1:], dtype=x.dtype, name=name)
    for key in (WORDS, TEACHER + WORDS):
        inputs[key] = keras.Input((None,), dtype="int32", name=key)
    inputs[MASK] = keras.Input((None,), dtype="bool", name=MASK)
    return inputs
