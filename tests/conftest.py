"""What all tests share. Imports are late: the process that runs no tests reads it."""

import gc

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    import keras

    if keras.backend.backend() == "tensorflow":
        return
    for item in items:
        if mark := item.get_closest_marker("tensorflow"):
            item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


@pytest.fixture(scope="module", autouse=True)
def _frozen_objects() -> None:
    """Keeps garbage collections short: Keras asks for one per quantized layer."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _one_shard(request: pytest.FixtureRequest) -> None:
    """Has fast tests trace a tokenizer twice, not five times; see `tests/text`."""
    from keras_bert_lite.text import parallel

    if "not serving" in request.config.getoption("markexpr"):
        parallel.SHARDS = 1
