"""ZeroModels on TensorFlow."""

import numpy as np

from benchmarks.inference.models import config, longest
from benchmarks.inference.sides.base import Side, use_threads
from benchmarks.inference.worker import THREADS


class ZeroModels(Side):
    """`BertModel` behind its tokenizer: in a `tf.function`, or `predict_on_batch`."""

    CALLS = ("through_function", "through_predict")

    def load(self):
        use_threads(THREADS)
        import tensorflow as tf
        from zeromodels.models.bert import BertModel, BertTokenizer

        sizes = config(self.model)
        self._model = BertModel(
            vocab_size=sizes["vocab_size"],
            embed_dim=sizes["hidden_size"],
            num_layers=sizes["num_hidden_layers"],
            num_heads=sizes["num_attention_heads"],
            mlp_dim=sizes["intermediate_size"],
            max_position_embeddings=sizes["max_position_embeddings"],
            type_vocab_size=sizes["type_vocab_size"],
            hidden_act=sizes["hidden_act"],
            norm_eps=sizes["layer_norm_eps"],
        )
        _assign(self._model, self.model / "model.safetensors")
        self._tokenizer = BertTokenizer(
            tokenizer_file=str(self.model / "tokenizer.json"),
            max_seq_len=longest(self.model),
        )
        self._function = tf.function(
            lambda inputs: self._model(inputs, training=False), reduce_retracing=True
        )

    def through_function(self, texts):
        return self._pooled(self._function, texts)

    def through_predict(self, texts):
        return self._pooled(self._model.predict_on_batch, texts)

    def _pooled(self, call, texts):
        inputs = self._tokenizer(texts)
        x = np.asarray(call(inputs)["last_hidden_state"])
        real = np.asarray(inputs["attention_mask"], "float32")[:, :, None]
        return (x * real).sum(1) / real.sum(1)


def _assign(model, path):
    from safetensors.numpy import load_file
    from zeromodels.models.bert.convert_bert_hf_to_keras import hf_name_for

    tensors = load_file(path)
    for x in model.weights:
        value = tensors[hf_name_for(x.path)]
        x.assign(value.T if x.path.endswith("/kernel") else value)
