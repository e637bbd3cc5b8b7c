"""What groups of rules gain, from records, and that leaving one out is undone."""

import pytest

from benchmarks import ablation
from benchmarks.ablation import ALL, GROUPS, SECOND_FIT, gains, markdown
from benchmarks.recipes.sets import SETS
from keras_bert_lite.finetuning.recipe import RECIPE, Recipe
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.finetuning.trainer import Trainer


def record(group, accuracy, **changes):
    run = {"set": "emotions", "rows": 64, "seed": 1, "group": group}
    run |= {"apart": False, "best": 3}
    run |= {"recipe": {"steps": 9, "batch_size": 16}, "before": {}}
    return run | {"scores": {"accuracy": accuracy}} | changes


def test_gains_are_paired():
    records = [
        record(ALL, 0.75, before={"accuracy": 0.7}),
        record("linear start", 0.5),
        record("softening", 0.8),
        record("softening", 0.1, seed=2),  # of a run that is missing
    ]
    found = {group: gain for group, *_, gain in gains(records)}
    assert found.pop("softening") == pytest.approx(-5)
    assert found.pop("linear start") == pytest.approx(25)
    assert found.pop(SECOND_FIT) == pytest.approx(5)
    assert found == {  # `small batches` was run with, and is missing
        "pairs of texts": 0,
        "linear model kept": 0,
        "read apart": 0,
        "multiples": 0,
    }
    assert "| softening | 64 | 1 | -5.00 | nan | emotions -5.0 |" in markdown(records)


def test_a_group_that_was_not_applied_is_not_run():
    for changes, group in (
        ({"apart": True}, "read apart"),
        ({"contrasted": True}, "pairs of texts"),
        ({"best": 0}, "linear model kept"),
        ({}, "softening"),
        ({"set": "snips"}, "multiples"),
    ):
        assert ablation.applies(group, record(ALL, 0.5, **changes)), group
    whole = record(ALL, 0.5, apart=True)
    assert not ablation.applies("softening", whole)
    assert not ablation.applies("pairs of texts", whole)


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_left_out_comes_back(group):
    task = TUNABLE[SETS["snips"].task]
    before = (task.epochs, task.rate, vars(Trainer)["starts_linear"])
    with ablation.without(group):
        pass
    assert Recipe() == RECIPE
    assert (task.epochs, task.rate, vars(Trainer)["starts_linear"]) == before
