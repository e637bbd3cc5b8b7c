"""The options of files that are read, which several verbs have; see `verbs.py`."""

import functools
import inspect
from collections.abc import Callable
from typing import Literal

TAB = r"\t"  # as a shell passes it on


def options(
    *,
    format: Literal["tsv", "csv", "jsonl", "squad", "conll", "conllu"] | None = None,
    delimiter: str = "",
    quoting: bool | None = None,
    comments: str = "",
    extra_values: Literal["error", "ignore"] = "error",
    scheme: Literal["bio", "bioes"] | None = None,
    word_column: int = 0,
    tag_column: int | None = -1,
    tags: Literal["upos", "xpos", "deprel"] = "upos",
    misplaced: Literal["error", "find", "skip"] = "error",
    repeated_ids: Literal["error", "keep"] = "error",
) -> None:
    r"""Read files.

    Args:
        format: of the files; by default what their names end in
        delimiter: of tables and CoNLL, such as ";" or "\t"
        quoting: of tables, whether quotation marks enclose values; by default yes for
            commas, and for tabs if they all do
        comments: of tables and CoNLL, what the lines begin with that are skipped
        extra_values: of tables, ignore leaves out values beyond the last column
        scheme: of CoNLL, that its tags are converted to
        word_column: of CoNLL, from 0
        tag_column: of CoNLL, from 0; -1 for the last
        tags: of CoNLL-U, the column of the tags
        misplaced: of SQuAD, find or skip answers that are not at their place
        repeated_ids: of SQuAD, keep questions with the id of an earlier one
    """


def reads_files(verb: Callable[..., None]) -> Callable[..., None]:
    """Gives a verb the options of files in place of its `**reading`.

    It receives those that differ from their defaults. Where `None` is one of the
    function, it is an empty string here: of `str | None`, YAML takes `#` for `None`.
    """
    defaults = inspect.signature(options).parameters
    signature = inspect.signature(verb)
    own = [x for x in signature.parameters.values() if x.kind != x.VAR_KEYWORD]

    @functools.wraps(verb)
    def with_options(**arguments: object) -> None:
        for name, parameter in defaults.items():
            if arguments.get(name, parameter.default) == parameter.default:
                arguments.pop(name, None)
        if arguments.get("delimiter") == TAB:
            arguments["delimiter"] = "\t"
        verb(**arguments)

    added = [x.replace(kind=own[-1].kind) for x in defaults.values()]
    parameters = [*own, *added]
    vars(with_options)["__signature__"] = signature.replace(parameters=parameters)
    described = (inspect.getdoc(options) or "").split("Args:\n")[1]
    with_options.__doc__ = f"{inspect.getdoc(verb)}\n{described}"
    return with_options
