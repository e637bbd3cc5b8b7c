"""What all tests share."""

import gc

import keras
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
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
