"""Fine-tuning in one call: data, recipe, training, report.

| file | holds |
|---|---|
| `finetune.py` | `finetune`, the whole path |
| `kinds/` | a file a kind of task: its columns, labels, model, data set and scores |
| `rows.py` | rows from files and other sources; which are held out; their order |
| `course/` | the course of a run: its plan, the time, training, the best weights |
| `lengths.py` | how long rows are, and how many tokens the model reads |
| `thresholds.py` | the threshold of several labels |
| `baseline.py` | what a model without an encoder scores |
| `report.py` | the files of a run: report and model card |
| `saved_run.py` | a finished run, read for use |
| `predict.py`, `evaluate.py` | answers to a file, and scores, of a run or a model |
| `debug.py` | what is wrong, or odd, in data |
| `convert.py` | checkpoints from one form to another |
"""
