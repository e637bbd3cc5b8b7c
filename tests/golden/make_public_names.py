"""Writes public_names.txt: the public names, and what each one takes and returns.

A change of one is then a line in a diff. Run it from the repository root when a change
is meant, and say so in CHANGELOG.md:

    python -m tests.golden.make_public_names
"""

import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

import keras_bert_lite as kbl
from docs._code.names import names
from tests.paths import GOLDEN

PUBLIC_NAMES = GOLDEN / "public_names.txt"


def listing() -> str:
    lines: list[str] = []
    for path, name in names().items():
        x = name.value
        if name.path != path:
            lines.append(f"{path} is {name.path}")
        elif not is_ours(x):  # what Keras defines
            lines.append(path)
        elif inspect.isclass(x):
            lines += [path, *parameters(x), *methods(x)]
        else:
            result = type_name(signature(x).return_annotation)
            lines += [f"{path} -> {result}", *parameters(x)]
    return "\n".join(lines) + "\n"


def signature(x: Any) -> inspect.Signature:
    """Returns a signature with types, also where a module holds them as strings."""
    try:
        return inspect.signature(x, eval_str=True)
    except NameError:  # of a type that only type checkers import
        return inspect.signature(x)


def parameters(x: Any) -> Iterator[str]:
    """Yields a line for each parameter of a function or a constructor."""
    if inspect.isclass(x) and issubclass(x, Warning):
        return  # Python does not tell
    if inspect.isclass(x) and is_of(x.__init__, "keras."):
        return  # differs between versions of Keras
    for parameter in signature(x).parameters.values():
        if typing.get_origin(parameter.annotation) is typing.Unpack:
            (options,) = typing.get_args(parameter.annotation)
            yield from (f"    *, {name}" for name in options.__annotations__)
            continue
        star = "*, " if parameter.kind is parameter.KEYWORD_ONLY else ""
        name, *default = bare(parameter).split("=", 1)
        value = "".join(f" = {x}" for x in default)
        yield f"    {star}{name}: {type_name(parameter.annotation)}{value}"


def methods(cls: type) -> Iterator[str]:
    """Yields a line for `call` and for what no base class of Keras has."""
    theirs = {x for base in cls.__mro__ if not is_ours(base) for x in dir(base)}
    if any("call" in vars(base) for base in cls.__mro__ if is_ours(base)):
        theirs.discard("call")
    own = set(dir(cls)) - theirs
    for name in sorted(own):
        x = getattr(cls, name)
        if name.startswith("_"):
            continue
        if isinstance(x, property):
            yield f"    .{name}"
        elif callable(x):
            taken = map(bare, inspect.signature(x).parameters.values())
            yield f"    .{name}({', '.join(x for x in taken if x != 'self')})"


def bare(parameter: inspect.Parameter) -> str:
    return str(parameter.replace(annotation=inspect.Parameter.empty))


def type_name(annotation: Any) -> str:
    """Returns a type without its modules, which differ between versions."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    text = inspect.formatannotation(annotation).replace("'", "")
    return re.sub(r"(\w+\.)+(?=\w)", "", text)


def is_ours(x: Any) -> bool:
    return is_of(x, kbl.__name__)


def is_of(x: Any, package: str) -> bool:
    return getattr(x, "__module__", "").startswith(package)


if __name__ == "__main__":
    PUBLIC_NAMES.write_text(listing(), encoding="utf-8")
