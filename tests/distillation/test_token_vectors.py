import shutil

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.distillation.dataset import word_distillation_dataset
from keras_bert_lite.distillation.token_vectors import distill_token_vectors
from tests import tiny
from tests.conformance import randomize
from tests.pretraining.data.samples import WORDS, text
from tests.pretraining.interrupts import Interrupts
from tests.pretraining.runs import tensorflow_only

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, ",", "##s"]


def other(sequence_length=32, **options):
    """A preprocessor that splits the same words into other pieces."""
    tokenizer = kbl.WordPieceTokenizer(PIECES, **options)
    return kbl.Preprocessor(tokenizer, sequence_length)


def dataset(texts, tmp_path, ours=None, theirs=None, size=2, **options):
    path = tmp_path / "text.txt"
    path.write_text(texts, encoding="utf-8")
    ours, theirs = ours or tiny.preprocessor(32), theirs or other()
    return word_distillation_dataset(path, ours, theirs, size, **options)


def words(batch, preprocessor, prefix=""):
    """The first piece of every word that is compared, in each row."""
    pieces = preprocessor.tokenizer.get_vocabulary()
    rows = zip(
        batch[f"{prefix}token_ids"].numpy(),
        batch[f"{prefix}word_positions"].numpy(),
        batch["word_mask"].numpy(),
        strict=True,
    )
    return [[pieces[i] for i in ids[at][mask]] for ids, at, mask in rows]


def test_words_are_the_same_on_both_sides(tmp_path):
    texts = "the days, is\nnot fine weather"
    batch = next(iter(dataset(texts, tmp_path)))
    ours = sorted(words(batch, tiny.preprocessor()))
    theirs = sorted(words(batch, other(), "teacher_"))
    assert ours == [
        ["[CLS]", "not", "fine", "weather"],
        ["[CLS]", "the", "day", ",", "is"],
    ]
    assert theirs == ours


def test_words_that_were_truncated_are_left_out(tmp_path):
    batch = next(iter(dataset("a days fine", tmp_path, theirs=other(4), size=1)))
    assert batch["teacher_token_ids"].shape == (1, 4)  # cut inside of "days"
    assert words(batch, tiny.preprocessor()) == [["[CLS]", "a"]]
    assert words(batch, other(), "teacher_") == [["[CLS]", "[UNK]"]]


def test_shapes_follow_the_padding(tmp_path):
    ours = kbl.Preprocessor(tiny.tokenizer(), 32, padding="max_length")
    batch = next(iter(dataset("a day\nfine", tmp_path, ours)))
    for name in ("word_positions", "teacher_word_positions", "word_mask"):
        assert batch[name].shape == (2, 32)


def test_every_sentence_in_each_epoch_in_another_order(tmp_path):
    lines = [f"{a} {b}" for a in WORDS for b in WORDS][:48]
    seen = [
        [" ".join(row[1:]) for row in words(batch, tiny.preprocessor())]
        for batch in dataset("\n".join(lines), tmp_path, size=16).take(6)
    ]
    first, second = ([x for batch in seen[i : i + 3] for x in batch] for i in (0, 3))
    assert sorted(first) == sorted(second) == sorted(lines)
    assert first != second


def test_goes_on_where_it_was(tmp_path):
    made = [dataset(text(), tmp_path, size=8, start=i, seed=3) for i in (0, 2)]
    from_the_begin = list(made[0].take(4))[2:]
    for a, b in zip(from_the_begin, made[1].take(2), strict=True):
        for key in a:
            np.testing.assert_array_equal(a[key], b[key])


def test_replaced_words_are_the_teachers(tmp_path):
    theirs = other(special_tokens_in_text=False)
    plain, changed = (
        next(iter(dataset(text(), tmp_path, theirs=theirs, size=64, replaced=share)))
        for share in (0.0, 1.0)
    )
    found = [
        {x for row in words(b, theirs, "teacher_") for x in row}
        for b in (plain, changed)
    ]
    assert found[1] <= {*WORDS, ",", "[CLS]", "[UNK]"}
    assert words(plain, theirs, "teacher_") != words(changed, theirs, "teacher_")


def test_pairs(tmp_path):
    ours, lines = tiny.preprocessor(32), [[x, x, x] for x in WORDS[:16]]
    source = "\n".join(map(" ".join, lines))
    for batch in dataset(source, tmp_path, size=8, pairs=True).take(4):
        first, second = _texts(batch, "teacher_"), _texts(batch, "teacher_second_")
        made = ours((list(map(" ".join, first)), list(map(" ".join, second))))
        for key, value in made.items():
            np.testing.assert_array_equal(batch[f"pair_{key}"], value)
        for one, other_ in zip(first, second, strict=True):
            following = lines[(lines.index(one) + 1) % len(lines)]
            assert other_
            assert set(other_) <= {*one, *following}


def _texts(batch, prefix):
    """The words of each row, of a text whose words are all one piece."""
    ids, mask = (batch[prefix + x].numpy() for x in ("token_ids", "padding_mask"))
    return [[PIECES[i] for i in row[m][1:-1]] for row, m in zip(ids, mask, strict=True)]


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("a", {"theirs": other(lowercase=False)}, "'lowercase': False"),
        (
            "a",
            {"theirs": kbl.Preprocessor(tiny.tokenizer(), 32, stride=4)},
            "None and 4",
        ),
        ("a", {"size": 0}, "`batch_size`"),
        ("a", {"start": -1}, "`start`"),
        ("a", {"sentences": "words"}, "`sentences`"),
    ],
)
def test_bad_arguments(texts, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        dataset(texts, tmp_path, **options)


def test_no_text(tmp_path):
    with pytest.raises(ValueError, match="`text` must hold text"):
        dataset("\n\n", tmp_path)


def encoders():
    keras.utils.set_random_seed(0)
    sizes = {"max_sequence_length": 32, "dropout": 0.0, "pooling": None}
    student = kbl.encoder(tiny.config(num_layers=1, **sizes))
    wide = {**sizes, "hidden_dim": 32, "vocabulary_size": len(PIECES)}
    wide |= {"num_layers": 1, "initializer_range": 0.5}
    return student, kbl.encoder(tiny.config(**wide))


def run(path, directory, **options):
    student, teacher = encoders()
    given = {"steps": 6, "batch_size": 4, "save_every": 2, "verbose": 0, **options}
    both = tiny.preprocessor(32), other()
    args = (student, both[0], teacher, both[1], path, directory)
    return student, distill_token_vectors(*args, **given)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "books.txt"
    path.write_text(text(), encoding="utf-8")
    return path


PAIRS = {"pairs": True, "learning_rate": 3e-3}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A student, and the directory of the run that trained it."""
    path = tmp_path_factory.mktemp("ended") / "books.txt"
    path.write_text(text(), encoding="utf-8")
    return run(path, path.parent / "run", **PAIRS)[0], path.parent / "run"


@pytest.fixture
def directory(ended, tmp_path):
    return shutil.copytree(ended[1], tmp_path / "run")


@pytest.mark.slow
def test_learns(path, tmp_path):
    settings = {"steps": 60, "save_every": 20, "learning_rate": 3e-3}
    more = {"validation": path, "validation_steps": 2}
    _, history = run(path, tmp_path / "run", **settings, **more)
    losses = history.history["loss"]
    assert losses[-1] < 0.9 * losses[0]
    assert history.history["val_loss"][-1] < losses[0]


@pytest.mark.slow
def test_pairs_train_both_segments(ended):
    before, after = (
        x.get_layer("embeddings").segment_embedding.get_weights()[0]
        for x in (encoders()[0], ended[0])
    )
    changed = np.abs(before - after).max(-1)
    assert (changed > 1e-3).all()  # weight decay alone does less


@pytest.mark.slow
@tensorflow_only
def test_a_run_goes_on(ended, path, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(path, tmp_path / "parts", callbacks=[Interrupts(5)], **PAIRS)
    parts, history = run(path, tmp_path / "parts", **PAIRS)
    assert history.epoch == [2]
    for a, b in zip(ended[0].weights, parts.weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.slow
def test_validation_reads_the_same_rows(path, tmp_path):
    more = {"validation": path, "validation_steps": 2, "learning_rate": 1e-12}
    _, history = run(path, tmp_path / "run", **more)
    losses = history.history["val_loss"]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-5)


@pytest.mark.slow
def test_another_text_in_the_directory(path, directory):
    student, teacher = encoders()
    both = tiny.preprocessor(16), other()
    path.write_text("a fine day\nbad weather\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"'text': .*'bytes': 23.*'tokens': "):
        distill_token_vectors(student, both[0], teacher, both[1], path, directory, 2)


@pytest.mark.parametrize("length", [64, None])
def test_preprocessor_that_does_not_fit(length, path, tmp_path):
    student, teacher = encoders()
    with pytest.raises(ValueError, match=f"`teacher`.*sequence_length={length}"):
        distill_token_vectors(
            *(student, tiny.preprocessor(32), teacher, other(length)),
            *(path, tmp_path, 2),
        )


@pytest.mark.slow
def test_another_teacher_of_the_same_size(path, directory):
    student, teacher = encoders()
    randomize(teacher)
    both = tiny.preprocessor(32), other()
    given = {"batch_size": 4, "save_every": 2, "verbose": 0}
    with pytest.raises(ValueError, match="'teacher_weights': "):
        distill_token_vectors(
            *(student, both[0], teacher, both[1], path, directory, 6), **given
        )


@pytest.mark.slow
def test_another_run_in_the_directory(path, directory):
    with pytest.raises(ValueError, match=r"'batch_size': \(4, 2\)"):
        run(path, directory, batch_size=2, **PAIRS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation": "empty.txt"}, "`validation` must hold text"),
        ({"steps": 7}, "`steps` must be a multiple of `save_every`"),
    ],
)
def test_refuses(path, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ValueError, match=message):
        run(path, tmp_path / "run", **options)


@pytest.mark.parametrize("argument", ["text", "validation"])
def test_no_such_file(path, tmp_path, argument):
    given = {"text": path, "validation": path, argument: tmp_path / "none"}
    text = given.pop("text")
    with pytest.raises(FileNotFoundError, match=f"`{argument}` must be a file"):
        run(text, tmp_path / "run", **given)
