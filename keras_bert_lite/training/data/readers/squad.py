"""Reading questions and answers in SQuAD's JSON."""

import json
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_bert_lite._json import parse_json
from keras_bert_lite.checks import check_choice
from keras_bert_lite.training.data.readers.lines import (
    Paths,
    as_paths,
    read_text,
)
from keras_bert_lite.training.data.records import Record, Records

OUTCOMES = {
    "find": "moved to the nearest occurrence of their text",
    "skip": "left out, as were questions without other answers",
}


def read_squad(
    path: Paths, misplaced: str = "error", repeated_ids: str = "error"
) -> Records:
    """Reads the questions of SQuAD 1.1 or 2.0 in the format of Hugging Face datasets.

    A file is a single JSON value, so it is held in memory during a pass.

    Args:
        path: A file or several, in UTF-8; `.gz` and `.xz` are decompressed.
        misplaced: How to handle an answer whose text is not at its `answer_start`.
            `"error"` refuses it. `"find"` moves it to the nearest occurrence of its
            text in the context (an error if there is none). `"skip"` leaves it out,
            and also the question if it has no other answer. The last two warn with
            the number of such answers.
        repeated_ids: `"error"` refuses a question with the id of an earlier one.
            `"keep"` takes both: `finetune` and `evaluate` read no ids.

    Returns:
        `Records` of `id`, `title`, `question`, `context`, `answers` (a dictionary
        of the lists `text` and `answer_start`, which counts code points) and
        `is_impossible`, true if SQuAD 2.0 marks the question as unanswerable. Each
        pass reads the file again.

    Raises:
        ValueError: During a pass, naming the file and the line or question: if it
            is not SQuAD's JSON, an id occurs twice, an unanswerable question has an
            answer, or an answer is misplaced.
        FileNotFoundError: If a file does not exist.

    Reference: [Rajpurkar et al., 2018](https://arxiv.org/abs/1806.03822).
    """
    check_choice("misplaced", misplaced, ("error", "find", "skip"))
    check_choice("repeated_ids", repeated_ids, ("error", "keep"))
    paths = as_paths(path)

    def read() -> Iterator[Record]:
        for each in paths:
            yield from _records(each, misplaced, repeated_ids == "keep")

    return Records(read)


def _records(path: Path, misplaced: str, repeats: bool) -> Iterator[Record]:
    seen: set[str] = set()
    count: Counter[str] = Counter()
    for article, paragraph, question in _questions(path):
        name = _field(question, "id", str, f"{path}")
        where = f"{path}: question {name!r}"
        if name in seen and not repeats:
            raise ValueError(
                f"{where}: the id must be of one question, or pass "
                'repeated_ids="keep". Received: it again'
            )
        seen.add(name)
        context = _field(paragraph, "context", str, where)
        stated = _field(question, "answers", list, where, [])
        impossible = _field(question, "is_impossible", bool, where, False)
        if impossible and stated:
            raise ValueError(
                f"{where}: `answers` must be empty where `is_impossible` is true. "
                f"Received: {stated!r:.200}"
            )
        placed = [_placed(each, context, misplaced, where) for each in stated]
        answers = [answer for answer, _ in placed if answer is not None]
        count["all"] += len(placed)
        count["misplaced"] += sum(moved for _, moved in placed)
        if stated and not answers:
            continue
        yield {
            "id": name,
            "title": _field(article, "title", str, where, ""),
            "question": _field(question, "question", str, where),
            "context": context,
            "answers": {
                "text": [text for text, _ in answers],
                "answer_start": [start for _, start in answers],
            },
            "is_impossible": impossible,
        }
    if count["misplaced"]:
        warnings.warn(
            f"{path}: {count['misplaced']} of {count['all']} answers were not at "
            f"their `answer_start` and were {OUTCOMES[misplaced]}.",
            stacklevel=2,
        )


def _questions(path: Path) -> Iterator[tuple[Any, Any, Any]]:
    """Yields every question as (article, paragraph, question)."""
    text = read_text(path)
    try:
        whole = parse_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}:{error.lineno}: must be JSON. Received: {error}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path}: must be SQuAD's JSON. Received: {error}") from None
    for article in _field(whole, "data", list, f"{path}"):
        for paragraph in _field(article, "paragraphs", list, f"{path}"):
            for question in _field(paragraph, "qas", list, f"{path}"):
                yield article, paragraph, question


def _field(node: Any, name: str, kind: type, where: str, default: Any = None) -> Any:
    value = node.get(name, default) if isinstance(node, dict) else None
    if type(value) is not kind:  # `isinstance` would take a boolean for an `int`
        article = "an" if kind is int else "a"
        raise ValueError(
            f"{where}: `{name}` must be {article} {kind.__name__}. "
            f"Received: {value!r:.200}, in {node!r:.200}"
        )
    return value


def _placed(
    answer: Any, context: str, misplaced: str, where: str
) -> tuple[tuple[str, int] | None, bool]:
    """Returns an answer's text and start, and whether it was misplaced."""
    text = _field(answer, "text", str, where)
    start = _field(answer, "answer_start", int, where)
    if text and start >= 0 and context.startswith(text, start):
        return (text, start), False
    if misplaced == "skip":
        return None, True
    positions = _places(text, context)
    if misplaced == "error" or not positions:
        raise ValueError(
            f"{where}: an answer's text must be at its `answer_start`, in code "
            f'points, or pass misplaced="find" or "skip". Received: {text!r} '
            f"at {start}; it is at {positions[:8]}"
        )
    return (text, min(positions, key=lambda position: abs(position - start))), True


def _places(text: str, context: str) -> list[int]:
    positions = []
    position = context.find(text) if text else -1
    while position >= 0:
        positions.append(position)
        position = context.find(text, position + 1)
    return positions
