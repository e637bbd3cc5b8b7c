"""Options as one writes them, and as jsonargparse reads them."""

import pytest

from keras_bert_lite_command.spelling import spelled
from keras_bert_lite_command.verbs import VERBS


@pytest.mark.parametrize(
    ("verb", "given", "read"),
    [
        ("fit", "t a.tsv --batch-size 8", "--batch_size=8 t a.tsv"),
        ("fit", "t --columns.text=s a.tsv", "--columns.text=s t a.tsv"),
        ("fit", "t --columns.text-pair s a.tsv", "--columns.text_pair=s t a.tsv"),
        ("fit", "--config run.yaml --minutes 3", "--config=run.yaml --minutes=3"),
        ("fit", "t a.tsv --print-config", "--print_config t a.tsv"),
        ("fit", "-h", "-h"),
        ("predict", "run - --progress false", "--progress=false run -"),
        ("check", "path --no-run", "--run=false path"),
        ("check", "--run path", "--run=true path"),
        ("pretrain", "data --seed -1", "--seed=-1 data"),
        ("pretrain", "--config run.yaml", "--config=run.yaml"),
        ("pretrain", "--config bert_tiny data", "--encoder_config=bert_tiny data"),
        ("pretrain", "--config=c.json", "--encoder_config=c.json"),
        ("pretrain", "--config r.yml --config c", "--config=r.yml --encoder_config=c"),
        ("distil", "--pairs a.txt", "--pairs=true a.txt"),
        ("distil", "a --validation b --steps 4", "--validation=b --steps=4 a"),
        ("fit", "--labels+ a --labels+ b", "--labels+=a --labels+=b"),
        ("fit", "--help", "--help"),
        ("fit", "t --class-weight.not-good=2 a", "--class_weight.not-good=2 t a"),
        ("fit", "--seed 1 -- t a", "--seed=1 t a"),
        ("tokenize", "run -5", "-- run -5"),
        ("tokenize", "-- run -foo", "-- run -foo"),
    ],
)
def test_spelled(verb, given, read):
    assert spelled(VERBS[verb], given.split()) == read.split()


def test_unknown_options():
    with pytest.raises(ValueError, match="no option --epoch; did you mean --epochs"):
        spelled(VERBS["fit"], ["task", "a.tsv", "--epoch", "1"])
    with pytest.raises(ValueError, match=r"no option --no-baselin; did .*no_baseline"):
        spelled(VERBS["fit"], ["--no-baselin"])
    with pytest.raises(ValueError, match="no option --no-epochs"):
        spelled(VERBS["fit"], ["--no-epochs", "3"])
    with pytest.raises(ValueError, match=r"no option --xyz$"):
        spelled(VERBS["fit"], ["--xyz=1"])


@pytest.mark.parametrize("given", ["a --steps", "--steps --pairs a"])
def test_an_option_needs_its_value(given):
    with pytest.raises(ValueError, match="--steps needs a value"):
        spelled(VERBS["distil"], given.split())


def test_several_files():
    given = ["a b", "c", "--validation", "d", "e", "--pairs", "--dtype", "float16"]
    read = [
        '--validation=["d", "e"]',
        "--pairs=true",
        "--dtype=float16",
        '["a b", "c"]',
    ]
    assert spelled(VERBS["distil"], given) == read
