"""All tasks, by name.

| builder | loss of `kbl.compile` | string inputs | answers | options |
|---|---|---|---|---|
| `text_classifier` | cross-entropy | `text`, `text_pair` | `label`, `scores` | |
| `multi_label_classifier` | binary cross-entropy | the same | `labels`, `scores` |
  `threshold` |
| `regressor` | mean squared error | the same | `score` | |
| `token_classifier` | cross-entropy of words; of paths with `crf` | `text`, or words
  `(B, W)` | `entities`, `entity_labels`, `entity_starts`, `entity_ends`,
  `entity_scores`; for words `labels`, `scores` too | `decoding`, `split_words` |
| `intent_and_slot_classifier` | cross-entropy of texts plus that of words |
  `text`, or words `(B, W)` | `label`, `label_scores`, and those of entities |
  `decoding`, `split_words` |
| `question_answerer` | mean cross-entropy of start and end | `text` (the
  question), `text_pair` (the context) | `answer`, `start`, `end`, `score`,
  `no_answer_score`, and the n best | `max_answer_length`, `n_best`,
  `no_answer_threshold` |
| `multiple_choice` | cross-entropy | `text`, `text_pair` `(B, C)` | `choice`,
  `answer`, `scores` | |
| `ranker` | LambdaLoss | `text`, `candidates` `(B, C)` | `scores`, `order`, `best` |
  `activation` |
| `masked_lm` | cross-entropy of masked words | `text` | `tokens`, `scores`, `filled` |
  `top_k` |
| `sentence_encoder` | your choice from `kbl.losses` | `text`, `text_pair` |
  `sentence_embedding` | `dimensions`, `precision`, `prompt_name` (which is then an
  input) |
| any other | | `text`, `text_pair` | the model's outputs on ids | |
"""

import keras

from keras_bert_lite.tasks import (
    classification,
    intent_and_slots,
    masked_lm,
    multiple_choice,
    question_answering,
    ranking,
    sentence_embedding,
    token_classification,
)
from keras_bert_lite.tasks.pretraining import (
    bert,
    electra,
)
from keras_bert_lite.tasks.task import Task, marked_model
from keras_bert_lite.training.objectives import Objective

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        classification.TEXT_CLASSIFICATION,
        classification.MULTI_LABEL_CLASSIFICATION,
        classification.REGRESSION,
        token_classification.TOKEN_CLASSIFICATION,
        token_classification.CRF_TOKEN_CLASSIFICATION,
        intent_and_slots.INTENT_AND_SLOTS,
        question_answering.QUESTION_ANSWERING,
        multiple_choice.MULTIPLE_CHOICE,
        ranking.RANKING,
        masked_lm.MASKED_LM,
        sentence_embedding.SENTENCE_EMBEDDING,
        bert.PRETRAINING,
        bert.NEXT_SENTENCE,
        bert.REPLACED_TOKENS,
        electra.REPLACED_TOKEN_PRETRAINING,
    )
}


def objectives_of(model: keras.Model) -> dict[str, Objective | None]:
    """Returns the objective of each output, of a model with a task."""
    task = task_of(model)
    return {x.name: x.objective for x in task.outputs} if task else {}


def task_of(model: keras.Model) -> Task | None:
    """Returns a model's task; `None` if it was not made by a task's builder.

    Raises:
        ValueError: If this version does not have the model's task.
    """
    for mark in marked_model(model)[1].values():
        if mark.task not in TASKS:
            raise ValueError(
                f"`model` must be of one of the tasks {sorted(TASKS)}. "
                f"Received: {mark.task!r}"
            )
        return TASKS[mark.task]
    return None
