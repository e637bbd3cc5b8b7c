"""The string-in form of a model."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import encoder_layers
from keras_bert_lite.text.answers import LabelAnswer
from keras_bert_lite.text.packing import Preprocessor, as_batch, named_texts


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TextModel(keras.Model):
    """A functional model whose inputs are strings.

    Made by `with_text`. It differs from a plain `keras.Model` in one thing:
    `predict` and calls take Python strings, which plain Keras refuses.
    """

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(self._strings(inputs), *args, **kwargs)

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Returns the outputs for strings, as numpy arrays by name.

        Args:
            x: A list of strings; for a model of pairs a dictionary of two
                lists, `text` and `text_pair`, or a tuple of them; or a
                `tf.data.Dataset` of batches of these.
            *args, **kwargs: As in `keras.Model.predict`.

        Returns:
            A dictionary of arrays. Sequence outputs of batches that differ in
            length are padded with zeros.
        """
        if isinstance(x, tf.data.Dataset):
            return tf.nest.map_structure(_as_array, super().predict(x, *args, **kwargs))
        x = self._strings(x)
        if next(iter(x.values())).shape[0] == 0:
            return tf.nest.map_structure(_as_array, self(x))
        return tf.nest.map_structure(_as_array, super().predict(x, *args, **kwargs))

    def _strings(self, inputs: Any) -> dict[str, Any]:
        """Returns batches of strings by name, exactly those that the model takes."""
        named = named_texts(inputs)
        if set(named) != set(self.input):
            raise ValueError(
                f"The model takes {sorted(self.input)}. Received: {sorted(named)}"
            )
        if any(isinstance(x, keras.KerasTensor) for x in named.values()):
            return named
        return {name: as_batch(x, name) for name, x in named.items()}


def with_text(
    model: keras.Model, preprocessor: Preprocessor, pairs: bool = False
) -> TextModel:
    """Puts a preprocessor before a model and readable answers behind it.

    Args:
        model: An encoder, or a model made by a task's builder.
        preprocessor: What turns strings into the model's inputs.
        pairs: Whether the model takes pairs of texts.

    Returns:
        A model with the input `text` and, for pairs, `text_pair`: strings of
        shape `(B,)`. A classifier returns `label` (string) and `scores`; an
        encoder what it returns on ids. `predict` and calls take Python strings.

    Raises:
        NotImplementedError: Under another backend than TensorFlow.
        ValueError: If the preprocessor can make rows or ids that the model has
            no embeddings for.
    """
    if not isinstance(preprocessor, Preprocessor):
        raise TypeError(
            f"`preprocessor` must be a `Preprocessor`. Received: {preprocessor!r}"
        )
    preprocessor.require_tensorflow()
    _check_fit(model, preprocessor)
    names = ("text", "text_pair") if pairs else ("text",)
    inputs = {name: keras.Input((), dtype="string", name=name) for name in names}
    outputs = model(preprocessor(inputs))
    if not isinstance(outputs, dict):
        raise ValueError(
            "`model` must return a dictionary of outputs, whose names the SavedModel "
            f"takes over. Received: {outputs!r}"
        )
    return TextModel(inputs, answers(model, outputs), name=f"{model.name}_with_text")


def answers(model: keras.Model, outputs: dict[str, Any]) -> dict[str, Any]:
    """Turns a model's values on ids into what a client reads."""
    for layer in model.layers:
        if isinstance(layer, layers.ClassificationHead) and "logits" in outputs:
            return LabelAnswer(layer.labels, name="answer")(outputs["logits"])
    return outputs


def _check_fit(model: keras.Model, preprocessor: Preprocessor) -> None:
    embeddings = _embeddings(model)
    longest, rows = preprocessor.sequence_length, embeddings.max_sequence_length
    if longest is None or longest > rows:
        raise ValueError(
            "`preprocessor` must have a `sequence_length` of at most the model's "
            f"max_sequence_length={rows}. Received: sequence_length={longest}"
        )
    size = preprocessor.tokenizer.vocabulary_size()
    if size > embeddings.vocabulary_size:
        raise ValueError(
            f"The tokenizer has {size} pieces, but the model embeds only "
            f"{embeddings.vocabulary_size}: they do not belong together."
        )


def _embeddings(model: keras.Model) -> layers.Embeddings:
    for candidate in (model, *getattr(model, "layers", ())):
        if isinstance(candidate, keras.Model) and any(
            isinstance(layer, layers.Embeddings) for layer in candidate.layers
        ):
            return encoder_layers(candidate)[0]
    raise ValueError(
        f"`model` must be an encoder or a model built on one. Received: {model!r}"
    )


def _as_array(value: Any) -> np.ndarray:
    if isinstance(value, tf.RaggedTensor):
        value = value.to_tensor()
    if value.dtype.name == "bfloat16":
        value = tf.cast(value, tf.float32)
    array = np.asarray(value)
    return (
        np.char.decode(array.astype(bytes), "utf-8") if array.dtype == object else array
    )
