import pytest

import keras_bert_lite as kbl

TREE = """\
# sent_id = 1
# text = Vamos al mar.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tV\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
2.1\telipsis\t_\tX\t_\t_\t_\t_\t_\t_
3\tmar\tmar\tNOUN\tN\t_\t1\tobl\t_\t_

# sent_id = 2
1\t#\t#\tSYM\tS\t_\t0\troot\t_\t_
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a.conllu"
    file.write_text(TREE, encoding="utf-8")
    return file


def test_words_without_comments_ranges_and_empty_nodes(path):
    first, second = kbl.data.read_conllu(path)
    assert first == {"words": ["Vamos", "nos", "mar"], "tags": ["VERB", "PRON", "NOUN"]}
    assert second == {"words": ["#"], "tags": ["SYM"]}


def test_other_columns(path):
    assert next(iter(kbl.data.read_conllu(path, tags="deprel")))["tags"][0] == "root"
    with pytest.raises(ValueError, match="`tags` must be one of"):
        kbl.data.read_conllu(path, tags="lemma")


def test_names_the_line_of_a_mistake(tmp_path):
    (tmp_path / "b.conllu").write_text("1\ta\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"b\.conllu:1: must have 10 columns"):
        list(kbl.data.read_conllu(tmp_path / "b.conllu"))


@pytest.mark.parametrize(
    ("number", "word"), [("a", "le"), (" 2", "le"), ("_", "le"), ("1", ""), ("1", " ")]
)
def test_no_word_is_lost(number, word, tmp_path):
    columns = [number, word, *"_" * 8]
    (tmp_path / "c.conllu").write_text("\t".join(columns), encoding="utf-8")
    with pytest.raises(ValueError, match=r"c\.conllu:1: must have a number"):
        list(kbl.data.read_conllu(tmp_path / "c.conllu"))
