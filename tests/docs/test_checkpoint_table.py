"""The table of checkpoints says what the tests show."""

import json
import re

import pytest

from tests.paths import ROOT

PAGE = (ROOT / "docs" / "guide" / "checkpoints.md").read_text(encoding="utf-8")
FAMILIES = (
    *("bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra"),
    *("deberta-v2", "camembert", "data2vec-text", "ernie", "mpnet", "deberta"),
    *("modernbert", "nomic_bert", "gte", "jina_embeddings_v3", "eurobert"),
)
REPLACED = "pretraining: replaced tokens"
HEADS = {
    "**Hugging Face**: encoder": "Model",
    "sequence classification": "ForSequenceClassification",
    "token classification": "ForTokenClassification",
    "question answering": "ForQuestionAnswering",
    "multiple choice": "ForMultipleChoice",
    "masked LM": "ForMaskedLM",
    "pretraining: words and sentence pairs": "ForPreTraining",
    REPLACED: "ForPreTraining",
    "next sentence": "ForNextSentencePrediction",
}


def table():
    """The rows of the table of checkpoints, by their first cell."""
    lines = PAGE.split("| source, head |")[1].split("\n\n")[0].split("\n")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("head", HEADS)
def test_cells_are_the_cases_with_golden_values(head):
    text = (ROOT / "tests" / "golden" / "families.json").read_text()
    cases = json.loads(text)["cases"]
    for family, cell in zip(FAMILIES, table()[head][:-1], strict=True):
        expected = f"{family}-{HEADS[head]}" in cases
        if HEADS[head] == "ForPreTraining" and family == "electra":
            expected = head == REPLACED
        elif head == REPLACED:
            expected = False
        assert cell == ("in, out" if expected else "")


def test_files_of_the_table_are_there():
    for *_, files in table().values():
        for name in re.findall(r"`([^`]+)`", files):
            assert (ROOT / "tests" / name).is_file()
