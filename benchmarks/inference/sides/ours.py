"""This package: SavedModels, loaded by TensorFlow alone; and other engines' files."""

import numpy as np

from benchmarks.inference.models import longest
from benchmarks.inference.sides.base import Side, use_threads
from benchmarks.inference.worker import THREADS
from benchmarks.inference.workloads import Work


def string_model(folder, unpadding="auto"):
    """Returns the string-in model of a checkpoint, with mean pooling."""
    import keras_bert_lite as kbl

    encoder = kbl.load_encoder(folder, pooling="mean")
    encoder.get_layer("blocks").unpadding = unpadding
    preprocessor = kbl.load_preprocessor(folder, sequence_length=longest(folder))
    return kbl.with_text(encoder, preprocessor)


class SavedModel(Side):
    """`serving_default` of what `export_saved_model` writes.

    Args:
        unpadding: As in `layers.Encoder`.
        intra_op_threads: As in `compose_file`; `None`: all.
        **options: Of `export_saved_model`.
    """

    def __init__(
        self, model, folder, unpadding="auto", intra_op_threads=None, **options
    ):
        super().__init__(model, folder)
        self.unpadding, self.options = unpadding, options
        self.intra_op_threads = intra_op_threads
        self._model = None

    def prepare(self):
        import keras_bert_lite as kbl

        texts = {"calibration": self.calibration} if self.options.get("int8") else {}
        kbl.export_saved_model(
            string_model(self.model, self.unpadding),
            self.folder / "model",
            version=1,
            verbose=0,
            **self.options,
            **texts,
        )

    def load(self):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401

        use_threads(THREADS, self.intra_op_threads)
        self._constant = tf.constant
        self._loaded = tf.saved_model.load(str(self.folder / "model" / "1"))
        self._signature = self._loaded.signatures["serving_default"]

    def encode(self, texts):
        return self._signature(text=self._constant(texts))["pooled_output"].numpy()

    def encode_offline(self, way: str, work: Work):
        """Through `predict_texts`, with the model that the SavedModel was made of."""
        try:
            from keras_bert_lite.serving.offline import predict_texts
        except ImportError:
            return super().encode_offline(way, work)
        if self._model is None:
            self._model = string_model(self.model, self.unpadding)
        size = len(work.batches[0])
        answers = predict_texts(self._model, work.texts, size, progress=False)
        return np.stack([answer["pooled_output"] for answer in answers])


class Onnx(Side):
    """The file of `export_onnx`, run by `OnnxModel`.

    Args:
        int8: As in `export_onnx`.
    """

    def __init__(self, model, folder, int8):
        super().__init__(model, folder)
        self.int8 = int8

    def prepare(self):
        from keras_bert_lite.serving import export_onnx

        export_onnx(
            string_model(self.model), self.folder / "model.onnx", int8=self.int8
        )

    def load(self):
        from keras_bert_lite.serving import OnnxModel

        use_threads(THREADS)
        self._model = OnnxModel(self.folder / "model.onnx", num_threads=THREADS)

    def encode(self, texts):
        return self._model.predict(texts, len(texts))["pooled_output"]


class OpenVino(Side):
    """What `export_openvino` writes, run by `OpenVinoModel`.

    Args:
        compute: As in `OpenVinoModel`.
    """

    def __init__(self, model, folder, compute):
        super().__init__(model, folder)
        self.compute = compute

    def prepare(self):
        import keras_bert_lite as kbl

        encoder = kbl.load_encoder(self.model, pooling=None)
        vectors = kbl.sentence_encoder(encoder, normalize=False)
        preprocessor = kbl.load_preprocessor(
            self.model, sequence_length=longest(self.model)
        )
        model = kbl.with_text(vectors, preprocessor)
        kbl.serving.export_openvino(model, self.folder / "model")

    def load(self):
        from keras_bert_lite.serving import OpenVinoModel

        use_threads(THREADS)
        self._model = OpenVinoModel(self.folder / "model", THREADS, self.compute)

    def encode(self, texts):
        return self._model.predict(texts, len(texts))["sentence_embedding"]

    def encode_offline(self, way: str, work: Work):
        size = len(work.batches[0])
        return self._model.predict(work.texts, size)["sentence_embedding"]
