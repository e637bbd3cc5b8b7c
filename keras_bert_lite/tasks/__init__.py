"""The tasks. Each file defines a task's answer layer, its `Task` and its builders.

| file | builders |
|---|---|
| `classification` | `text_classifier`, `multi_label_classifier`, `regressor` |
| `token_classification` | `token_classifier` |
| `intent_and_slots` | `intent_and_slot_classifier` |
| `question_answering` | `question_answerer` |
| `multiple_choice` | `multiple_choice` |
| `ranking` | `ranker` |
| `masked_lm` | `masked_lm` |
| `sentence_embedding` | `sentence_encoder`, `sentence_encoder_trainer` |
"""
