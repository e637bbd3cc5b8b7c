"""Layers in the configuration of other layers."""

from typing import Any

import keras


def config_of_part(layer: keras.layers.Layer | None) -> dict[str, Any] | None:
    """Returns the configuration of a layer for that of the layer it is a part of.

    It lacks the shapes that the layer was built for: the other layer builds it.
    """
    if layer is None:
        return None
    config = keras.saving.serialize_keras_object(layer)
    config.pop("build_config", None)
    return config


def layer_from_config(config: Any, kind: type, what: str) -> Any:
    """Returns a layer that another layer's configuration contains.

    Args:
        config: What `keras.saving.serialize_keras_object` returned, perhaps read from
            a file of unknown origin: no object of another class is built from it.
        kind: The class that the layer must have, or inherit from.
        what: What it is called in errors.

    Raises:
        ValueError: If it is not the description of such a layer.
    """
    known = config if isinstance(config, dict) else {}
    known_class = _known_class(known.get("registered_name") or known.get("class_name"))
    layer = None
    if isinstance(known_class, type) and issubclass(known_class, kind):
        try:
            layer = keras.saving.deserialize_keras_object(config)
        except TypeError as error:
            # Keras puts the whole configuration before the cause.
            reason = str(error).rsplit("Exception encountered: ", 1)[-1]
            raise ValueError(f"{what} cannot be made: {reason}") from error
    if not isinstance(layer, kind):
        raise ValueError(
            f"{what} must be the configuration of a known `{kind.__name__}`. "
            f"Received: {config!r:.100}"
        )
    return layer


def _known_class(name: Any) -> Any:
    """Returns a registered class, or one of Keras's, by its name."""
    if not isinstance(name, str):
        return None
    if name in ("Functional", "Sequential"):
        return keras.Model
    return keras.saving.get_registered_object(name) or getattr(keras.layers, name, None)
