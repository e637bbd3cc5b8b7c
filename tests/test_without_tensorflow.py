"""The package where TensorFlow is not installed, and what it loads where it is."""

import sys

import pytest
import tensorflow as tf

from keras_bert_lite import _tensorflow
from keras_bert_lite._tensorflow import LazyModule
from tests.other_backend import run_under

# Python and Keras find neither, though the environment has both.
WITHOUT = (
    "import sys; sys.modules |= dict.fromkeys(['tensorflow', 'tensorflow_text'])\n"
    "from tests import without_tensorflow; without_tensorflow.main()"
)


def test_models_on_ids_predict():
    run_under("openvino", "-c", WITHOUT)


@pytest.mark.parity
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_models_on_ids_work(backend):
    run_under(backend, "-c", WITHOUT)


@pytest.mark.parity
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_tensorflow_is_loaded_by_the_first_text_layer(backend):
    program = (
        "import sys, keras_bert_lite as kbl\n"
        "before = 'tensorflow' in sys.modules\n"
        "preprocessor = kbl.load_preprocessor('bert_mini_books')\n"
        "import tensorflow as tf\n"
        "texts = tf.data.Dataset.from_tensors(['a day']).map(preprocessor)\n"
        "print(before, *next(iter(texts))['token_ids'].shape)"
    )
    assert run_under(backend, "-c", program).split() == ["False", "1", "4"]


@pytest.fixture
def _hidden(monkeypatch):
    for name in ("tensorflow", "tensorflow_text"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("_hidden")
@pytest.mark.parametrize(
    "name", ["tensorflow", "tensorflow_text", "tensorflow.core.framework.types_pb2"]
)
def test_a_missing_module_is_named(name):
    message = rf"^This needs .* Not installed: {name.split('.')[0]}$"
    with pytest.raises(ImportError, match=message):
        LazyModule(name).anything  # noqa: B018


def test_a_lazy_module_has_the_names_of_the_module():
    lazy = LazyModule("tensorflow")
    assert vars(lazy) == {"_name": "tensorflow"}
    assert not hasattr(lazy, "__wrapped__")
    assert lazy.Tensor is tf.Tensor
    assert lazy.__version__ == tf.__version__
    assert vars(lazy)["Tensor"] is tf.Tensor
    with pytest.raises(AttributeError, match="no_such_name"):
        lazy.no_such_name  # noqa: B018


@pytest.mark.parametrize("lazy", [False, True])
def test_a_function_is_not_converted_by_autograph(lazy, monkeypatch):
    if lazy:
        monkeypatch.setattr(_tensorflow, "tf", LazyModule("tensorflow"))

    @_tensorflow.without_autograph
    def sign(x):
        return 1 if x > 0 else -1

    assert sign(2) == 1
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: sign(x))(tf.constant(2))
