"""KerasHub, strings in, on TensorFlow."""

from benchmarks.inference.sides.base import Side, use_threads
from benchmarks.inference.worker import THREADS


class KerasHub(Side):
    """A functional model: strings, KerasHub's preprocessor, its backbone, the mean.

    Called through `tf.function` and through `predict`, whichever is faster.

    Args:
        sequence_length: What every row is padded to; 512 is KerasHub's default.
    """

    CALLS = ("through_function", "through_predict")

    def __init__(self, model, folder, sequence_length):
        super().__init__(model, folder)
        self.sequence_length = sequence_length

    def prepare(self):
        """Writes the SavedModel that `load_time` measures."""
        self._build().export(str(self.folder / "model" / "1"), verbose=False)

    def load(self):
        import tensorflow as tf

        use_threads(THREADS)
        model = self._build()
        self._constant, self._predict = tf.constant, model.predict
        self._function = tf.function(
            lambda texts: model(texts, training=False),
            input_signature=[tf.TensorSpec([None], tf.string)],
        )

    def _build(self):
        import keras
        import keras_hub
        from keras import ops

        tokenizer = keras_hub.models.BertTokenizer(
            str(self.model / "vocab.txt"), lowercase=True
        )
        preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
            tokenizer, sequence_length=self.sequence_length
        )
        backbone = keras_hub.models.BertBackbone.from_preset(str(self.model))
        texts = keras.Input((), dtype="string")
        inputs = preprocessor(texts)
        x = backbone(inputs)["sequence_output"]
        real = ops.cast(inputs["padding_mask"], "float32")[:, :, None]
        return keras.Model(texts, ops.sum(x * real, 1) / ops.sum(real, 1))

    def through_function(self, texts):
        return self._function(self._constant(texts)).numpy()

    def through_predict(self, texts):
        batch = self._constant(texts)
        return self._predict(batch, batch_size=len(texts), verbose=0)
