"""Fine-tuning in one call: data, recipe, training, report.

| file | holds |
|---|---|
| `finetune.py` | `finetune`, the whole path |
| `kinds/` | a file a kind of task: its columns, labels, model, data set and scores |
| `rows.py` | rows from files and other sources; which are held out; their order |
| `course/` | the course of a run: its plan, the time, training, the best weights |
| `baseline.py` | what a model without an encoder scores |
| `report.py` | the files of a run: report and model card |
"""
