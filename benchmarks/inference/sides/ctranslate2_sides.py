"""CTranslate2, which leaves padding out by itself."""

import numpy as np

from benchmarks.inference.sides.base import Side
from benchmarks.inference.sides.torch_graphs import tokenizer_of
from benchmarks.inference.worker import THREADS


class CTranslate2(Side):
    """`Encoder.forward_batch` of what its converter makes of the checkpoint.

    Tokenized by Hugging Face's tokenizers.

    Args:
        compute: What it computes in, by its name.
    """

    def __init__(self, model, folder, compute):
        super().__init__(model, folder)
        self.compute = compute

    def prepare(self):
        from ctranslate2.converters import TransformersConverter

        converter = TransformersConverter(str(self.model))
        # Files in int8 as they are loaded: the conversion to float32 is not timed.
        converter.convert(str(self.folder / "model"), quantization=self.compute)

    def load(self):
        import ctranslate2

        self._model = ctranslate2.Encoder(
            str(self.folder / "model"),
            device="cpu",
            compute_type=self.compute,
            inter_threads=1,
            intra_threads=THREADS,
        )
        self._tokenizer = tokenizer_of(self.model)
        self._tokenizer.no_padding()

    def encode(self, texts):
        ids = [row.ids for row in self._tokenizer.encode_batch(texts)]
        x = np.asarray(self._model.forward_batch(ids).last_hidden_state)
        lengths = np.array([len(row) for row in ids])
        real = np.arange(x.shape[1]) < lengths[:, None]
        return (x * real[:, :, None]).sum(1) / lengths[:, None]
