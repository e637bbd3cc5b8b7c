"""The harness pairs what ran in the same round, and goes on without who fails."""

import argparse
import json
import statistics

import numpy as np
import pytest

from benchmarks.inference import __main__ as command, report
from benchmarks.inference.harness import (
    SideFailedError,
    order,
    ratios,
    summary,
    take_turns,
)
from benchmarks.inference.models import LONG, matmul_flops
from benchmarks.inference.run import agreement
from benchmarks.inference.workloads import Corpora, Work


class FakeSide:
    """A side that takes `cost` times the work, on a machine that slows down."""

    def __init__(self, name, cost, log, fails_at=None):
        self.name, self.cost, self.log, self.fails_at = name, cost, log, fails_at

    def run(self, work):
        if work == self.fails_at:
            raise SideFailedError("out of memory")
        self.log.append((self.name, work))
        return [self.cost * work]


def race(rounds=4, work=(1.0, 10.0), **arguments):
    log = []
    sides = {"a": FakeSide("a", 2.0, log), "b": FakeSide("b", 3.0, log)}
    return take_turns(sides, work, rounds, pause=0, **arguments), log


def test_every_side_does_the_same_work_in_a_round():
    taken, log = race()
    assert taken == [{"a": [2 * x], "b": [3 * x]} for x in (1.0, 10.0, 1.0, 10.0)]
    assert log[:4] == [("a", 1.0), ("b", 1.0), ("b", 10.0), ("a", 10.0)]


def test_ratios_do_not_see_the_speed_of_the_machine():
    taken, _ = race()
    assert ratios(taken, "b", "a") == [1.5] * 4
    assert statistics.stdev(x["b"][0] for x in taken) > 10


def test_ratios_are_of_what_both_sides_did():
    taken = [{"fast": [1.0, 2.0, 9.0], "slow": [4.0, 8.0]}, {"fast": [1.0]}]
    assert ratios(taken, "slow", "fast") == [4.0]
    assert ratios(taken, "fast", "slow") == [0.25]


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_every_side_is_first_and_last_equally_often(number):
    names = [str(i) for i in range(number)]
    orders = [order(names, turn) for turn in range(2 * number)]
    assert all(sorted(x) == names for x in orders)
    for place in range(number):
        assert sorted(x[place] for x in orders) == sorted(2 * names)


def test_a_failed_side_is_left_out():
    log, failed = [], []
    sides = {
        "a": FakeSide("a", 1.0, log),
        "b": FakeSide("b", 2.0, log, fails_at=3.0),
        "c": FakeSide("c", 4.0, log),
    }
    taken = take_turns(
        sides, [1.0, 3.0], 4, pause=0, failed=lambda name, _: failed.append(name)
    )
    assert failed == ["b"]
    assert [sorted(x) for x in taken] == [["a", "b", "c"], *[["a", "c"]] * 3]
    assert ratios(taken, "b", "a") == [2.0]
    assert ratios(taken, "c", "a") == [4.0] * 4


def test_rounds_end_with_the_time_but_some_are_run():
    def rounds(number, least, tick):
        clock = iter(range(0, 10_000, tick)).__next__
        return len(race(number, least=least, seconds=25, clock=clock)[0])

    assert rounds(100, least=1, tick=10) == 3
    assert rounds(100, least=7, tick=30) == 7
    assert rounds(2, least=7, tick=30) == 2


def test_summary():
    assert summary([5.0, 1.0, 2.0, 4.0, 3.0]) == {
        "median": 3.0,
        "low": 2.0,
        "high": 4.0,
        "n": 5,
    }
    assert summary([2.0])["low"] == 2.0
    with pytest.raises(ValueError, match="at least one"):
        summary([])


def test_agreement():
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert agreement(2 * x, x) == {"cosine": 1.0, "difference": 2.0}
    assert agreement(x[::-1], x)["cosine"] == 0.0
    with pytest.raises(ValueError, match="beside"):
        agreement(x[:1], x)


def test_matmul_flops(tmp_path):
    sizes = {"num_hidden_layers": 12, "hidden_size": 768, "intermediate_size": 3072}
    (tmp_path / "config.json").write_text(json.dumps(sizes), encoding="utf-8")
    products = 4 * 768 * 768 + 2 * 768 * 3072 + 2 * 128 * 768
    assert matmul_flops(tmp_path, 8, 128) == 2 * 8 * 128 * 12 * products


def test_workloads(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "day", "fine", "##s", "a"]
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(pieces), encoding="utf-8")
    sentences = [" ".join(["fine"] * n) + "\t1" for n in range(1, 6)]
    _write(tmp_path / "glue/SST-2/dev.tsv", "\n".join(["sentence\tlabel", *sentences]))
    contexts = [{"context": "day " * n} for n in (3, 510, 511)]
    articles = {"data": [{"paragraphs": contexts}]}
    _write(tmp_path / "squad/dev-v1.1.json", json.dumps(articles))
    corpora = Corpora(tmp_path, vocabulary, 512)
    sst2 = corpora.workload("minilm", "sst2", 2)
    assert (sst2.tokens, sst2.cut_at) == (5.0, 7)
    assert {len(batch) for work in sst2.windows for batch in work.batches} == {2}
    full = corpora.workload("minilm", "full", 1)
    assert (full.tokens, full.cut_at) == (128.0, 128)
    assert corpora.has("minilm", "full 512")
    assert not corpora.has("minilm", "full 2048")
    long = Corpora(tmp_path, vocabulary, 2048)
    assert long.has(LONG, "full 2048")
    assert not long.has(LONG, "sst2")
    squad = corpora.workload("minilm", "offline squad", 1)
    assert squad.cut_at == 512
    assert all(work.offline for work in squad.windows)
    assert Work([["a", "b"], ["c"]]).texts == ["a", "b", "c"]


def _write(path, text):
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


def test_tables():
    ours, peer, limit = "keras_bert_lite", "transformers", "matrix products"
    record = {
        "model": "minilm",
        "corpus": "full",
        "batch": 8,
        "tokens_a_text": 128.0,
        "matmul_flops": 1e9,
        "ways": {ours: "encode", peer: "encode", limit: "encode"},
        "agreement": {ours: {"cosine": 0.9999, "difference": 0.01}},
        "rounds": [
            {ours: [1.0, 1.0], peer: [1.5, 1.5], limit: [0.5, 0.5]},
            {ours: [4.0], peer: [6.0]},
        ],
    }
    assert report.brief(record) == f"{ours} 1.00, {peer} 1.50, {limit} 0.50"
    about = dict.fromkeys(("processor", "cores", "date", "commit"), "x")
    about |= {"python": "3", "changed_files": 0, "packages": {"keras": "3"}}
    results = {"environment": about, "quick": False, "workloads": [record]}
    text = report.markdown({**results, "loads": [], "left_out": []})
    assert "| transformers | 1.50 (1.50 to 1.50) |" in text
    assert "| keras_bert_lite | 0.50 (0.50 to 0.50) |" in text
    assert "0.9999000" in text


def test_a_run_keeps_the_records_that_it_does_not_make(tmp_path):
    path = tmp_path / "inference.json"
    old = [{"model": x, "corpus": "sst2", "batch": 8} for x in ("minilm", "bert_base")]
    path.write_text(json.dumps({"workloads": old, "loads": [], "left_out": []}))
    given = {"models": ["minilm"], "corpora": ["sst2"], "batches": [8]}
    kept = command.kept(path, argparse.Namespace(keep=True, **given))
    assert kept == {"workloads": old[1:], "loads": [], "left_out": []}
    kept = command.kept(path, argparse.Namespace(keep=False, **given))
    assert kept == {"workloads": [], "loads": [], "left_out": []}
