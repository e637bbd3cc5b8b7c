"""The layers and models under the backends that are not the default."""

import pytest

from tests.other_backend import run_under
from tests.paths import TESTS

MODELS = (
    "models/test_encoder_model.py",
    "models/test_own_heads.py",
    "tasks/test_classifier.py",
)
PRETRAINING = (
    "tasks/pretraining/test_bert.py",
    "tasks/pretraining/test_electra.py",
    "distillation/test_models.py",
    "distillation/test_words.py",
    "training/test_fast_dropout.py",
    "training/test_fused_attention.py",
    "training/test_word_scores.py",
    # JAX compiles anew what other backends run: one test of each of these has to do.
    "distillation/test_token_vectors.py::test_goes_on_where_it_was",
    "pretraining/test_run.py::test_goes_on_where_it_was",
    "pretraining/test_run.py::test_history",
)
WARM_START = "tasks/test_warm_start.py"
FILES = {
    # JAX compiles for long; `parity/test_families.py` runs every family under it too.
    "jax": (
        "layers/attention",
        "layers/heads/test_crf.py",
        "layers/test_conformance.py",
        "layers/test_long_rows.py",
        *MODELS,
        *PRETRAINING,
        f"{WARM_START}::test_a_classifier_predicts_as_logistic_regression",
    ),
    "torch": ("layers", *MODELS, WARM_START),
}


@pytest.mark.parity
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("backend", FILES)
def test_passes_under_backend(backend):
    paths = [str(TESTS / name) for name in FILES[backend]]
    # On all cores: the other files of the suite are done long before.
    run_under(backend, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *paths)
