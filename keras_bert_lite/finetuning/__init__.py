"""Fine-tuning in one call: read rows, decide, train, judge, save.

| file | holds |
|---|---|
| `finetune.py` | `finetune`, the whole story on one page |
| `spec.py` | the task of a run and what was decided about its rows |
| `rows.py`, `lengths.py` | rows, which of them are held out, and how long they are |
| `recipe.py` | every number that decides |
| `decide.py`, `plan.py` | labels, weights, how pairs are read, epochs, rate and steps |
| `run.py` | the course of training, and how an interrupted run goes on |
| `trainer.py`, `budget.py` | training itself, and the time for it |
| `selection.py`, `calibration.py` | the best weights, and probabilities that fit |
| `report.py` | what a run reports, its files and model card |
| `saved_run.py` | a finished run, read for use |
| `predict.py`, `evaluate.py` | answers to a file, and scores, of a run or a model |
| `debug.py` | what is wrong, or odd, in data |
| `convert.py` | checkpoints from one form to another |

What differs between tasks is in their rows; see `tasks.task.FineTuning`.
"""
