"""Public functions as the command sees them: read from their source, not imported.

Importing one imports TensorFlow, which takes seconds, and `--help` or a wrong argument
does not need it. What is read are the names, annotations, defaults and docstring.
"""

import ast
import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REQUIRED = object()  # the default of what must be given
ELSEWHERE = re.compile(r"(?:See|As in) `(?:\w+\.)?(\w+)`")


@dataclasses.dataclass(frozen=True)
class Option:
    """A parameter of a function.

    Args:
        name: Its name.
        annotation: Its type, as the source writes it.
        default: Its default; `REQUIRED` if it has none.
        keyword: Whether it is given by keyword only.
        help: What the docstring says.
    """

    name: str
    annotation: str
    default: Any
    keyword: bool
    help: str


def options_of(function: str, others: Sequence[str] = ()) -> list[Option]:
    """Returns the parameters of a function, those of its `**options` included.

    Args:
        function: Its module and name, such as `"keras_bert_lite.demo.run"`.
        others: Other functions, to which its docstring may refer.
    """
    node, described = _function(function), described_arguments(docstring_of(function))
    arguments = node.args
    given = [*arguments.args, *arguments.kwonlyargs]
    plain = len(arguments.args) - len(arguments.defaults)
    defaults = [None] * plain + arguments.defaults + arguments.kw_defaults
    module = function.rpartition(".")[0]
    options = [
        Option(
            argument.arg,
            ast.unparse(argument.annotation) if argument.annotation else "str",
            REQUIRED if value is None else _value(module, value),
            argument in arguments.kwonlyargs,
            _help(argument.arg, described.get(argument.arg, ""), others),
        )
        for argument, value in zip(given, defaults, strict=True)
    ]
    if arguments.kwarg and isinstance(arguments.kwarg.annotation, ast.Subscript):
        typed = ast.unparse(arguments.kwarg.annotation.slice)
        options += _options_in(*_definition(module, typed))
    return options


def _help(name: str, text: str, others: Sequence[str]) -> str:
    """Returns what is said about an argument, if need be by another function."""
    other = ELSEWHERE.match(text)
    for function in others:
        if other and function.rpartition(".")[2] == other[1]:
            described = described_arguments(docstring_of(function)).get(name)
            rest = text[other.end() :]
            return f"{described.rstrip('.')}{rest}" if described else text
    return text


def docstring_of(function: str) -> str:
    """Returns a function's docstring."""
    return ast.get_docstring(_function(function)) or ""


def described_arguments(docstring: str) -> dict[str, str]:
    """Returns what a docstring says about each argument."""
    section = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", docstring, re.DOTALL | re.MULTILINE)
    entries = re.split(r"^    (?=[\w*])", section[1] if section else "", flags=re.M)
    described = {}
    for entry in entries[1:]:
        names, _, text = entry.partition(":")
        for name in names.split(","):
            described[name.strip(" *")] = " ".join(text.split())
    return described


def _function(path: str) -> ast.FunctionDef:
    module, _, name = path.rpartition(".")
    node = _definition(module, name)[1]
    assert isinstance(node, ast.FunctionDef)
    return node


def _definition(module: str, name: str) -> tuple[str, ast.AST]:
    """Returns where a name of a module is defined, which may be another module."""
    for node in _parse(module).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return module, node.value
        if isinstance(node, ast.ImportFrom) and name in {x.name for x in node.names}:
            return _definition(str(node.module), name)
    raise LookupError(f"{module} defines no {name}")


@functools.cache
def _parse(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _value(module: str, node: ast.AST) -> Any:
    """Returns the value of a default: a literal, or the name of a constant."""
    if isinstance(node, ast.Name):
        return _value(*_definition(module, node.id))
    assert isinstance(node, ast.expr)
    return eval(compile(ast.Expression(node), "<default>", "eval"), {})


def _options_in(module: str, node: ast.AST) -> Iterator[Option]:
    """Yields the options that a typed dictionary names."""
    assert isinstance(node, ast.ClassDef)
    described = described_arguments(ast.get_docstring(node) or "")
    for field in node.body:
        if isinstance(field, ast.AnnAssign):
            name, kind = ast.unparse(field.target), ast.unparse(field.annotation)
            yield Option(name, kind, None, True, described.get(name, ""))
