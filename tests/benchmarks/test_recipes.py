"""The tables of `benchmarks.recipes` and `benchmarks.recipe_choices`."""

from benchmarks import recipe_choices
from benchmarks.recipes.tables import page
from keras_bert_lite.finetuning.recipe import RECIPE as NUMBERS
from keras_bert_lite.finetuning.spec import TUNABLE

RECIPE = {"epochs": 3, "batch_size": 8, "learning_rate": 2e-4}


def record(name, way, scores, **own):
    key = {"set": name, "rows": 64, "seed": 0, "way": way, "scores": scores}
    return {**key, "encoder": "MiniLM", "cpu_seconds": 90, **own}


def test_page():
    chosen = {"recipe": RECIPE, "options": {}}
    found = page(
        [
            record("sst2", "finetune", {"accuracy": 0.75}, **chosen),
            record("sst2", "plain", {"accuracy": 0.7}),
        ]
    )
    assert "| sst2 | accuracy | 64 | 75.0 (1) | 70.0 (1) |" in found
    assert "| MiniLM | 64 | plain | 1 | +5.0 | +5.0 | sst2 +5.0 |" in found
    assert "| sst2 | 64 | MiniLM | 3 | 8 | 2.0e-04 |  | 1.5 | 75.0 |" in found


def test_other_constants():
    task = TUNABLE["token_classification"]
    own = (task.rate, task.epochs, NUMBERS.softness)
    with recipe_choices.constants("token_classification", 3.0, 4.0, 10.0):
        assert (task.rate, task.epochs, NUMBERS.softness) == (3.0, 4.0, 10.0)
    assert (task.rate, task.epochs, NUMBERS.softness) == own


def test_scored_rows_are_others():
    rows = [{"text": str(i)} for i in range(2000)]
    for count, scored in ((64, 1500), (1800, 200)):  # of a small set, what is left
        train, test = recipe_choices.split(rows, count, seed=1)
        assert (len(train), len(test)) == (count, scored)
        assert not {x["text"] for x in train} & {x["text"] for x in test}


def test_table_of_choices():
    given = {"set": "pos", "rows": 64, "encoder": "MiniLM", "epochs": 2.0}
    given["pairs"] = "auto"
    found = recipe_choices.markdown(
        [
            {**given, "rate": rate, "softness": 3.0, "scores": {"accuracy": score}}
            for rate, score in ((2.0, 0.82), (1.0, 0.79), (2.0, 0.8))
        ]
    )
    assert found.split("\n")[2:] == [
        "| pos | 64 | MiniLM | 1 | 2 | 3 | auto | 1 | 79.0 |",
        "| pos | 64 | MiniLM | 2 | 2 | 3 | auto | 2 | 81.0 |",
    ]
