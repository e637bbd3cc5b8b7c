"""A student that learns a teacher's vectors of words, with a vocabulary of its own."""

from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import config_of, encoder_layers, id_inputs

TEACHER = "teacher_"  # begins the names of the teacher's inputs
WORDS = "word_positions"  # (B, W), where the words' first tokens stand
MASK = "word_mask"  # (B, W), true at words
COMPONENTS = "teacher_components"


def word_distillation_model(
    student: keras.Model, teacher: keras.Model, name: str = "word_distillation"
) -> keras.Model:
    """Builds the model that trains an encoder to see words as another one does.

    Its loss is `1 - cosine` between what the two give for a word, at its first
    token, and between what they give for the text, the mean over its tokens;
    each is a mean over what is real. So the two may split words differently. A
    teacher that is wider is reduced to the student's width by a matrix that
    `set_components` finds and that is not trained.

    Args:
        student: An encoder.
        teacher: An encoder, at least as wide. It is made untrainable.
        name: Name of the model.

    Returns:
        A functional model whose inputs are those of an encoder, the same for the
        teacher (`teacher_token_ids` and so on), `word_positions` and
        `teacher_word_positions` `(B, W)` int32, and `word_mask` `(B, W)` bool. Its
        output is the student's vectors of words, `(B, W, H)`. Compile it with an
        optimizer alone. Training it trains `student`.

    Raises:
        ValueError: If the teacher is narrower.

    Reference: hidden states, [Sanh et al., 2019](https://arxiv.org/abs/1910.01108);
    texts, and a teacher reduced by its principal components,
    [Reimers and Gurevych, 2020](https://arxiv.org/abs/2004.09813) and their code;
    another vocabulary, [Zhao et al., 2019](https://arxiv.org/abs/1909.11687).
    """
    width, wide = (config_of(x).hidden_dim for x in (student, teacher))
    if wide < width:
        raise ValueError(
            "`teacher` must be at least as wide as `student`. Received: hidden_dim="
            f"{wide} and {width}"
        )
    teacher.trainable = False
    inputs = {**id_inputs(), **_renamed(id_inputs(), TEACHER)}
    for key in (WORDS, TEACHER + WORDS):
        inputs[key] = keras.Input((None,), dtype="int32", name=key)
    inputs[MASK] = keras.Input((None,), dtype="bool", name=MASK)
    read = [_states(student, "student"), _states(teacher, "teacher")]
    ours = read[0]({k: inputs[k] for k in id_inputs()})
    theirs = read[1]({k: inputs[TEACHER + k] for k in id_inputs()}, training=False)
    if wide > width:
        theirs = keras.layers.Dense(
            width,
            use_bias=False,
            trainable=False,
            kernel_initializer="identity",
            name=COMPONENTS,
        )(theirs)
    words, targets = (
        layers.TakePositions(name=f"{prefix}words")(states, inputs[prefix + WORDS])
        for prefix, states in (("", ours), (TEACHER, theirs))
    )
    texts, wanted = (
        layers.Pooler("mean", name=f"{prefix}text")(
            states, padding_mask=inputs[f"{prefix}padding_mask"]
        )
        for prefix, states in (("", ours), (TEACHER, theirs))
    )
    match = layers.MatchHiddenStates(((0, 0),), name="match_words")
    words = match(words, [words], [targets], valid=inputs[MASK])
    match = layers.MatchHiddenStates(((0, 0),), name="match_texts")
    words = match(words, [texts], [wanted])
    return keras.Model(inputs, words, name=name)


def set_components(model: keras.Model, batches: Iterable[dict[str, Any]]) -> None:
    """Finds the matrix that loses least of a teacher that is wider.

    Args:
        model: Made by `word_distillation_model`; if both are as wide, nothing is
            done.
        batches: Inputs, with a few thousand words in all.
    """
    if COMPONENTS not in [layer.name for layer in model.layers]:
        return
    layer = model.get_layer(COMPONENTS)
    read = keras.Model(model.input, layer.input)
    moments: Any = 0.0
    for inputs in batches:
        real = ops.convert_to_numpy(inputs[f"{TEACHER}padding_mask"])
        states = ops.convert_to_numpy(read.predict_on_batch(inputs))
        vectors = states[real].astype("float32")
        moments += vectors.T @ vectors  # not about the mean: angles stay as they are
    _, components = ops.eigh(moments)  # rising
    layer.set_weights([ops.convert_to_numpy(components)[:, ::-1][:, : layer.units]])


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


def _renamed(inputs: dict[str, keras.KerasTensor], prefix: str) -> dict[str, Any]:
    return {
        prefix + key: keras.Input(x.shape[1:], dtype=x.dtype, name=prefix + key)
        for key, x in inputs.items()
    }
