from benchmarks.encoders import markdown


def record(source, task, seed, **scores):
    return {"source": source, "task": task, "seed": seed, "scores": scores}


def test_table_has_means_and_deviations():
    records = [
        record("random", "sst2", 0, accuracy=80.0),
        record("random", "sst2", 1, accuracy=82.0),
        record("MiniLM", "sst2", 0, accuracy=90.0),
        record("MiniLM", "mrpc", 0, accuracy=80.0, f1=85.0),
    ]
    assert markdown(records).split("\n") == [
        "|  | sst2 accuracy | mrpc accuracy | mrpc f1 |",
        "| --- | --- | --- | --- |",
        "| random | 81.0 ± 1.4 |  |  |",
        "| MiniLM | 90.0 | 80.0 | 85.0 |",
    ]
