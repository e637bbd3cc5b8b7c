"""transformers on torch, in the plain loop of its example scripts."""

import itertools
import math

import torch
import transformers

from benchmarks.finetuning.sides import torch_features, torch_questions
from benchmarks.finetuning.sides.base import Side
from benchmarks.inference.models import minilm

AUTO = {
    "class": transformers.AutoModelForSequenceClassification,
    "number": transformers.AutoModelForSequenceClassification,
    "tags": transformers.AutoModelForTokenClassification,
    "answer": transformers.AutoModelForQuestionAnswering,
}
EVALUATION_BATCH = 32


class Transformers(Side):
    """Every kind of task; rows are tokenized once, in the first epoch."""

    @property
    def checkpoint(self):
        return minilm()

    def prepare(self):
        torch.manual_seed(self.seed)
        self.load_tokenizer()
        self.model = self._model()
        self.features = None
        steps = math.ceil(sum(map(len, self.tokenized(self.rows))) / self.task.batch)
        self._compile(steps * self.task.epochs)
        return steps

    def load_tokenizer(self):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.checkpoint)

    def _model(self):
        rate = self.recipe.dropout
        model = AUTO[self.task.kind].from_pretrained(
            self.checkpoint,
            num_labels=self.task.outputs,
            hidden_dropout_prob=rate,
            attention_probs_dropout_prob=rate,
        )
        head = model.qa_outputs if self.task.kind == "answer" else model.classifier
        kernel, bias = self.head(model.config.hidden_size)
        head.weight.data = torch.tensor(kernel.T.copy())
        head.bias.data = torch.tensor(bias)
        return model

    def _compile(self, steps):
        plain, decayed = [], []
        for name, weight in self.model.named_parameters():
            is_plain = name.endswith("bias") or "LayerNorm" in name
            (plain if is_plain else decayed).append(weight)
        decay = self.recipe.weight_decay
        groups = [
            {"params": decayed, "weight_decay": decay},
            {"params": plain, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(
            groups, lr=self.task.rate, eps=self.recipe.epsilon
        )
        rise = int(self.recipe.warmup * steps)
        self.schedule = transformers.get_linear_schedule_with_warmup(
            self.optimizer, rise, steps
        )

    def tokenized(self, rows):
        """Returns the features of each row; only of contexts there are several."""
        if self.task.kind == "answer":
            return torch_questions.features(self.tokenizer, self.task, rows)
        return torch_features.features(self.tokenizer, self.task, rows)

    def train(self, epoch, step_done):
        self.features = self.features or self.tokenized(self.rows)
        self.model.train()
        ordered = [feature for i in epoch for feature in self.features[i]]
        for start in range(0, len(ordered), self.task.batch):
            batch = ordered[start : start + self.task.batch]
            self.model(**torch_features.collate(self.tokenizer, batch)).loss.backward()
            torch.nn.utils.clip_grad_norm_(
                self.model.parameters(), self.recipe.clip_norm
            )
            self.optimizer.step()
            self.schedule.step()
            self.optimizer.zero_grad()
            step_done()

    def predict(self, rows):
        features, outputs = self._read(rows)
        if self.task.kind == "answer":
            return torch_questions.answers(rows, features, outputs)
        return torch_features.answers(self.task, rows, features, outputs)

    def answers_or_not(self, rows):
        """Returns answers to questions, and by how much no answer is better."""
        features, outputs = self._read(rows)
        return torch_questions.answers_or_not(rows, features, outputs)

    def _read(self, rows):
        """Returns the features of each row, and the logits of all of them."""
        self.model.eval()
        features = self.tokenized(rows)
        return features, self._outputs(list(itertools.chain.from_iterable(features)))

    @torch.no_grad()
    def _outputs(self, features):
        """Returns for each feature its logits: of begin and end for an answer."""
        outputs = []
        for start in range(0, len(features), EVALUATION_BATCH):
            batch = features[start : start + EVALUATION_BATCH]
            x = self.model(**torch_features.collate(self.tokenizer, batch, False))
            both = self.task.kind == "answer"
            parts = (x.start_logits, x.end_logits) if both else (x.logits,)
            outputs += zip(*(part.numpy() for part in parts), strict=True)
        return outputs
