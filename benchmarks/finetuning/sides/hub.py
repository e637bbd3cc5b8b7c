"""KerasHub: its backbone, preprocessor and classifier."""

import keras
import keras_hub
import tensorflow as tf

import keras_bert_lite as kbl
from benchmarks.finetuning.sides.keras_side import KerasSide
from benchmarks.inference.models import minilm
from keras_bert_lite.models.encoder_model import config_of
from keras_bert_lite.training.schedules import LinearWarmup


class KerasHub(KerasSide):
    """Texts and pairs; a regressor is a classifier of one class.

    Pairs go in as `((first, second), label)` in a `tf.data.Dataset`.
    """

    def prepare(self):
        keras.utils.set_random_seed(self.seed)
        backbone = self._backbone()
        tokenizer = keras_hub.models.BertTokenizer(
            str(minilm() / "vocab.txt"), lowercase=True
        )
        self.model = keras_hub.models.BertTextClassifier(
            backbone,
            num_classes=self.task.outputs,
            preprocessor=keras_hub.models.BertTextClassifierPreprocessor(
                tokenizer, sequence_length=self.task.length
            ),
            dropout=self.recipe.dropout,
        )
        self.model.output_dense.set_weights(self.head(backbone.hidden_dim))
        steps = int(self.dataset(self.rows).cardinality())
        self.compile(steps * self.task.epochs)
        return steps

    def _backbone(self):
        """Its own converter makes the same, but leaves dropout at 0.1."""
        rate = self.recipe.dropout
        encoder = kbl.load_encoder(minilm(), dropout=rate, attention_dropout=rate)
        config = config_of(encoder).replace(activation="gelu_tanh")
        approximate = kbl.encoder(config)
        approximate.set_weights(encoder.get_weights())
        return kbl.to_keras_hub(approximate)

    def optimizer(self, steps):
        rise = int(self.recipe.warmup * steps)
        optimizer = keras.optimizers.AdamW(
            LinearWarmup(self.task.rate, steps, rise),
            weight_decay=self.recipe.weight_decay,
            epsilon=self.recipe.epsilon,
            global_clipnorm=self.recipe.clip_norm,
        )
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        return optimizer

    def dataset(self, rows):
        names = ("text", "text_pair") if self.task.text_pair else ("text",)
        texts = tuple([row[name] for row in rows] for name in names)
        targets = [row["target"] for row in rows]
        x = texts if len(texts) > 1 else texts[0]
        slices = tf.data.Dataset.from_tensor_slices((x, targets))
        return slices.batch(self.task.batch)

    def predict(self, rows):
        texts = self.dataset(rows).map(lambda x, y: x)
        outputs = self.model.predict(texts, verbose=0)
        if self.task.kind == "number":
            return outputs.ravel().tolist()
        return outputs.argmax(-1).tolist()
