"""Questions and windows over contexts, as transformers' script `run_qa` has them."""

import itertools

from benchmarks.finetuning.sides.torch_features import IDS

N_BEST, MAX_ANSWER_LENGTH = 20, 30


def features(tokenizer, task, rows):
    """Returns a list of features, the windows over its context, for each row."""
    encoded = tokenizer(
        [row["question"].lstrip() for row in rows],
        [row["context"] for row in rows],
        truncation="only_second",
        max_length=task.length,
        stride=task.stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    result = [[] for _ in rows]
    for i, number in enumerate(encoded["overflow_to_sample_mapping"]):
        # Only tokens of the context, the second sequence, have a place in it.
        offsets = [
            offset if sequence == 1 else None
            for offset, sequence in zip(
                encoded["offset_mapping"][i], encoded.sequence_ids(i), strict=True
            )
        ]
        start, end = target(offsets, rows[number]["answers"])
        ids = {name: encoded[name][i] for name in IDS}
        positions = {"start_positions": start, "end_positions": end}
        result[number].append({**ids, **positions, "_offsets": offsets})
    return result


def target(offsets, answer):
    """Returns the first and the last token of the first answer.

    Both are 0, the place of [CLS], unless the window holds all of it.
    """
    if not answer["text"]:
        return 0, 0
    begin = answer["answer_start"][0]
    end = begin + len(answer["text"][0])
    context = [i for i, offset in enumerate(offsets) if offset is not None]
    if not context or offsets[context[0]][0] > begin or offsets[context[-1]][1] < end:
        return 0, 0
    start = max(i for i in context if offsets[i][0] <= begin)
    return start, min(i for i in context if offsets[i][1] >= end)


def answers(rows, features, outputs):
    """Returns the text of the best span of each row, over all of its windows."""
    return [text for text, _ in answers_or_not(rows, features, outputs)]


def answers_or_not(rows, features, outputs):
    """Returns of each row the best span's text, and by how much no answer is better.

    That there is none has the least score of all windows.
    """
    remaining = iter(outputs)
    result = []
    for row, windows in zip(rows, features, strict=True):
        logits = list(itertools.islice(remaining, len(windows)))
        spans = [
            span
            for window, both in zip(windows, logits, strict=True)
            for span in _spans(window["_offsets"], *both)
        ]
        score, begin, end = max(spans, default=(0.0, 0, 0))
        lacking = min(float(starts[0] + ends[0]) for starts, ends in logits)
        result.append((row["context"][begin:end], lacking - score))
    return result


def _spans(offsets, start_logits, end_logits):
    """Yields score, begin and end of the spans between the best begins and ends."""
    firsts, lasts = (
        [i for i in logits.argsort()[: -N_BEST - 1 : -1] if _is_in(offsets, i)]
        for logits in (start_logits, end_logits)
    )
    for first, last in itertools.product(firsts, lasts):
        if first <= last < first + MAX_ANSWER_LENGTH:
            score = float(start_logits[first] + end_logits[last])
            yield score, offsets[first][0], offsets[last][1]


def _is_in(offsets, place):
    # Behind the window there is padding, up to the longest of the batch.
    return place < len(offsets) and offsets[place] is not None
