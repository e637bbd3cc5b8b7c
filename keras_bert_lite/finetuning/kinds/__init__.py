"""The kinds of tasks that `finetune` takes."""

from keras_bert_lite.finetuning.kinds.base import Kind
from keras_bert_lite.finetuning.kinds.questions import (
    MultipleChoice,
    QuestionAnswering,
)
from keras_bert_lite.finetuning.kinds.tags import IntentAndSlots, TokenClassification
from keras_bert_lite.finetuning.kinds.texts import (
    MultiLabelClassification,
    Regression,
    TextClassification,
)

KINDS: dict[str, type[Kind]] = {
    kind.name: kind
    for kind in (
        TextClassification,
        MultiLabelClassification,
        Regression,
        TokenClassification,
        IntentAndSlots,
        QuestionAnswering,
        MultipleChoice,
    )
}

__all__ = ["KINDS", "Kind"]
