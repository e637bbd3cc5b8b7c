"""This package: its data sets, builders and string-in models."""

import keras

import keras_bert_lite as kbl
from benchmarks.finetuning.sides.keras_side import KerasSide
from benchmarks.inference.models import minilm
from keras_bert_lite.training.data import text_dataset
from keras_bert_lite.training.data.questions import question_dataset
from keras_bert_lite.training.data.tokens import token_dataset
from keras_bert_lite.training.optimizers import bert_adamw


class KerasBertLite(KerasSide):
    """Every kind of task."""

    def prepare(self):
        keras.utils.set_random_seed(self.seed)
        encoder = self.load_encoder()
        self.model = self._build(encoder)
        width = encoder.output["sequence_output"].shape[-1]
        self.model.get_layer("head").dense.set_weights(self.head(width))
        self.load_preprocessor()
        steps = len(self.dataset(self.rows))
        self.compile(steps * self.task.epochs)
        return steps

    def load_encoder(self):
        rate = self.recipe.dropout
        return kbl.load_encoder(minilm(), dropout=rate, attention_dropout=rate)

    def load_preprocessor(self):
        self.preprocessor = kbl.load_preprocessor(
            minilm(), sequence_length=self.task.length, stride=self.task.stride
        )

    def _build(self, encoder):
        if self.task.kind == "number":
            return kbl.regressor(encoder)
        if self.task.kind == "answer":
            return kbl.question_answerer(encoder)
        tags = self.task.kind == "tags"
        build = kbl.token_classifier if tags else kbl.text_classifier
        return build(encoder, self.task.labels)

    def optimizer(self, steps):
        recipe = self.recipe
        return bert_adamw(
            steps,
            self.task.rate,
            warmup=recipe.warmup,
            weight_decay=recipe.weight_decay,
            epsilon=recipe.epsilon,
            clip_norm=recipe.clip_norm,
        )

    def dataset(self, rows):
        size = self.task.batch
        if self.task.kind == "tags":
            return token_dataset(
                rows, self.preprocessor, self.task.labels, batch_size=size
            )
        if self.task.kind == "answer":
            return question_dataset(rows, self.preprocessor, batch_size=size)
        return text_dataset(
            rows,
            self.preprocessor,
            text_pair="text_pair" if self.task.text_pair else None,
            label="target",
            labels=self.task.labels or None,
            batch_size=size,
        )

    def predict(self, rows):
        return getattr(self, f"_{self.task.kind}")(rows)

    def _strings(self, columns, rows, **options):
        """The answers of the string-in model."""
        model = kbl.with_text(self.model, self.preprocessor, **options)
        texts = {name: [row[x] for row in rows] for name, x in columns.items()}
        return model.predict(texts, batch_size=32, verbose=0)

    def _about_texts(self, rows):
        names = ["text", "text_pair"] if self.task.text_pair else ["text"]
        columns = dict(zip(names, names, strict=True))
        return self._strings(columns, rows, pairs=len(names) > 1)

    def _class(self, rows):
        return self._about_texts(rows)["scores"].argmax(-1).tolist()

    def _number(self, rows):
        return self._about_texts(rows)["score"].ravel().tolist()

    def _tags(self, rows):
        labels = self._strings({"text": "words"}, rows, split_words=True)["labels"]
        pairs = zip(labels.tolist(), rows, strict=True)
        return [tags[: len(row["words"])] for tags, row in pairs]

    def _answer(self, rows):
        columns = {"text": "question", "text_pair": "context"}
        return self._strings(columns, rows)["answer"].tolist()
