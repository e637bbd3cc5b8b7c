"""What all tests share. Imports are late: the process that runs no tests reads it."""

import functools
import gc
import multiprocessing.process
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

from tests import quick

# As many processes as cores run at once (`make test`): one thread each is faster.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

OTHER_SUITES = ("slow", "parity", "serving", "tpu", "weights")

# The same few examples each time. To look for others:
# python -m pytest tests/text --hypothesis-profile=many
hypothesis.settings.register_profile(
    "few", max_examples=20, derandomize=True, database=None, deadline=None
)
hypothesis.settings.register_profile("many", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("few")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a test of the chosen suite are not even imported."""
    suite = config.option.markexpr
    if collection_path.suffix != ".py":
        return None
    if suite == "quick":
        return not quick.may_be_quick(relative(collection_path)) or None
    if suite in OTHER_SUITES:
        return f"mark.{suite}" not in collection_path.read_text("utf-8") or None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    import keras

    backend = keras.backend.backend()
    for item in items:
        _, _, name = item.nodeid.partition("::")
        is_fast = not any(map(item.get_closest_marker, OTHER_SUITES))
        if is_fast and quick.is_quick(f"{relative(item.path)}::{name}"):
            item.add_marker(pytest.mark.quick)
        mark = item.get_closest_marker("tensorflow")
        if mark and backend != "tensorflow":
            item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seeds each test before its fixtures, so that no run differs by its draws."""
    import keras

    keras.utils.set_random_seed(0)


def relative(path: Path) -> str:
    """A path below `tests/`; others, such as those of notebooks, as they are."""
    folder = Path(__file__).parent
    return (path.relative_to(folder) if folder in path.parents else path).as_posix()


@pytest.fixture(scope="module", autouse=True)
def _frozen_objects() -> None:
    """Keeps garbage collections short: Keras asks for one per quantized layer."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _short_tracing(request: pytest.FixtureRequest) -> None:
    """Saves fast tests a third of their time, which went into making graphs.

    Tokenizers are traced once for large batches, not once a shard (`all_shards` of
    `tests/text` has them), the op of a vocabulary is built once, and graphs are not
    optimized; those of other suites are. Optimizers are built before `fit`, which
    traces its step twice if it builds them.
    """
    markexpr = request.config.option.markexpr
    if markexpr != "quick" and "not serving" not in markexpr:
        return
    import keras

    from keras_bert_lite.text import parallel
    from keras_bert_lite.training.optimizers import build_optimizer

    keras.config.disable_traceback_filtering()  # a wrapper around every call
    parallel.SHARDS = 1
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        from keras_bert_lite.text.wordpiece import tokenizer

        tf.debugging.disable_traceback_filtering()
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
        make = functools.lru_cache(8)(tokenizer._make_splitter)
        tokenizer._make_splitter = lambda pieces, *rest: make(tuple(pieces), *rest)
        fit = keras.Model.fit

        def fit_built(self: keras.Model, *args: object, **kwargs: object) -> object:
            if getattr(self, "optimizer", None) is not None:
                build_optimizer(self)
            return fit(self, *args, **kwargs)

        keras.Model.fit = fit_built


@pytest.fixture(scope="session", autouse=True)
def _no_fit_and_no_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Under `-m quick`, files are loaded here, and what is slow is refused."""
    if request.config.option.markexpr != "quick":
        yield
        return
    import keras

    from tests import conformance, fresh_process

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        pytest.fail("A quick test must neither call `fit` nor start a process.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conformance, "LEFT_OUT", ("xla", "training", "lora", "int8"))
        patch.setattr(fresh_process, "call_saved", fresh_process.load_and_call)
        patch.setattr(keras.Model, "fit", refuse)
        patch.setattr(subprocess.Popen, "__init__", refuse)
        patch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
        yield
