"""BERT as Keras layers: from raw text to a served model.

The most common names are here. The others are in modules: `data`,
`distillation`, `distribution`, `evaluation`, `layers`, `losses`, `metrics`,
`optimizers`, `pretraining`, `search`, `serving`, `surgery`, `tuning` and
`visualization`.
"""

from keras_bert_lite import (
    config,
    data,
    distillation,
    distribution,
    evaluation,
    layers,
    losses,
    metrics,
    optimizers,
    pretraining,
    search,
    serving,
    surgery,
    tuning,
    visualization,
)
from keras_bert_lite._version import __version__
from keras_bert_lite.checkpoints.hugging_face.saving import save_hugging_face
from keras_bert_lite.checkpoints.keras_hub.exchange import from_keras_hub, to_keras_hub
from keras_bert_lite.checkpoints.load import (
    load_encoder,
    load_model,
    load_preprocessor,
    load_tokenizer,
)
from keras_bert_lite.checkpoints.summary import summary
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.data import (
    choice_dataset,
    intent_and_slot_dataset,
    question_dataset,
    ranking_dataset,
    text_dataset,
    token_dataset,
)
from keras_bert_lite.finetuning.compare import compare
from keras_bert_lite.finetuning.convert import convert
from keras_bert_lite.finetuning.evaluate import evaluate
from keras_bert_lite.finetuning.finetune import finetune
from keras_bert_lite.finetuning.predict import predict_file
from keras_bert_lite.models.encoder_model import (
    encoder,
    encoder_of,
    set_unpadding,
    with_hidden_states,
)
from keras_bert_lite.serving import (
    check_servable,
    export_saved_model,
    predict_texts,
)
from keras_bert_lite.tasks.classification import (
    multi_label_classifier,
    regressor,
    text_classifier,
)
from keras_bert_lite.tasks.compile import compile
from keras_bert_lite.tasks.intent_and_slots import intent_and_slot_classifier
from keras_bert_lite.tasks.masked_lm import masked_lm
from keras_bert_lite.tasks.multiple_choice import multiple_choice
from keras_bert_lite.tasks.question_answering import question_answerer
from keras_bert_lite.tasks.ranking import ranker
from keras_bert_lite.tasks.sentence_embedding import (
    sentence_encoder,
    sentence_encoder_trainer,
)
from keras_bert_lite.tasks.text_model import TextModel, with_text
from keras_bert_lite.tasks.token_classification import token_classifier
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer
from keras_bert_lite.visualization.explain import explain

__all__ = [
    "BytePairTokenizer",
    "EncoderConfig",
    "Preprocessor",
    "SentencePieceTokenizer",
    "TextModel",
    "WordPieceTokenizer",
    "__version__",
    "check_servable",
    "choice_dataset",
    "compare",
    "compile",
    "config",
    "convert",
    "data",
    "distillation",
    "distribution",
    "encoder",
    "encoder_of",
    "evaluate",
    "evaluation",
    "explain",
    "export_saved_model",
    "finetune",
    "from_keras_hub",
    "intent_and_slot_classifier",
    "intent_and_slot_dataset",
    "layers",
    "load_encoder",
    "load_model",
    "load_preprocessor",
    "load_tokenizer",
    "losses",
    "masked_lm",
    "metrics",
    "multi_label_classifier",
    "multiple_choice",
    "optimizers",
    "predict_file",
    "predict_texts",
    "pretraining",
    "question_answerer",
    "question_dataset",
    "ranker",
    "ranking_dataset",
    "regressor",
    "save_hugging_face",
    "search",
    "sentence_encoder",
    "sentence_encoder_trainer",
    "serving",
    "set_unpadding",
    "summary",
    "surgery",
    "text_classifier",
    "text_dataset",
    "to_keras_hub",
    "token_classifier",
    "token_dataset",
    "tuning",
    "visualization",
    "with_hidden_states",
    "with_text",
]
