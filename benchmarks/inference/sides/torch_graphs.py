"""What sides have in common that run a graph which torch traced."""

import numpy as np
from tokenizers import Tokenizer

from benchmarks.inference.models import longest

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def traced_model(model, attention):
    """Returns a torch module from ids to vectors, and ids to trace it with.

    Args:
        model: Folder of the model.
        attention: The form of attention, by transformers' name.
    """
    import torch
    import transformers

    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.AutoModel.from_pretrained(
                model, attn_implementation=attention, dtype=torch.float32
            )

        def forward(self, *values):
            inputs = dict(zip(INPUTS, values, strict=True))
            x = self.bert(**inputs).last_hidden_state
            real = inputs["attention_mask"][:, :, None].to(x.dtype)
            return (x * real).sum(1) / real.sum(1)

    example = tuple(torch.ones((2, 8), dtype=torch.int64) for _ in INPUTS)
    return Pooled().eval(), example


def tokenizer_of(model):
    """Returns Hugging Face's tokenizer, which pads to the longest row."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_truncation(longest(model))
    tokenizer.enable_padding()
    return tokenizer


def ids_of(tokenizer, texts):
    """Returns arrays `(B, S)`, in the order of `INPUTS`."""
    rows = tokenizer.encode_batch(texts)
    names = ("ids", "attention_mask", "type_ids")
    return [np.array([getattr(row, x) for row in rows], "int64") for x in names]
