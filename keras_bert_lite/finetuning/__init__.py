"""Fine-tuning in one call: data, recipe, training, report.

| file | holds |
|---|---|
| `finetune.py` | `finetune`, the whole path |
| `kinds/` | a file a kind of task: its columns, labels, model, data set and scores |
| `rows.py` | rows from files and other sources; which are held out; their order |
| `recipe.py` | epochs, rate and batch size from rows, width of the encoder and time |
| `selection.py` | scores during training, the best weights |
| `calibration.py` | the temperature of probabilities |
| `baseline.py` | what a model without an encoder scores |
| `report.py` | the files of a run: report and model card |
"""
