"""Ready-made scorers for `EvaluationCallback`.

Each takes data and returns a function from a model to numbers by name. The data are
as for `model.evaluate`: a `tf.data.Dataset` or other iterable of batches
`(inputs, targets)` or `(inputs, targets, weights)`. They are read once per call.

```python
score = kbl.evaluation.scorers.classification_report(validation)
score(model)  # {"accuracy": 0.92, "macro_f1": 0.91, "f1/negative": 0.9, ...}
```

`entity_report` needs seqeval (extra `evaluation`).
"""

from keras_bert_lite.evaluation.scorers.questions import squad
from keras_bert_lite.evaluation.scorers.ranks import spearman
from keras_bert_lite.evaluation.scorers.reports import (
    classification_report,
    entity_report,
)

__all__ = ["classification_report", "entity_report", "spearman", "squad"]
