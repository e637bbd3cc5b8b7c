"""NFC of strings: most are in it already, and need one look."""

from __future__ import annotations

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.normalization.characters import (
    Characters,
    read_characters,
    write_characters,
)
from keras_bert_lite.text.normalization.composition import changing_patterns
from keras_bert_lite.text.normalization.normalizer import Normalizer
from keras_bert_lite.text.normalization.steps import Steps


class NFC:
    """Composes the characters of strings (B,) of valid UTF-8."""

    def __init__(self) -> None:
        self._normalizer = Normalizer(Steps(("nfc",)))
        self._changing = f"(?s).*(?:{'|'.join(changing_patterns({}))}).*"

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        changing = tf.strings.regex_full_match(strings, self._changing)
        return tf.cond(
            tf.reduce_any(changing),
            lambda: self._composed(strings, changing),
            lambda: strings,
        )

    def characters(self, strings: tf.Tensor) -> Characters:
        """Returns the composed characters, with their origins."""
        return self._normalizer(read_characters(strings))

    def _composed(self, strings: tf.Tensor, changing: tf.Tensor) -> tf.Tensor:
        chosen = tf.boolean_mask(strings, changing)
        composed = self.characters(chosen)
        return tf.tensor_scatter_nd_update(
            strings,
            tf.where(changing),
            write_characters(composed, tf.size(chosen, tf.int64)),
        )
