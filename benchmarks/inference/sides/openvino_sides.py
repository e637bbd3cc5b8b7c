"""OpenVINO on what torch traces."""

from benchmarks.inference.sides.base import Side
from benchmarks.inference.sides.torch_graphs import ids_of, tokenizer_of, traced_model
from benchmarks.inference.worker import THREADS


class OpenVino(Side):
    """Two graphs, whichever is faster: that of transformers' `sdpa` attention and that
    of its `eager` one. OpenVINO fuses both.

    Tokenized by Hugging Face's tokenizers.

    Args:
        precision: What OpenVINO computes in, by its name; `"i8"`: products in int8,
            quantized after training by nncf, the rest in float32.
    """

    CALLS = ("from_sdpa", "from_eager")

    def __init__(self, model, folder, precision):
        super().__init__(model, folder)
        self.precision = precision

    def prepare(self):
        import openvino

        for name in self.CALLS:
            traced, example = traced_model(self.model, name.removeprefix("from_"))
            graph = openvino.convert_model(traced, example_input=example)
            if self.precision == "i8":
                graph = self._quantized(graph)
            openvino.save_model(graph, self._file(name), compress_to_fp16=False)

    def _quantized(self, graph):
        import nncf

        texts = self.calibration.read_text(encoding="utf-8").splitlines()
        tokenizer = tokenizer_of(self.model)
        data = nncf.Dataset(texts, lambda text: ids_of(tokenizer, [text]))
        options = {"subset_size": len(texts), "model_type": nncf.ModelType.TRANSFORMER}
        return nncf.quantize(graph, data, **options)

    def load(self):
        import openvino

        options = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": THREADS,
            "INFERENCE_PRECISION_HINT": self._floats,
        }
        core = openvino.Core()
        self._requests = {
            name: core.compile_model(
                self._file(name), "CPU", options
            ).create_infer_request()
            for name in self.CALLS
        }
        self._tokenizer = tokenizer_of(self.model)

    @property
    def _floats(self):
        return "f32" if self.precision == "i8" else self.precision

    def _file(self, name):
        return self.folder / f"{name}.xml"

    def from_sdpa(self, texts):
        return self._run("from_sdpa", texts)

    def from_eager(self, texts):
        return self._run("from_eager", texts)

    def _run(self, name, texts):
        return self._requests[name].infer(ids_of(self._tokenizer, texts))[0]
