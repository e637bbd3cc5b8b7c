"""How options may be spelled, beside jsonargparse's way."""

import difflib
import inspect
import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
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
        given = f"--{word.split('=')[0]}"
        raise ValueError(f"there is no option {given}{_meant(key, known, '--')}")
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


def check_file(path: str, function: Callable[..., None]) -> None:
    """Refuses a YAML file that holds no options, or one that a verb has not.

    Raises:
        ValueError: If so.
    """
    import yaml

    if not Path(path).is_file():
        return  # jsonargparse says so, and where YAML is wrong
    try:
        options = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8. Received: {error}") from None
    except yaml.YAMLError:
        return
    if not isinstance(options, dict):
        raise ValueError(f"{path} must hold options by name. Received: {options!r:.80}")
    known = inspect.signature(function).parameters
    for name in map(str, options):
        if name.split(".")[0] not in known:
            meant = _meant(name, list(known))
            raise ValueError(f"{path}: there is no option {name!r}{meant}")


def _meant(name: str, known: list[str], prefix: str = "") -> str:
    """Returns the question whether a name of nearly the same letters was meant."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {prefix}{near[0]}?" if near else ""


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _joined(values: list[str]) -> str:
    return values[0] if len(values) == 1 else json.dumps(values)
