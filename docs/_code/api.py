"""The API pages: one a public name, one a public module, one of the command."""

import ast
import dataclasses
import inspect
import textwrap
from pathlib import Path
from typing import Any

from docs._code import ROOT
from docs._code.docstrings import markdown
from docs._code.names import ALIAS, Name, members, modules, names
from keras_bert_lite_command.signatures import REQUIRED, Option
from keras_bert_lite_command.verbs import VERBS

WIDTH = 72
OURS = "keras_bert_lite"


def write(folder: Path) -> None:
    """Writes the pages, and no others remain."""
    folder.mkdir(exist_ok=True)
    written = {f"{path}.md": text for path, text in pages().items()}
    for old in folder.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        replace(folder / name, text)


def replace(path: Path, text: str) -> None:
    """Writes a file whose text is another: Sphinx reads again what is newer."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Returns the text of every page by its name."""
    public = names()
    found = {"index": _index(public), "command": _command()}
    for path, module in modules().items():
        if path != ALIAS:
            found[path] = _module(path, module, public)
    for name in public.values():
        found[name.path] = _page(name)
    return found


def _index(public: dict[str, Name]) -> str:
    rows = [Name(path, module) for path, module in modules().items() if path != ALIAS]
    own = [public[f"{ALIAS}.{x}"] for x in members(modules()[ALIAS])]
    inner = [x.path for x in rows if x.path.count(".") == 1]
    return "\n\n".join(
        [
            "# API",
            "`import keras_bert_lite as kbl`. Each name has a page, made from its "
            "docstring, whose example is run by the tests. [The command](command.md) "
            "has the same functions on files.",
            f"## Modules\n\n{_table(rows)}",
            f"## Names of the package\n\n{_table(own)}",
            _toctree([*inner, "command"]),
        ]
    )


def _module(path: str, module: Any, public: dict[str, Name]) -> str:
    inner = {x: m for x, m in modules().items() if x.rpartition(".")[0] == path}
    own = [public[f"{path}.{x}"] for x in members(module)]
    rows = [*(Name(*x) for x in inner.items()), *own]
    parts = [f"# `{path}`", markdown(module.__doc__ or ""), _table(rows)]
    return "\n\n".join([*parts, _toctree(list(inner))] if inner else parts)


def _table(rows: list[Name]) -> str:
    lines = [f"| [`{x.path}`]({x.path}.md) | {_cell(x.summary)} |" for x in rows]
    return "\n".join(["| name | what it does |", "|---|---|", *lines])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _toctree(pages: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


def _page(name: Name) -> str:
    """Returns a page outside the sidebar, where 200 entries take minutes to build."""
    kind = "class" if inspect.isclass(name.value) else "function"
    target = name.path.replace(ALIAS, OURS, 1)
    source = Path(inspect.getsourcefile(inspect.unwrap(name.value)) or "")
    owner = name.path.rpartition(".")[0]
    up = "[API](index.md)" if owner == ALIAS else f"[`{owner}`]({owner}.md)"
    parts = [
        "---\norphan: true\n---",
        f"# `{name.path}`",
        f"```{{py:{kind}}} {target}\n:no-typesetting:\n```",
        _code(name.path, name.value),
        markdown(name.value.__doc__ or ""),
    ]
    if kind == "class":
        parts += _methods(name.value)
    if source.is_relative_to(ROOT):
        parts.append(f"Defined in `{source.relative_to(ROOT)}`, listed in {up}.")
    return "\n\n".join(parts)


def _methods(owner: type) -> list[str]:
    """Returns the documented methods and properties of a class of this package."""
    found: dict[str, Any] = {}
    for base in owner.__mro__:
        if base.__module__.startswith(OURS):
            for name, value in vars(base).items():
                if name[0] != "_" and _is_method(value):
                    found.setdefault(name, value)
    parts = []
    for name, value in sorted(found.items()):
        parts.append(f"### `{name}`")
        if not isinstance(value, property):
            parts.append(_code(f"{owner.__name__}.{name}", value))
        parts.append(markdown(value.__doc__, level=4))
    return ["## Methods and properties", *parts] if parts else []


def _is_method(value: Any) -> bool:
    kinds = (staticmethod, classmethod, property)
    return (inspect.isfunction(value) or isinstance(value, kinds)) and value.__doc__


def _code(path: str, value: Any) -> str:
    return f"```py\n{signature(path, value)}\n```"


def signature(path: str, value: Any) -> str:
    """Returns the call as its definition has it, a line an argument if it is long."""
    arguments, returns = _arguments(value)
    line = f"{path}({', '.join(arguments)}){returns}"
    if len(line) <= WIDTH:
        return line
    return f"{path}(\n" + "".join(f"    {x},\n" for x in arguments) + f"){returns}"


def _arguments(value: Any) -> tuple[list[str], str]:
    if inspect.isclass(value):
        for base in value.__mro__:
            if "__init__" in vars(base) and not dataclasses.is_dataclass(base):
                return _arguments(base.__init__)[0], ""  # type: ignore[misc]
            if "__dataclass_fields__" in vars(base):
                return _fields(base), ""
        return [], ""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    node = _definition(inspect.unwrap(value))
    if not isinstance(node, ast.FunctionDef):
        return [], ""
    listed = _unparsed(node.args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return [x for x in listed if x.split(":")[0] not in ("self", "cls")], returns


def _fields(owner: type) -> list[str]:
    node = _definition(owner)
    lines = [x for x in getattr(node, "body", []) if isinstance(x, ast.AnnAssign)]
    return [ast.unparse(x) for x in lines]


def _definition(value: Any) -> ast.stmt | None:
    try:
        source = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        return None
    return ast.parse(source).body[0]


def _unparsed(given: ast.arguments) -> list[str]:
    """Returns each argument with its annotation and default."""
    positional = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    listed = [
        _one(x, default)
        for x, default in zip(positional, [*missing, *given.defaults], strict=True)
    ]
    if given.vararg:
        listed.append(f"*{_one(given.vararg, None)}")
    elif given.kwonlyargs:
        listed.append("*")
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    listed += [_one(x, default) for x, default in pairs]
    if given.kwarg:
        listed.append(f"**{_one(given.kwarg, None)}")
    return listed


def _one(argument: ast.arg, default: ast.expr | None) -> str:
    text = ast.unparse(argument)
    if default is None:
        return text
    equals = " = " if argument.annotation else "="
    return f"{text}{equals}{ast.unparse(default)}"


def _command() -> str:
    """Returns the page of the command line, a section a verb."""
    parts = [
        "# The command `keras-bert-lite`",
        "Each verb is a public function with the same options, from files to files; "
        "`keras-bert-lite VERB --help` shows them. Options may stand in a YAML file: "
        "`--config run.yaml`.",
    ]
    for name, verb in VERBS.items():
        options = verb.options()
        parts += [f"## `{name}`", f"```sh\n{usage(name, options)}\n```"]
        example = f"`keras-bert-lite {name} {verb.example}`"
        parts.append(f"{verb.summary} Example: {example}.")
        parts.append("\n".join(_described(option) for option in options))
    return "\n\n".join(parts)


def _described(option: Option) -> str:
    """Returns a line about an option."""
    return f"- `{_name(option)}`: {option.help}"


def _name(option: Option) -> str:
    position = option.default is REQUIRED and not option.keyword
    return option.name.upper() if position else f"--{option.name.replace('_', '-')}"


def usage(verb: str, options: list[Option]) -> str:
    """Returns what is typed: what must be given, then the options, a line each."""
    needed, others = [f"keras-bert-lite {verb}"], []
    for option in options:
        name, value = _name(option), option.name.upper()
        if option.default is not REQUIRED:
            shown = value if option.default is None else option.default
            others.append(f"    [{name} {shown}]")
        else:
            needed.append(f"{name} {value}" if option.keyword else name)
    return " \\\n".join([" ".join(needed), *others])
