"""What all tests share. Imports are late: the process that runs no tests reads it."""

import gc

import hypothesis
import pytest

# The same few examples each time. To look for others:
# python -m pytest tests/text --hypothesis-profile=many
hypothesis.settings.register_profile(
    "few", max_examples=20, derandomize=True, database=None, deadline=None
)
hypothesis.settings.register_profile("many", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("few")


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
def _short_tracing(request: pytest.FixtureRequest) -> None:
    """Saves fast tests a third of their time, which went into making graphs.

    Tokenizers are traced once for large batches, not once a shard (`tests/text` has
    all shards), and graphs are not optimized; those of the other suites are.
    """
    if "not serving" not in request.config.getoption("markexpr"):
        return
    import keras

    from keras_bert_lite.text import parallel

    keras.config.disable_traceback_filtering()  # a wrapper around every call
    parallel.SHARDS = 1
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.debugging.disable_traceback_filtering()
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
