import json
import lzma

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite._files import DRAFT, LOCK, replaced_file
from keras_bert_lite.pretraining.data import write as module
from keras_bert_lite.pretraining.data.dataset import (
    pretraining_dataset,
    read_recipe,
)
from keras_bert_lite.pretraining.write_data import write_pretraining_data
from tests import tiny
from tests.full_disk import full_disk
from tests.pretraining.data.samples import files, rows_of, text, write


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(text(), encoding="utf-8")
    return path


@pytest.mark.parametrize("objective", ["next_sentence", "sentence_order"])
def test_pairs(path, tmp_path, objective):
    done = write(path, tmp_path / "data", objective=objective)
    rows = rows_of(tmp_path / "data")
    assert done["rows"] == len(rows)
    assert done["tokens"] == sum(len(row["token_ids"]) for row in rows)
    assert done["shards"] == len(list((tmp_path / "data").glob("*.tfrecord"))) > 3
    tokenizer = tiny.tokenizer()
    for row in rows:
        ids = np.array(row["token_ids"])
        assert len(ids) <= 32
        assert ids[0] == tokenizer.cls_id
        (second,) = row["second"]
        ends = np.flatnonzero(ids == tokenizer.sep_id)
        assert ends.tolist() == [second - 1, len(ids) - 1]
        assert row["label"] in ([0], [1])


def test_full_sentences_hold_the_whole_text(path, tmp_path):
    write(path, tmp_path / "data", objective="none", short_share=0.0)
    write(path, tmp_path / "packed", objective="none", pack=True)
    words = sorted(tiny.tokenizer()(text().split("\n")).values.numpy())
    special = [tiny.tokenizer().cls_id, tiny.tokenizer().sep_id]
    for name in ("data", "packed"):
        ids = np.concatenate([row["token_ids"] for row in rows_of(tmp_path / name)])
        assert sorted(ids[~np.isin(ids, special)]) == words
    packed = rows_of(tmp_path / "packed")
    assert all(sum(row["lengths"]) == len(row["token_ids"]) <= 32 for row in packed)
    assert len(packed) < len(rows_of(tmp_path / "data"))


@pytest.mark.parametrize("made_before", [False, True])
def test_text_without_rows_leaves_nothing(path, tmp_path, made_before):
    (tmp_path / "control.txt").write_text("\x01\x02\n\x03\n" * 400)
    directory = tmp_path / "data"
    if made_before:
        directory.mkdir()
    with pytest.raises(ValueError, match=r"`text` must hold text.*control\.txt"):
        write(tmp_path / "control.txt", directory)
    assert directory.exists() == made_before
    assert not list(directory.glob("*"))
    write(path, directory)


def test_same_for_any_number_of_workers(path, tmp_path):
    write(path, tmp_path / "one")
    write(path, tmp_path / "three", workers=3)
    assert files(tmp_path / "one") == files(tmp_path / "three")
    write(path, tmp_path / "other", seed=1)
    assert files(tmp_path / "one") != files(tmp_path / "other")


def test_goes_on_behind_the_shards_that_are_whole(path, tmp_path, monkeypatch):
    write(path, tmp_path / "whole")
    made, make = [], module.make_rows

    def stops(chunk, number, recipe):
        if number == 3 and len(made) < 4:
            made.append(number)
            raise KeyboardInterrupt
        made.append(number)
        return make(chunk, number, recipe)

    monkeypatch.setattr(module, "make_rows", stops)
    directory = tmp_path / "data"
    with pytest.raises(KeyboardInterrupt):
        write(path, directory)
    with pytest.raises(FileNotFoundError, match="unfinished data"):
        pretraining_dataset(directory, 2)
    (directory / "000001.tfrecord").write_bytes(b"half")
    write(path, directory)
    assert [made.count(number) for number in range(4)] == [1, 2, 1, 2]
    assert files(directory) == files(tmp_path / "whole")
    number = len(made)
    write(path, directory)
    assert len(made) == number


def test_makes_a_shard_again_that_is_gone(path, tmp_path):
    directory = tmp_path / "data"
    done = write(path, directory)
    want = files(directory)
    (directory / "000001.tfrecord").unlink()
    with pytest.raises(ValueError, match=r"000001.*write the pretraining data again"):
        pretraining_dataset(directory, 2)
    killed = directory / f"{DRAFT}killed"
    killed.mkdir()
    (killed / LOCK).touch()
    with replaced_file(directory / "a") as draft:  # by another writer, just now
        draft.touch()
        assert write(path, directory) == done
    assert not killed.exists()
    (directory / "a").unlink()
    assert files(directory) == want


def test_another_recipe_where_no_shard_is(path, tmp_path):
    directory = tmp_path / "data"
    path.write_text("\n")
    with pytest.raises(ValueError, match="`text` must hold text"):
        write(path, directory)
    path.write_text(text())
    write(path, directory, seed=1)


def test_shards_of_another_recipe_do_not_count(path, tmp_path):
    """Of a run that began before this one, and writes beside it."""
    want = write(path, tmp_path / "want", seed=1)
    write(path, tmp_path / "other")
    write(path, tmp_path / "data", seed=1)
    for name in ("000001.tfrecord", "index.json"):
        content = (tmp_path / "other" / name).read_bytes()
        (tmp_path / "data" / name).write_bytes(content)
    assert write(path, tmp_path / "data", seed=1) == want
    assert files(tmp_path / "data") == files(tmp_path / "want")


def test_needs_a_mask_token(path, tmp_path):
    pieces = [x for x in tiny.VOCABULARY if x != "[MASK]"]
    preprocessor = kbl.Preprocessor(kbl.WordPieceTokenizer(pieces), 32)
    with pytest.raises(ValueError, match=r"\[MASK\]"):
        kbl.pretraining.write_pretraining_data(path, tmp_path / "data", preprocessor)
    assert not (tmp_path / "data").exists()


def test_refuses_a_directory_of_another_recipe(path, tmp_path):
    write(path, tmp_path / "data")
    message = r"of the same files and recipe.* with {'seed': 0}$"
    with pytest.raises(ValueError, match=message):
        write(path, tmp_path / "data", seed=1)
    with pytest.raises(ValueError, match=r"with {'preprocessor': 'another'}$"):
        write_pretraining_data(
            path, tmp_path / "data", tiny.preprocessor(16), chunk_bytes=1000
        )
    other = tmp_path / "other.txt"
    other.write_text("a")
    with pytest.raises(ValueError, match=r"'files'"):
        write(other, tmp_path / "data")


def test_text_is_known_by_its_content(path, tmp_path):
    """Not by its name and its size alone."""
    directory = tmp_path / "data"
    done = write(path, directory)
    path.write_text(text().replace("the", "not"))
    with pytest.raises(ValueError, match=r"of the same files.*'text.txt'.*'sha256'"):
        write(path, directory)
    (directory / "000001.tfrecord").unlink()
    with pytest.raises(ValueError, match=r"of the same files.*'text.txt'"):
        write(path, directory)
    path.write_text(text())
    assert write(path, directory) == done


def test_files_of_one_name_in_two_folders(path, tmp_path):
    other = tmp_path / "other" / path.name
    other.parent.mkdir()
    other.write_text(text().replace("the", "not"))
    write([path, other], tmp_path / "data")
    with pytest.raises(ValueError, match="of the same files"):
        write([other, path], tmp_path / "data")
    other.write_text(text())  # moved, copied: the same text
    write([other, path], tmp_path / "copied")
    write([path, other], tmp_path / "copied")


@pytest.mark.parametrize("place", [0, 40, -1])
def test_makes_a_shard_again_that_is_damaged(path, tmp_path, place):
    directory = tmp_path / "data"
    write(path, directory)
    want = files(directory)
    shard = directory / "000001.tfrecord"
    data = bytearray(shard.read_bytes())
    data[place] ^= 1
    shard.write_bytes(data)
    write(path, directory)
    assert files(directory) == want


@pytest.mark.parametrize("content", ["", '{"shards": [{"na', "[]", '{"shards": [{}]}'])
def test_an_index_that_is_damaged(path, tmp_path, content):
    directory = tmp_path / "data"
    write(path, directory)
    want = files(directory)
    (directory / "index.json").write_text(content)
    message = r"index\.json: is damaged; to make it again, write the pretraining data"
    with pytest.raises(ValueError, match=message):
        pretraining_dataset(directory, 2)
    write(path, directory)
    assert files(directory) == want


def test_what_is_said_of_one_shard_is_damaged(path, tmp_path):
    directory = tmp_path / "data"
    write(path, directory)
    want = files(directory)
    (directory / "index.json").unlink()
    (directory / "000001.json").write_text('{"name"')
    write(path, directory)
    assert files(directory) == want


@pytest.mark.parametrize("content", ["", '{"files": [], "rec', "7", "{}"])
def test_settings_that_are_damaged(path, tmp_path, content):
    directory = tmp_path / "data"
    done = write(path, directory)
    want = files(directory)
    (directory / "settings.json").write_text(content)
    message = r"settings\.json: is damaged; delete it and write"
    with pytest.raises(ValueError, match=message):
        pretraining_dataset(directory, 2)
    with pytest.raises(ValueError, match=message):
        write(path, directory)
    (directory / "settings.json").unlink()
    assert write(path, directory) == done
    assert files(directory) == want


def test_repeats_differ(path, tmp_path):
    once = write(path, tmp_path / "once", objective="none")
    twice = write(path, tmp_path / "twice", objective="none", repeats=2)
    assert twice["rows"] > 1.8 * once["rows"]


def test_one_document(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a fine day\nbad weather\nis it not\n" * 20)
    with pytest.warns(UserWarning, match="is cut"):
        assert write(path, tmp_path / "data", chunk_bytes=100)["rows"] > 5


def test_a_line_of_a_million_characters(tmp_path):
    path = tmp_path / "text.txt"
    words = "a fine day " * 90_000
    path.write_text(f"{words}\n\n{'x' * 1_000_000}\nbad weather", encoding="utf-8")
    done = write(path, tmp_path / "data", objective="none", chunk_bytes=1 << 20)
    ids = np.concatenate([row["token_ids"] for row in rows_of(tmp_path / "data")])
    want = tiny.tokenizer()([words, "x" * 1_000_000, "bad weather"]).values
    assert len(ids) - 2 * done["rows"] == len(want)  # but [CLS] and [SEP]


def test_masks_chosen_before(path, tmp_path):
    write(path, tmp_path / "data", masking={"unit": "whole_word"})
    mask = tiny.tokenizer().token_to_id("[MASK]")
    rows = rows_of(tmp_path / "data")
    assert all(len(row["masked_positions"]) == len(row["masked_ids"]) for row in rows)
    seen = [row["token_ids"][i] for row in rows for i in row["masked_positions"]]
    assert 0.7 < np.mean(np.array(seen) == mask) < 0.9


def test_raw_text(tmp_path):
    path = tmp_path / "raw.txt.xz"
    path.write_bytes(lzma.compress(b"A fine day. Bad weather!\n\nIs it? It is.\n" * 20))
    done = write(path, tmp_path / "data", sentences="split")
    assert done["rows"] > 5


def test_recipe_comes_back(path, tmp_path):
    write(path, tmp_path / "data", objective="none", pack=True, seed=7)
    recipe = read_recipe(tmp_path / "data")
    assert (recipe.objective, recipe.pack, recipe.seed) == ("none", True, 7)
    assert recipe.preprocessor.tokenizer.get_vocabulary() == tiny.VOCABULARY


def test_disk_full(path, tmp_path):
    directory = tmp_path / "data"
    message = r"000000\.tfrecord: cannot be written"
    with full_disk(20_000), pytest.raises(OSError, match=message):
        write(path, directory, chunk_bytes=1 << 20, repeats=20)
    assert [x.name for x in directory.iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "`text` must hold text"),
        ("a\n\nb", {"objective": "nsp"}, "`objective` must be"),
        ("a\n\nb", {"pack": True}, '`pack` needs `objective="none"`'),
        ("a\n\nb", {"workers": 0}, "`workers`"),
        ("a\n\nb", {"masking": {"rate": 2}}, "`rate`"),
    ],
)
def test_refuses(tmp_path, content, options, message):
    path = tmp_path / "text.txt"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        write(path, tmp_path / "data", **options)


def test_needs_a_length(path, tmp_path):
    with pytest.raises(ValueError, match="must have a `sequence_length`"):
        write_pretraining_data(path, tmp_path, kbl.Preprocessor(tiny.tokenizer()))


def test_index_lists_the_shards(path, tmp_path):
    done = write(path, tmp_path / "data")
    index = json.loads((tmp_path / "data" / "index.json").read_text())
    assert sum(shard["rows"] for shard in index["shards"]) == done["rows"]
    assert not list((tmp_path / "data").glob("0*.json"))
