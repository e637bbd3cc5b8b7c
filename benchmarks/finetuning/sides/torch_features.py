"""Texts, pairs and tagged words as transformers' scripts `run_glue` and `run_ner` do.

A feature is a dictionary of what the tokenizer returns for a row, of `labels`, and
of what only `answers` needs, under a name that begins with an underscore.
"""

IGNORED = -100  # the label that transformers' losses leave out
IDS = ("input_ids", "token_type_ids", "attention_mask")


def features(tokenizer, task, rows):
    """Returns a list of one feature for each row."""
    if task.kind == "tags":
        return _of_words(tokenizer, task, rows)
    texts = [[row[x] for row in rows] for x in ("text", "text_pair") if x in rows[0]]
    encoded = tokenizer(*texts, truncation=True, max_length=task.length)
    return [
        [{**{k: encoded[k][i] for k in IDS}, "labels": row["target"]}]
        for i, row in enumerate(rows)
    ]


def _of_words(tokenizer, task, rows):
    encoded = tokenizer(
        [row["words"] for row in rows],
        is_split_into_words=True,
        truncation=True,
        max_length=task.length,
    )
    places = {label: i for i, label in enumerate(task.labels)}
    result = []
    for i, row in enumerate(rows):
        words = encoded.word_ids(i)
        before = [None, *words[:-1]]
        firsts = [a is not None and a != b for a, b in zip(words, before, strict=True)]
        labels = [
            places[row["tags"][word]] if first else IGNORED
            for word, first in zip(words, firsts, strict=True)
        ]
        first_words = [w if f else None for w, f in zip(words, firsts, strict=True)]
        ids = {name: encoded[name][i] for name in IDS}
        result.append([{**ids, "labels": labels, "_words": first_words}])
    return result


def collate(tokenizer, batch, with_labels=True):
    """Pads features to the longest of the batch; returns tensors."""
    import torch

    ids = [{name: feature[name] for name in IDS} for feature in batch]
    tensors = dict(tokenizer.pad(ids, return_tensors="pt"))
    if not with_labels:
        return tensors
    width = tensors["input_ids"].shape[1]
    for name in ("labels", "start_positions", "end_positions"):
        if name in batch[0]:
            tensors[name] = torch.tensor([_padded(x[name], width) for x in batch])
    return tensors


def _padded(label, width):
    if isinstance(label, list):
        return label + [IGNORED] * (width - len(label))
    return label


def answers(task, rows, features, outputs):
    """Returns labels, numbers or tags; what was cut off is outside of entities."""
    logits = [each[0] for each in outputs]
    if task.kind == "class":
        return [int(x.argmax()) for x in logits]
    if task.kind == "number":
        return [float(x[0]) for x in logits]
    result = []
    for row, (feature,), x in zip(rows, features, logits, strict=True):
        tags = ["O"] * len(row["words"])
        for word, best in zip(feature["_words"], x.argmax(-1), strict=False):
            if word is not None:
                tags[word] = task.labels[best]
        result.append(tags)
    return result
