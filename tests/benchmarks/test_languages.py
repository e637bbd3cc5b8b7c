"""Questions about half of SQuAD, and XQuAD's about the other half."""

import pytest

from benchmarks import languages
from tests.paths import DATA

pytestmark = pytest.mark.skipif(
    not (DATA / "xquad").is_dir(), reason=f"needs the questions in {DATA}"
)


def test_no_paragraph_is_trained_on_and_answered():
    answered = set()
    for half in range(2):
        train, test = languages.questions(DATA, half)
        english = {x["context"] for x in test if x["language"] == "en"}
        assert english
        assert not english & {x["context"] for x in train}
        assert not {x["title"] for x in test} & {x["title"] for x in train}
        assert len({x["language"] for x in test}) == 12
        assert not answered & {x["id"] for x in test}
        answered |= {x["id"] for x in test}
    assert len(answered) == 12 * 1190
