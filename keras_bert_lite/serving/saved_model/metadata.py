"""Metadata of exported SavedModels."""

import json
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite._tensorflow import tf, tf_text
from keras_bert_lite._version import __version__
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.serving.check.saved_model_files import read_meta_graph
from keras_bert_lite.serving.check.server_operations import operations
from keras_bert_lite.serving.check.signatures import public_signatures
from keras_bert_lite.tasks.text_model import TextModel, model_on_ids
from keras_bert_lite.tasks.text_parts import answer_of, preprocessor_of

FILE = Path("assets.extra") / "keras_bert_lite.json"


def write_metadata(draft: Path, model: TextModel, **others: Any) -> None:
    """Writes `assets.extra/keras_bert_lite.json` into a SavedModel."""
    path = draft / FILE
    path.parent.mkdir(exist_ok=True)
    found = {**_metadata(draft, model), **others}
    text = json.dumps(found, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _metadata(draft: Path, model: TextModel) -> dict[str, Any]:
    meta_graph = read_meta_graph(draft)
    _, blocks, _ = encoder_layers(encoder_of(model_on_ids(model)))
    return {
        "keras_bert_lite": __version__,
        "keras": keras.__version__,
        "tensorflow": tf.__version__,
        "tensorflow_text": tf_text.__version__,
        "model": model.name,
        "config": None if blocks.config is None else blocks.config.to_dict(),
        "sequence_length": preprocessor_of(model).sequence_length,
        "labels": getattr(answer_of(model), "labels", []),
        "signatures": sorted(public_signatures(meta_graph)),
        "ops": operations(meta_graph.graph_def),
    }
