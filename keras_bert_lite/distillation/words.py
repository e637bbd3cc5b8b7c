"""Distillation of word vectors into a student with its own vocabulary."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite import layers
from keras_bert_lite.models.encoder_model import (
    config_of,
    encoder_layers,
    id_inputs,
    with_hidden_states,
)

TEACHER = "teacher_"  # name prefix of the teacher's inputs
SECOND = "teacher_second_"  # the teacher's, for the second text of a pair
PAIR = "pair_"  # the student's, for both texts in one row
WORDS = "word_positions"  # (B, W), positions of the words' first tokens
MASK = "word_mask"  # (B, W), true at words
WORDS_LAYER = "words"
COMPONENTS = "teacher_components"
SIMILARITY_WEIGHT = 10.0  # squared differences of cosines are small


def word_distillation_model(
    student: keras.Model,
    teacher: keras.Model,
    pairs: bool = False,
    layer_pairs: Sequence[tuple[int, int]] = (),
    name: str = "word_distillation",
) -> keras.Model:
    """Builds a model that trains a student to match a teacher's word vectors.

    The loss is `1 - cosine` between the two encoders' vectors, once for words (the
    vector of the first token) and once for whole texts (the mean over tokens).
    Padding is ignored. The two tokenizers may therefore split words differently. A
    wider teacher is projected to the student's width by a fixed matrix, which
    `set_components` computes.

    With `pairs`, the student also encodes two texts in one row. A linear layer
    predicts, from the mean over the row's tokens, the cosine of the teacher's
    vectors of the two texts (`layers.SimilarityDistillation` with a weight of 10).

    Args:
        student: An encoder.
        teacher: An encoder, at least as wide. It is frozen.
        pairs: Whether to train on text pairs too.
        layer_pairs: Pairs of a student's and a teacher's layer, in which words must
            match as well, after a learned projection of each of the student's
            layers. 0 is the output of the embeddings.
        name: Name of the model.

    Returns:
        A functional model. Its inputs are those of an encoder, the same for the
        teacher (`teacher_token_ids` and so on), `word_positions` and
        `teacher_word_positions` `(B, W)` int32, and `word_mask` `(B, W)` bool. With
        `pairs` there are also an encoder's inputs for both texts in one row
        (`pair_token_ids` and so on) and for the second text alone
        (`teacher_second_token_ids` and so on). The output is the student's word
        vectors, `(B, W, H)`. Compile it with only an optimizer. Training it trains
        `student`.

    Raises:
        ValueError: If the teacher is narrower than the student, or the student has
            no segment embeddings and `pairs` is true.

    Reference: hidden states, [Sanh et al., 2019](https://arxiv.org/abs/1910.01108);
    text vectors, and a teacher reduced to its principal components,
    [Reimers and Gurevych, 2020](https://arxiv.org/abs/2004.09813) and their code;
    a different vocabulary, [Zhao et al., 2019](https://arxiv.org/abs/1909.11687);
    layers, [Jiao et al., 2020](https://arxiv.org/abs/1909.10351), equation 8;
    pairs, [Liu et al., 2022](https://arxiv.org/abs/2109.13059), section 2.
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
            "`pairs=True` needs a `student` with at least two segment embeddings. "
            f"Received: num_segments={segments}"
        )
    inputs = _inputs(pairs)
    inner = bool(layer_pairs)
    ours = _Reader(_states(student, "student", inner), inputs)
    theirs = _Reader(layers.Teacher(_states(teacher, "teacher", inner)), inputs)
    outputs = ours.read(""), theirs.read(TEACHER)
    states, seen = (x["sequence_output"] for x in outputs)
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
    words = _match_layers(words, layer_pairs, *outputs, inputs)
    match = layers.HiddenStateDistillation(((0, 0),), name="match_words")
    words = match(words, [words], [target_words], valid=inputs[MASK])
    match = layers.HiddenStateDistillation(((0, 0),), name="match_texts")
    words = match(words, [ours.mean(states, "")], [theirs.mean(targets, TEACHER)])
    if pairs:
        both = ours.mean(ours.read(PAIR)["sequence_output"], PAIR)
        first = theirs.mean(seen, TEACHER)
        second = theirs.mean(theirs.read(SECOND)["sequence_output"], SECOND)
        match = layers.SimilarityDistillation(SIMILARITY_WEIGHT, name="match_pairs")
        words = match(words, both, first, second)
    return keras.Model(inputs, words, name=name)


def set_components(model: keras.Model, batches: Iterable[dict[str, Any]]) -> None:
    """Computes the projection of a wider teacher to the student's width.

    Its columns are the teacher's principal components. They are rotated to align
    with the student's current word vectors, so a student that has already learned
    from this teacher continues where it stopped.

    Args:
        model: A model made by `word_distillation_model`. If both encoders have the
            same width, nothing is done.
        batches: Batches of its inputs, with a few thousand words in total.

    Reference: the code of
    [Reimers and Gurevych, 2020](https://arxiv.org/abs/2004.09813); for the rotation,
    [Schönemann, 1966](https://doi.org/10.1007/BF02289451).
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
        moments += vectors.T @ vectors  # not centred, to preserve angles
        indices = values[TEACHER + WORDS][..., None]
        theirs = np.take_along_axis(states, indices, axis=1)
        theirs, ours = (_unit(x[values[MASK]]) for x in (theirs, ours))
        shared += theirs.T @ ours
    _, components = np.linalg.eigh(moments)  # in ascending order
    components = components[:, ::-1][:, : layer.units]
    left, _, right = np.linalg.svd(components.T @ shared)
    layer.set_weights([components @ left @ right])


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-9)


def share_segments(encoder: keras.Model) -> None:
    """Copies the embedding of the first segment to all others.

    After training from scratch on single texts, the others are still random.
    """
    table = encoder_layers(encoder)[0].segment_embedding
    if table is not None:
        (rows,) = table.get_weights()
        rows[1:] = rows[0]
        table.set_weights([rows])


def _match_layers(
    words: keras.KerasTensor,
    pairs: Sequence[tuple[int, int]],
    ours: dict[str, Any],
    theirs: dict[str, Any],
    inputs: dict[str, keras.KerasTensor],
) -> keras.KerasTensor:
    """Adds the losses of words in inner layers and returns `words`."""
    for pair in pairs:
        vectors = [
            [layers.TakePositions()(x["hidden_states"][i], inputs[prefix + WORDS])]
            for x, i, prefix in zip((ours, theirs), pair, ("", TEACHER), strict=True)
        ]
        name = "match_layers_{}_{}".format(*pair)
        match = layers.HiddenStateDistillation(((0, 0),), name=name)
        words = match(words, *vectors, valid=inputs[MASK])
    return words


def _states(encoder: keras.Model, role: str, inner: bool) -> keras.Model:
    """Returns an encoder that returns its states only, of all layers if `inner`."""
    if inner:
        encoder = with_hidden_states(encoder, attentions=False)
    kept = ("sequence_output", "hidden_states")
    outputs = {key: x for key, x in encoder.output.items() if key in kept}
    return keras.Model(encoder.input, outputs, name=role)


class _Reader:
    """Applies an encoder to the inputs with a given prefix."""

    def __init__(self, encoder: keras.layers.Layer, inputs: dict[str, Any]) -> None:
        self.encoder, self.inputs = encoder, inputs

    def read(self, prefix: str) -> dict[str, Any]:
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
