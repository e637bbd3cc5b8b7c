"""Parses the options of a verb, as argparse does."""

import argparse
import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from keras_bert_lite_command.signatures import REQUIRED, Option

KEYED = re.compile(r"(?:Mapping|dict)\[str, (.+)\]")
LIST = re.compile(r"(?:^|\| )(?:Paths|(?:Sequence|list)\[(?!tuple))")


class WrongArgument(ValueError):
    """What was typed is not what a verb takes."""


class Parser(argparse.ArgumentParser):
    """Parses the options of a verb, whose names may have hyphens or underscores.

    Args:
        program: The command and the verb.
        description: What it does.
        options: Its options: positions, if they must be given, or else `--NAME VALUE`.
        known: Options that are known already, from a file.
    """

    def __init__(
        self,
        program: str,
        description: str,
        options: Sequence[Option],
        known: Mapping[str, Any],
    ) -> None:
        super().__init__(
            program,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
        self._keyed = []
        for option in options:
            required = option.default is REQUIRED and option.name not in known
            if option.default is REQUIRED and not option.keyword:
                nargs = "+" if LIST.search(option.annotation) else None
                if not required:
                    nargs = "*" if nargs else "?"
                text = option.help.replace("%", "%%")
                self.add_argument(option.name, help=text, nargs=nargs)
                continue
            self._add_option(option, required)
            if KEYED.search(option.annotation):
                self._keyed.append(option)
        self._names = [x.name.replace("_", "-") for x in options]

    def _add_option(self, option: Option, required: bool) -> None:
        form = _form(option)
        name = f"--{option.name.replace('_', '-')}"
        default = option.default
        shown = "" if default in (REQUIRED, None) else f" (default: {default})"
        text = f"{option.help}{shown}".replace("%", "%%")
        self.add_argument(name, dest=option.name, help=text, required=required, **form)
        if "_" in option.name:
            hidden = {**form, "dest": option.name, "help": argparse.SUPPRESS}
            self.add_argument(f"--{option.name}", **hidden)

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """Returns the options that are given.

        Raises:
            WrongArgument: If one is unknown, missing or of another type.
        """
        for option in self._keyed:
            self._add_keys(option, words)
        given, unknown = self.parse_known_args(words)
        if unknown:
            name = unknown[0].split("=")[0]
            meant = _meant(name.strip("-"), self._names, "--")
            raise WrongArgument(f"there is no option {name}{meant}")
        return vars(given)

    def _add_keys(self, option: Option, words: Sequence[str]) -> None:
        """Adds `--columns.text` and the like, as far as they were typed."""
        hyphens = option.name.replace("_", "-")
        values = KEYED.findall(option.annotation)[0]
        keys = re.compile(rf"--(?:{option.name}|{hyphens})\.([^=]+)")
        typed = dict.fromkeys(x[0] for word in words if (x := keys.match(word)))
        for name in typed:
            self.add_argument(
                name,
                dest=option.name,
                action=_StringByKey if values.startswith("str") else _Key,
                nargs="+" if "Sequence[" in values else None,
                help=argparse.SUPPRESS,
            )

    def error(self, message: str) -> NoReturn:
        raise WrongArgument(message)


class _Key(argparse.Action):
    """Adds a value to a dictionary, by what stands after the point of the option."""

    strings = False

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option: str | None = None
    ) -> None:
        key = str(option).partition(".")[2]
        before = getattr(namespace, self.dest, {})
        if not isinstance(before, dict):
            parser.error(f"argument {option}: --{self.dest} is given without a key too")
        if isinstance(values, list):
            value = before.get(key, []) + values
        elif self.strings:
            key = key.replace("-", "_")
            value = None if values in ("", "null") else values
        else:
            value = _json(values)
        setattr(namespace, self.dest, {**before, key: value})


class _StringByKey(_Key):
    """Adds strings by names of the package's own, such as those of columns."""

    strings = True


def _form(option: Option) -> dict[str, Any]:
    """Returns how argparse reads an option of an annotation.

    Anything that is no number, flag or list is a string here: the function refuses
    what it does not take, and says what it does.
    """
    names = option.annotation.split(" | ")
    metavar = option.name.upper()
    if "bool" in names:
        return {"action": argparse.BooleanOptionalAction}
    if LIST.search(option.annotation):
        of = int if "[int]" in option.annotation else str
        return {"nargs": "+", "action": "extend", "type": of, "metavar": metavar}
    if KEYED.search(option.annotation):
        plain = "str" in names
        return {"type": str if plain else _dictionary, "metavar": metavar}
    if "tuple[" in option.annotation:
        return {"type": _json, "metavar": metavar}
    kinds: dict[str, Callable[[str], Any]] = {"float": float, "int": int}
    kind = next((kind for name, kind in kinds.items() if name in names), str)
    return {"type": kind, "metavar": metavar}


def _json(word: str) -> Any:
    """Returns the value of JSON, or else the word."""
    try:
        return json.loads(word)
    except ValueError:
        return word


def _dictionary(word: str) -> dict[str, Any]:
    found = _json(word)
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(
            f"takes .NAME VALUE, as --columns.text sentence. Received: {word!r}"
        )
    return found


def read_options(path: Path, options: Sequence[Option]) -> dict[str, Any]:
    """Reads options from a YAML file; `null` is what an option is by default.

    Raises:
        WrongArgument: If it holds no options by name, or unknown ones.
    """
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongArgument(f"{path} must be a file. Received: {error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise WrongArgument(
            f"{path} must be YAML in UTF-8. Received: {error}"
        ) from error
    if not isinstance(found, dict):
        raise WrongArgument(
            f"{path} must hold options by name. Received: {found!r:.80}"
        )
    names = [option.name for option in options]
    for name in map(str, found):
        if name not in names:
            meant = _meant(name, names)
            raise WrongArgument(f"{path}: there is no option {name!r}{meant}")
    return {name: value for name, value in found.items() if value is not None}


def _meant(name: str, known: Sequence[str], prefix: str = "") -> str:
    """Returns the question whether a name of nearly the same letters was meant."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {prefix}{near[0]}?" if near else ""
