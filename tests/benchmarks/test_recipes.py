"""The tables of `benchmarks.recipes`."""

from benchmarks.recipes.tables import page

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
