"""Every task works wherever tasks are used, or is refused there by its name."""

import gc
import json
import weakref

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.tasks.registry import TASKS
from tests import tiny
from tests.finetuning import samples
from tests.tasks.test_registry import BUILDERS

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")
REFUSED = [name for name in TASKS if name not in TUNABLE]


@pytest.mark.slow
@pytest.mark.parametrize("task", TUNABLE)
def test_what_is_fine_tuned(task, tmp_path):
    rows, options = samples.rows(task), {"encoder": samples.encoder()}
    assert kbl.data.debug(task, rows, **options)["invalid"] == []
    run = tmp_path / "run"
    tuned = kbl.finetune(
        task, rows, directory=run, epochs=2, baseline=False, verbose=0, **options
    )
    metric = tuned.report.metric
    scores = kbl.evaluate(run, rows)
    assert scores["rows"] == len(rows)
    assert 0 <= scores["scores"][metric] <= 1
    assert kbl.evaluate(tuned.text_model, rows) == scores
    if task == "question_answering":  # probabilities of positions are left alone
        assert tuned.report.calibration == {}
    source, answers = tmp_path / "rows.jsonl", tmp_path / "answers.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert kbl.predict_file(run, source, answers, progress=False) == len(rows)
    texts = {k: x[0] for k, x in samples.spec(task).texts(rows).items()}
    if TASKS[task].explained:
        text = {k: x if isinstance(x, str) else " ".join(x) for k, x in texts.items()}
        assert kbl.explain(tuned.text_model, text).pieces
    else:
        with pytest.raises(ValueError, match=f"Received: {task!r}"):
            kbl.explain(tuned.text_model, texts)
    model = weakref.ref(tuned.model)
    del tuned
    gc.collect()
    assert model() is None  # memory does not grow with each run


@pytest.mark.parametrize("task", REFUSED)
def test_what_is_not_fine_tuned(task):
    for refuses in (kbl.finetune, kbl.data.debug):
        with pytest.raises(ValueError, match=f"`task` must be one of .*{task!r}"):
            refuses(task, [])


def test_what_is_neither_scored_nor_explained():
    task = "next_sentence"
    model = kbl.with_text(BUILDERS[task](tiny.encoder()), tiny.preprocessor())
    for refuses in (kbl.evaluate, kbl.explain):
        with pytest.raises(ValueError, match=f"must be of one of the tasks .*{task!r}"):
            refuses(model, [{"text": "a"}] if refuses is kbl.evaluate else "a")
