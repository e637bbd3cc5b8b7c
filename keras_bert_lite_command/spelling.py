"""How options may be spelled, beside jsonargparse's way."""

import difflib
import inspect
import json
from collections import deque
from collections.abc import Callable
from typing import Any

CONFIG = "config"
COLUMNS = "columns"  # whose names are the package's, not the user's
ALWAYS = (CONFIG, "print_config", "help")
ENCODER_CONFIG = "encoder_config"
SHORT_HELP = "-h"
NO = "no_"
YAML = (".yaml", ".yml")
FLAGS = (bool, bool | None)
LISTS = (list[str] | str, list[str] | str | None)


def spelled(function: Callable[..., None], arguments: list[str]) -> list[str]:
    """Spells a verb's arguments as jsonargparse reads them.

    - `--batch-size 8` becomes `--batch_size=8`;
    - `--pack` becomes `--pack=true`, and `--no-run` becomes `--run=false`;
    - words that begin with one hyphen, such as `-5`, stay in their place;
    - several files after an option, or in place of one, become a JSON list;
    - `--config NAME`, if it is no YAML file, becomes `--encoder_config=NAME` where a
      verb has that option.

    Args:
        function: The verb's, whose annotations tell flags and lists from others.
        arguments: Those after the verb.

    Raises:
        ValueError: If there is no such option, or it lacks its value.
    """
    parameters = inspect.signature(function).parameters.values()
    kinds = {x.name: x.annotation for x in parameters}
    several = next(iter(kinds.values())) in LISTS
    rest = deque(arguments)
    options: list[str] = []
    words: list[str] = []
    while rest:
        word = rest.popleft()
        if word == "--":
            words += rest
            break
        if word.startswith("--"):
            options.append(_option(word[2:], rest, kinds))
        else:
            (options if word == SHORT_HELP else words).append(word)
    words = [_joined(words)] if several and words else words
    return [*options, *(["--"] if any(map(_is_option, words)) else []), *words]


def _option(word: str, rest: deque[str], kinds: dict[str, Any]) -> str:
    """Returns an option with its value, which may be the next words."""
    name, *value = word.split("=", 1)
    key, dot, rest_of_name = name.partition(".")
    key = key.replace("-", "_")
    if key == COLUMNS:
        rest_of_name = rest_of_name.replace("-", "_")
    name, key = f"{key}{dot}{rest_of_name}", key.removesuffix("+")
    known = [*kinds, *(f"{NO}{x}" for x, kind in kinds.items() if kind in FLAGS)]
    if key not in (*known, *ALWAYS):
        near = difflib.get_close_matches(key, known, 1)
        meant = f"; did you mean --{near[0]}?" if near else ""
        raise ValueError(f"there is no option --{word.split('=')[0]}{meant}")
    if not value and kinds.get(key.removeprefix(NO)) in FLAGS:
        given = rest.popleft() if rest and rest[0] in ("true", "false") else "true"
        return f"--{key}={given}" if key in kinds else f"--{key.removeprefix(NO)}=false"
    if not value and key in (*kinds, CONFIG):
        if not rest or rest[0].startswith("--"):
            raise ValueError(f"--{word} needs a value")
        value = [rest.popleft()]
        while kinds.get(key) in LISTS and rest and not _is_option(rest[0]):
            value.append(rest.popleft())
    if key == CONFIG and ENCODER_CONFIG in kinds and not _joined(value).endswith(YAML):
        name = ENCODER_CONFIG
    return "--" + "=".join([name, *([_joined(value)] if value else [])])


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _joined(values: list[str]) -> str:
    return values[0] if len(values) == 1 else json.dumps(values)
