"""What a run that goes on must have been started with."""

from typing import Any


def nameless(config: Any) -> Any:
    """Removes names of Keras objects: they depend on how many were created before."""
    if isinstance(config, list | tuple):
        return [nameless(x) for x in config]
    if not isinstance(config, dict):
        return config
    made = {k: nameless(v) for k, v in config.items()}
    if "class_name" in made and isinstance(made.get("config"), dict):
        made["config"].pop("name", None)
    return made
