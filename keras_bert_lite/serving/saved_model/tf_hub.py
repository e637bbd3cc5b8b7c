"""Export of encoders with the interface of TF Hub's BERTs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite._files import check_directory, new_directory
from keras_bert_lite._finite import check_finite_weights
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.models.encoder_model import with_hidden_states
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.text_layer import require_tensorflow

INPUTS = {  # TF Hub's names for this package's inputs
    "input_word_ids": "token_ids",
    "input_mask": "padding_mask",
    "input_type_ids": "segment_ids",
}


def export_tf_hub(
    encoder: keras.Model, preprocessor: Preprocessor, directory: str | os.PathLike
) -> Path:
    """Exports an encoder as two SavedModels with the interface of TF Hub's BERTs.

    - `preprocess` maps strings `(B,)` to `input_word_ids`, `input_mask` and
      `input_type_ids`, int32 `(B, sequence_length)`. `.tokenize(text)` returns
      ragged ids `(B, None)`, `.tokenize.get_special_tokens_dict()` returns the ids
      of the special tokens, and `.bert_pack_inputs([ids], seq_length=)` or
      `([ids, ids], seq_length=)` returns the same dictionary as a call.
    - `encoder` maps such a dictionary to `pooled_output` `(B, H)`,
      `sequence_output` `(B, S, H)`, `encoder_outputs`, a list of one tensor
      `(B, S, H)` per layer, and `default`, which is `pooled_output`. Its variables
      are trainable.

    Args:
        encoder: An encoder with `pooled_output`.
        preprocessor: A preprocessor with a `sequence_length`.
        directory: The directory for the folders `preprocess` and `encoder`; it
            must not exist.

    Returns:
        The path of the directory.

    Raises:
        ValueError: If the encoder has no `pooled_output` or a weight that is NaN or
            infinite, or the preprocessor has no `sequence_length`.
        NotImplementedError: If the backend is not TensorFlow.
        FileExistsError: If the directory exists.

    Reference: "Text embeddings with transformer encoders" and "Text
    preprocessing" in TensorFlow Hub's common SavedModel APIs for text.
    """
    require_tensorflow("`export_tf_hub`")
    if "pooled_output" not in getattr(encoder, "output", ()):
        raise ValueError(
            "`encoder` must be an encoder with a `pooled_output`. "
            f"Received: {encoder!r}"
        )
    if preprocessor.sequence_length is None:
        raise ValueError("`preprocessor` must have a `sequence_length`. Received: None")
    preprocessor.check_without_prompt("TF Hub's format, which has no place for one")
    target = Path(directory)
    check_directory(target.parent)
    if target.exists():
        raise FileExistsError(f"`directory` must not exist. Received: {target}")
    check_finite_weights(encoder, "encoder")
    with new_directory(target) as draft:
        tf.saved_model.save(_preprocess(preprocessor), str(draft / "preprocess"))
        tf.saved_model.save(_encode(encoder), str(draft / "encoder"))
    return target


def _preprocess(preprocessor: Preprocessor) -> tf.Module:
    tokenizer = preprocessor.tokenizer
    texts = tf.TensorSpec([None], tf.string)
    length = tf.TensorSpec([], tf.int32)
    ids = tf.RaggedTensorSpec([None, None], tf.int32)

    def special_tokens() -> dict[str, tf.Tensor]:
        numbers = {
            "vocab_size": tokenizer.vocabulary_size(),
            "start_of_sequence_id": tokenizer.cls_id,
            "end_of_segment_id": tokenizer.sep_id,
            "padding_id": tokenizer.pad_id,
        }
        if "[MASK]" in tokenizer.special_tokens:
            numbers["mask_id"] = tokenizer.token_to_id("[MASK]")
        return {name: tf.constant(x) for name, x in numbers.items()}

    def pack(segments: Sequence[tf.RaggedTensor], seq_length: Any) -> dict:
        return _hub_inputs(preprocessor.assemble(list(segments), seq_length))

    tokenize = tf.Module()
    tokenize.__call__ = tf.function(
        tokenizer.call, input_signature=[texts], autograph=False
    )
    tokenize.get_special_tokens_dict = tf.function(special_tokens, input_signature=[])
    module = tf.Module()
    module.tokenize = tokenize
    module.bert_pack_inputs = tf.function(pack)
    for segments in ([ids], [ids, ids]):
        module.bert_pack_inputs.get_concrete_function(segments, seq_length=length)
    module.__call__ = tf.function(
        lambda text: pack([tokenizer.call(text)], preprocessor.sequence_length),
        input_signature=[texts],
    )
    return module


def _hub_inputs(inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return {hub: tf.cast(inputs[name], tf.int32) for hub, name in INPUTS.items()}


def _encode(encoder: keras.Model) -> tf.train.Checkpoint:
    model = with_hidden_states(encoder, hidden_states=True, attentions=False)
    spec = {name: tf.TensorSpec([None, None], tf.int32, name) for name in INPUTS}

    def encode(inputs: dict[str, tf.Tensor], training: bool = False) -> dict:
        ids = {name: inputs[hub] for hub, name in INPUTS.items()}
        ids["padding_mask"] = tf.cast(ids["padding_mask"], tf.bool)
        outputs = model(ids, training=training)
        return {
            "pooled_output": outputs["pooled_output"],
            "sequence_output": outputs["sequence_output"],
            "encoder_outputs": outputs["hidden_states"][1:],
            "default": outputs["pooled_output"],
        }

    module = tf.train.Checkpoint()  # a tf.Module does not store these names
    module.variables = [variable.value for variable in model.variables]
    module.trainable_variables = [v.value for v in model.trainable_variables]
    module.__call__ = tf.function(encode)
    for training in (False, True):
        module.__call__.get_concrete_function(spec, training=training)
    return module
