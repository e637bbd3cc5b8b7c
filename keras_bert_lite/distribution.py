"""Several devices and hosts: one call that finds and uses them."""

from keras_bert_lite.training.distribution.checks import check_batch
from keras_bert_lite.training.distribution.layout import default_layout
from keras_bert_lite.training.distribution.setup import Devices, setup

__all__ = ["Devices", "check_batch", "default_layout", "setup"]
