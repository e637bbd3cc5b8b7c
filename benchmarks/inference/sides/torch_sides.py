"""transformers and sentence-transformers on torch."""

from benchmarks.inference.models import longest
from benchmarks.inference.sides.base import Side
from benchmarks.inference.worker import THREADS
from benchmarks.inference.workloads import Work


class Transformers(Side):
    """AutoModel; batches are padded to their longest row and not sorted."""

    def load(self):
        import torch
        import transformers

        torch.set_num_threads(THREADS)
        self._torch = torch
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
        model = transformers.AutoModel.from_pretrained(self.model)
        self._model = model.float().eval()  # the shipped encoder's file is in float16

    def encode(self, texts):
        inputs = self._tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=longest(self.model),
            return_tensors="pt",
        )
        with self._torch.inference_mode():
            x = self._model(**inputs).last_hidden_state
            real = inputs["attention_mask"][:, :, None].to(x.dtype)
            return ((x * real).sum(1) / real.sum(1)).numpy()


class SentenceTransformers(Side):
    """`encode`, which sorts the texts it gets by length: offline all at once."""

    def load(self):
        import torch
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import Pooling, Transformer

        torch.set_num_threads(THREADS)
        words = Transformer(str(self.model), max_seq_length=longest(self.model))
        pooling = Pooling(words.get_embedding_dimension(), pooling_mode="mean")
        model = SentenceTransformer(modules=[words, pooling], device="cpu")
        self._model = model.float()

    def encode(self, texts):
        return self._model.encode(texts, batch_size=len(texts), show_progress_bar=False)

    def encode_offline(self, way: str, work: Work):
        size = len(work.batches[0])
        return self._model.encode(work.texts, batch_size=size, show_progress_bar=False)
