"""Every key that transformers writes into config.json is known."""

import pytest

from keras_bert_lite.checkpoints.hugging_face.families import LAYOUTS

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("family", LAYOUTS)
def test_the_default_configuration(family):
    transformers = pytest.importorskip("transformers")
    config = transformers.CONFIG_MAPPING[family]()
    LAYOUTS[family].keys.check(config.to_dict(), family)  # warnings are errors
