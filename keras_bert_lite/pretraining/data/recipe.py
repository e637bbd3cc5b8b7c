"""The settings of pretraining data."""

import dataclasses
import json
from typing import Any

import keras

from keras_bert_lite.checks import check_choice, check_positive, check_rate, check_seed
from keras_bert_lite.pretraining.data.masking import Masking
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.resume.settings import nameless

OBJECTIVES = ("next_sentence", "sentence_order", "none")
SENTENCES = ("lines", "split")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The settings that, with the text, determine each byte of pretraining data.

    Args:
        preprocessor: Gives the tokenizer, the row length and the format of pairs.
        objective: The objective in addition to masked language modeling: BERT's
            `"next_sentence"`, ALBERT's `"sentence_order"`, or `"none"`
            (RoBERTa's full sentences).
        sentences: `"lines"`: each line is a sentence; `"split"`: each line is a
            paragraph, which `split_sentences` splits.
        short_share: Share of the rows whose target length is random.
        pack: Whether rows hold segments of several documents, which do not
            attend to each other; only for the objective `"none"`. Sentences are
            cut where a row is full, which leaves very little padding.
        repeats: How often each document is used, in different rows each time.
        masking: The options of `Masking` that mask tokens once, for all epochs;
            `None`: `pretraining_dataset` masks them anew in each epoch.
        chunk_bytes: The minimum size of a shard's text.
        seed: Seed for all random choices.

    Raises:
        ValueError: If an argument is out of range or conflicts with another.
    """

    preprocessor: Preprocessor
    objective: str = "next_sentence"
    sentences: str = "lines"
    short_share: float = 0.1
    pack: bool = False
    repeats: int = 1
    masking: dict[str, Any] | None = None
    chunk_bytes: int = 4 << 20
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.preprocessor, Preprocessor):
            raise TypeError(
                "`preprocessor` must be a `Preprocessor`. "
                f"Received: {self.preprocessor!r}"
            )
        if self.preprocessor.sequence_length is None:
            raise ValueError(
                "`preprocessor` must have a `sequence_length`, that of the rows. "
                "Received: None"
            )
        check_choice("objective", self.objective, OBJECTIVES)
        check_choice("sentences", self.sentences, SENTENCES)
        check_rate("short_share", self.short_share)
        check_positive("repeats", self.repeats)
        check_positive("chunk_bytes", self.chunk_bytes)
        check_seed(self.seed)
        if self.pack and self.objective != "none":
            raise ValueError(
                '`pack` needs `objective="none"`: pairs fill rows of their own. '
                f"Received: objective={self.objective!r}"
            )
        self.make_masking(**(self.masking or {}))
        if self.room < 2:
            raise ValueError(
                "`sequence_length` must leave room for two tokens of text. "
                f"Received: {self.sequence_length}"
            )

    @property
    def sequence_length(self) -> int:
        """The length of rows (S)."""
        return int(self.preprocessor.sequence_length or 0)

    @property
    def has_pairs(self) -> bool:
        return self.objective != "none"

    @property
    def room(self) -> int:
        """The maximum number of text tokens in a row (in a segment, if packed)."""
        special = 2 + self.preprocessor.num_separators * self.has_pairs
        return self.sequence_length - special

    def make_masking(self, **options: Any) -> Masking:
        return Masking(self.preprocessor.tokenizer, **options)

    def to_json(self) -> str:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        serialized = nameless(keras.saving.serialize_keras_object(self.preprocessor))
        return json.dumps({**values, "preprocessor": serialized})

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        values = json.loads(text)
        preprocessor = keras.saving.deserialize_keras_object(values["preprocessor"])
        return cls(**{**values, "preprocessor": preprocessor})
