"""What is said about a precision that does not suit the devices."""

import keras
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.policies import dtype_policy
from tests.training.samples import classifier

WARNING = r"float16 is several times slower.*mixed_bfloat16"
pytestmark = pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras does not list its devices"
)


def test_compile_warns_of_float16_on_cpus(recwarn):
    with dtype_policy("mixed_float16"):
        slow = classifier()
    with pytest.warns(UserWarning, match=WARNING):
        kbl.compile(slow)
    with dtype_policy("mixed_bfloat16"):
        kbl.compile(classifier())
    assert not [x for x in recwarn if "float16 is" in str(x.message)]


@pytest.mark.tensorflow(reason="`finetune` needs TensorFlow")
def test_finetune_warns_of_float16_before_it_looks_at_the_data():
    with (
        dtype_policy("mixed_float16"),
        pytest.warns(UserWarning, match=WARNING),
        pytest.raises(ValueError, match="`task`"),
    ):
        kbl.finetune("no such task", tiny.TEXTS)
