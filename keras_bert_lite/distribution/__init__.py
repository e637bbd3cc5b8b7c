"""Several devices and hosts: one call that finds and uses them."""

from keras_bert_lite.distribution.checks import check_batch
from keras_bert_lite.distribution.layout import default_layout
from keras_bert_lite.distribution.setup import Devices, setup

__all__ = ["Devices", "check_batch", "default_layout", "setup"]
