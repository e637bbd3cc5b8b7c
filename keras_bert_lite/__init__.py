"""BERT as Keras layers: from raw text to a served model."""

from keras_bert_lite import layers, serving
from keras_bert_lite._version import __version__
from keras_bert_lite.checkpoints.hugging_face.saving import save_hugging_face
from keras_bert_lite.checkpoints.keras_hub.exchange import from_keras_hub, to_keras_hub
from keras_bert_lite.checkpoints.load import load_encoder, load_model
from keras_bert_lite.checkpoints.tokenizers.loading import (
    load_preprocessor,
    load_tokenizer,
)
from keras_bert_lite.config import EncoderConfig, RelativePositions
from keras_bert_lite.models.distillation import distillation_model
from keras_bert_lite.models.encoder_model import (
    encoder,
    encoder_of,
    set_remove_padding,
    with_internals,
)
from keras_bert_lite.models.pretraining.bert import (
    for_masked_positions,
    next_sentence_predictor,
    pretrainer,
    replaced_token_detector,
)
from keras_bert_lite.models.pretraining.electra import (
    discriminator_of,
    replaced_token_pretrainer,
)
from keras_bert_lite.models.surgery import add_tokens, resize, take_layers
from keras_bert_lite.models.tasks.classification import (
    multi_label_classifier,
    regressor,
    text_classifier,
)
from keras_bert_lite.models.tasks.intent_and_slots import intent_and_slot_classifier
from keras_bert_lite.models.tasks.masked_lm import masked_lm
from keras_bert_lite.models.tasks.multiple_choice import multiple_choice
from keras_bert_lite.models.tasks.question_answering import question_answerer
from keras_bert_lite.models.tasks.sentence_embedding import (
    sentence_encoder,
    sentence_groups,
)
from keras_bert_lite.models.tasks.token_classification import token_classifier
from keras_bert_lite.models.text_model import TextModel, with_text
from keras_bert_lite.serving.check.servable import check_servable
from keras_bert_lite.serving.client import Client
from keras_bert_lite.serving.offline import predict_texts
from keras_bert_lite.serving.runtimes.litert import export_litert
from keras_bert_lite.serving.runtimes.onnx import export_onnx
from keras_bert_lite.serving.runtimes.runtime_models import LiteRTModel, OnnxModel
from keras_bert_lite.serving.saved_model.export import export_saved_model
from keras_bert_lite.serving.saved_model.tf_hub import export_tf_hub
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer
from keras_bert_lite.text.wordpiece.training import learn_vocabulary
from keras_bert_lite.training import losses, metrics
from keras_bert_lite.training.data import (
    choice_dataset,
    intent_and_slot_dataset,
    question_dataset,
    read_conll,
    read_jsonl,
    read_squad,
    read_table,
    text_dataset,
    token_dataset,
)
from keras_bert_lite.training.distillation.token_vectors import distil_words
from keras_bert_lite.training.evaluation import Evaluation, scorers, squad_scores
from keras_bert_lite.training.freezing import freeze
from keras_bert_lite.training.gradient_checkpointing import set_gradient_checkpointing
from keras_bert_lite.training.lora import enable_lora, merge_lora
from keras_bert_lite.training.objectives import compile
from keras_bert_lite.training.optimizer import adamw, lamb
from keras_bert_lite.training.pretraining.data.dataset import pretraining_dataset
from keras_bert_lite.training.pretraining.data.masking import Masking
from keras_bert_lite.training.pretraining.data.write import write_pretraining_data
from keras_bert_lite.training.pretraining.run import pretrain

__all__ = [
    "BytePairTokenizer",
    "Client",
    "EncoderConfig",
    "Evaluation",
    "LiteRTModel",
    "Masking",
    "OnnxModel",
    "Preprocessor",
    "RelativePositions",
    "SentencePieceTokenizer",
    "TextModel",
    "WordPieceTokenizer",
    "__version__",
    "adamw",
    "add_tokens",
    "check_servable",
    "choice_dataset",
    "compile",
    "discriminator_of",
    "distil_words",
    "distillation_model",
    "enable_lora",
    "encoder",
    "encoder_of",
    "export_litert",
    "export_onnx",
    "export_saved_model",
    "export_tf_hub",
    "for_masked_positions",
    "freeze",
    "from_keras_hub",
    "intent_and_slot_classifier",
    "intent_and_slot_dataset",
    "lamb",
    "layers",
    "learn_vocabulary",
    "load_encoder",
    "load_model",
    "load_preprocessor",
    "load_tokenizer",
    "losses",
    "masked_lm",
    "merge_lora",
    "metrics",
    "multi_label_classifier",
    "multiple_choice",
    "next_sentence_predictor",
    "predict_texts",
    "pretrain",
    "pretrainer",
    "pretraining_dataset",
    "question_answerer",
    "question_dataset",
    "read_conll",
    "read_jsonl",
    "read_squad",
    "read_table",
    "regressor",
    "replaced_token_detector",
    "replaced_token_pretrainer",
    "resize",
    "save_hugging_face",
    "scorers",
    "sentence_encoder",
    "sentence_groups",
    "serving",
    "set_gradient_checkpointing",
    "set_remove_padding",
    "squad_scores",
    "take_layers",
    "text_classifier",
    "text_dataset",
    "to_keras_hub",
    "token_classifier",
    "token_dataset",
    "with_internals",
    "with_text",
    "write_pretraining_data",
]
