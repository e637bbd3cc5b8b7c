"""A model that others learn from."""

from typing import Any

import keras


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Teacher(keras.layers.Layer):
    """Runs a model as it predicts, without dropout, while another one is trained.

    `model(x, training=False)` in a functional model would not do: Keras hands the
    mode of the outer model on to all that is in it.

    Args:
        model: The model. It is made untrainable.

    Call arguments:
        inputs: As the model's.

    Output shape:
        As the model's.
    """

    def __init__(self, model: keras.Model, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model
        self.trainable = False

    def build(self, _):
        self.built = True  # as its model is

    def call(self, inputs):
        return self.model(inputs, training=False)

    def compute_output_spec(self, inputs):
        return self.model.compute_output_spec(inputs)

    def get_config(self) -> dict[str, Any]:
        model = keras.saving.serialize_keras_object(self.model)
        return {**super().get_config(), "model": model}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Teacher":
        model = keras.saving.deserialize_keras_object(config["model"])
        return cls(**{**config, "model": model})
