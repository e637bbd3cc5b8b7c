"""A layer that cuts texts into windows, for models with string inputs."""

from __future__ import annotations

from typing import Any

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layer_config import layer_from_config
from keras_bert_lite.text.preprocessor import ID_DTYPES, Preprocessor
from keras_bert_lite.text.text_layer import TextLayer
from keras_bert_lite.text.token_offsets import (
    LocatedTokens,
    firsts_of,
    locate,
    locate_words,
    word_begins,
)

OFFSET_DTYPES = {
    "window_rows": "int64",
    "windows": "int64",
    "columns": "int64",
    "tokens": "int64",
    "most_context": "bool",
    "row_splits": "int64",
    "starts": "int32",
    "ends": "int32",
    "firsts": "bool",
    "words": "int64",
}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TextWindows(TextLayer):
    """Cuts texts into windows and reports the position of each token.

    B texts become N rows of ids; see `Preprocessor.windows`. For a pair, the
    `text` (a question) precedes each window of the `text_pair`.

    Args:
        preprocessor: A `Preprocessor`.

    Call arguments:
        inputs: A dictionary of `text` and, for pairs, `text_pair`: strings of
            shape `(B,)`. A `text` of shape `(B, W)` is already split into words,
            with shorter rows padded with empty strings.

    Output shape:
        A dictionary.

        - `token_ids`, `segment_ids`, `padding_mask`, `(N, S)`: an encoder's
          inputs;
        - `text`, `(B,)`: the strings that offsets refer to;
        - `window_rows`, `(N,)`: the text of each window;
        - for the M tokens of all windows: `windows` and `columns`, their row and
          column in the ids; `tokens`, their index among the T tokens;
          `most_context`, true once for each token (see `Windows`);
        - for the T tokens of all texts: `starts` and `ends`, in code points;
          `firsts`, whether they begin a word; `words`, the index of their word
          in the row (0 unless the text is split into words). `row_splits`,
          `(B + 1,)`, delimits the tokens of each text.
    """

    def __init__(self, preprocessor: Preprocessor, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preprocessor = preprocessor

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        tokenizer = self.preprocessor.tokenizer
        *before, content = (inputs[x] for x in ("text", "text_pair") if x in inputs)
        tokens, words, firsts = self._located(content)
        segments = [*(tokenizer.ids_of(text) for text in before), tokens.ids]
        windows, columns, ids = self.preprocessor.windows(segments)
        return {
            **ids,
            "text": tokens.text,
            "window_rows": windows.rows,
            "windows": windows.windows,
            "columns": columns,
            "tokens": windows.tokens,
            "most_context": windows.has_most_context(),
            "row_splits": tokens.ids.row_splits,
            "starts": tokens.starts,
            "ends": tokens.ends,
            "firsts": firsts,
            "words": words,
        }

    def _located(
        self, content: tf.Tensor
    ) -> tuple[LocatedTokens, tf.Tensor, tf.Tensor]:
        """Returns tokens, the indices of their words and which begin a word."""
        tokenizer = self.preprocessor.tokenizer
        if content.shape.rank == 1:
            tokens = locate(tokenizer, content)
            begins = word_begins(tokenizer, tokens)
            return tokens, tf.zeros_like(tokens.starts, tf.int64), begins
        tokens, words = locate_words(tokenizer, content)
        # Byte-level BPE has a piece for the space before an empty word.
        given = tf.gather_nd(content, tf.stack([tokens.rows, words], 1))
        begins = tf.logical_and(firsts_of(tokens.rows, words), given != "")
        return tokens, words, begins

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        width = self.preprocessor.widest
        ids = {k: ((None, width), dtype) for k, dtype in ID_DTYPES.items()}
        others = {k: ((None,), dtype) for k, dtype in OFFSET_DTYPES.items()}
        batch = next(iter(inputs.values())).shape[:1]
        specs = {**ids, "text": (batch, "string"), **others}
        return {
            k: keras.KerasTensor(shape, dtype=dtype, name=k)
            for k, (shape, dtype) in specs.items()
        }

    def get_config(self) -> dict[str, Any]:
        layer = keras.saving.serialize_keras_object(self.preprocessor)
        return {**super().get_config(), "preprocessor": layer}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> TextWindows:
        layer = layer_from_config(
            config["preprocessor"], Preprocessor, "`preprocessor`"
        )
        return cls(**{**config, "preprocessor": layer})
