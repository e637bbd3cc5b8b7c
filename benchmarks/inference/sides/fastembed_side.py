"""fastembed, on this model's weights."""

import shutil

import numpy as np

from benchmarks.inference.models import config, longest
from benchmarks.inference.sides.base import Side
from benchmarks.inference.sides.torch_graphs import INPUTS
from benchmarks.inference.worker import THREADS

NAME = "benchmarks/model"
FILES = (
    "config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)


class FastEmbed(Side):
    """`TextEmbedding.embed`, of a file of token vectors that torch exports."""

    def prepare(self):
        import torch
        import transformers

        class States(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.bert = transformers.AutoModel.from_pretrained(
                    model, attn_implementation="eager"
                )

            def forward(self, *values):
                inputs = dict(zip(INPUTS, values, strict=True))
                return self.bert(**inputs).last_hidden_state

        example = tuple(torch.ones((2, 8), dtype=torch.int64) for _ in INPUTS)
        axes = {0: "batch", 1: "length"}
        torch.onnx.export(
            States(self.model).eval(),
            example,
            self.folder / "model.onnx",
            input_names=list(INPUTS),
            output_names=["last_hidden_state"],
            dynamic_axes=dict.fromkeys((*INPUTS, "last_hidden_state"), axes),
            opset_version=17,
            dynamo=False,
        )
        for name in FILES:
            shutil.copyfile(self.model / name, self.folder / name)

    def load(self):
        import fastembed
        from fastembed.common.model_description import ModelSource, PoolingType

        fastembed.TextEmbedding.add_custom_model(
            NAME,
            pooling=PoolingType.MEAN,
            normalization=False,
            sources=ModelSource(hf=NAME),
            dim=config(self.model)["hidden_size"],
            model_file="model.onnx",
        )
        self._model = fastembed.TextEmbedding(
            NAME, threads=THREADS, specific_model_path=str(self.folder)
        )
        # Its default is what the checkpoint's tokenizer says, 128 or 256 tokens.
        self._model.model.tokenizer.enable_truncation(longest(self.model))

    def encode(self, texts):
        return np.stack(list(self._model.embed(texts, batch_size=len(texts))))
