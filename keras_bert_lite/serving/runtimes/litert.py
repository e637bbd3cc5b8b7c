"""Export to LiteRT (`.tflite`)."""

import os
import zipfile
from pathlib import Path
from typing import Any

from keras_bert_lite._files import replaced_file
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.serving.runtimes.file_metadata import METADATA_FILE, file_metadata
from keras_bert_lite.serving.runtimes.id_graphs import id_specs, save_functions, traced
from keras_bert_lite.tasks.text_model import TextModel, load_text_model, model_on_ids
from keras_bert_lite.tasks.text_parts import preprocessor_of

SHORTEST = 16


def export_litert(
    model: TextModel | str | os.PathLike,
    path: str | os.PathLike,
    int8: bool = False,
) -> Path:
    """Exports a model made by `with_text` to a LiteRT file that takes token ids.

    LiteRT is fastest with fixed shapes, so the file has one signature per
    sequence length: `length_16`, `length_32` and so on up to the preprocessor's
    `sequence_length`. Each takes one row, `token_ids`, `segment_ids` (int32)
    and `padding_mask` (bool), `(1, length)` each, and returns the outputs of the
    model on ids by name. The weights are shared and stored once. All operators are
    LiteRT's own. The tokenizer is not part of the graph, but the file carries its
    configuration, so `LiteRTModel` takes strings.

    Args:
        model: A model made by `with_text`, or its `.keras` file, or the directory of
            a run of `finetune`.
        path: The file to write. It appears, or replaces an older one, only when
            complete.
        int8: Whether to quantize weight matrices and embeddings to 8 bits and
            multiply in 8 bits, with a scale per output channel. The activations'
            scales are computed at run time (dynamic quantization).

    Returns:
        `path`.

    Raises:
        NotImplementedError: If the backend is not TensorFlow.
        TypeError: If the model was not made by `with_text`.
        FileNotFoundError: If there is no such file.
        ValueError: If its answers need more than `logits`, it returns lists or
            tensors that are not float32, or its preprocessor has no
            `sequence_length`.
    """
    model = load_text_model(model)
    metadata = file_metadata(model)
    longest = preprocessor_of(model).sequence_length
    if longest is None:
        raise ValueError(
            "`model` must have a preprocessor with a `sequence_length`: the file has "
            "signatures up to it. Received: sequence_length=None"
        )
    path = Path(path)
    with replaced_file(path) as draft:
        content = _convert(
            model, longest, draft.with_name(f"{draft.name}.saved_model"), int8
        )
        draft.write_bytes(content)
        # TFLite's convention for associated files: append a zip archive.
        with zipfile.ZipFile(draft, "a") as archive:
            archive.writestr(METADATA_FILE, metadata)
    return path


def lengths_up_to(longest: int) -> list[int]:
    """Returns 16, 32, 64 and so on, ending with `longest`."""
    lengths = [SHORTEST]
    while lengths[-1] < longest:
        lengths.append(2 * lengths[-1])
    return [*lengths[:-1], longest]


def _convert(model: TextModel, longest: int, folder: Path, int8: bool) -> bytes:
    signatures = _signatures(model, longest)
    save_functions(model, signatures, folder)
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(folder), signature_keys=list(signatures)
    )
    if int8:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter.convert()


def _signatures(model: TextModel, longest: int) -> dict[str, Any]:
    """Traces the padded layout, as data-dependent shapes are slow in LiteRT."""
    body = model_on_ids(model)
    blocks = encoder_layers(encoder_of(body))[1]
    choice = blocks.unpadding
    blocks.unpadding = False
    try:
        return {
            f"length_{length}": traced(body, id_specs(body, 1, length))
            for length in lengths_up_to(longest)
        }
    finally:
        blocks.unpadding = choice
