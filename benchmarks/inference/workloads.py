"""The texts: what is encoded, in which batches."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inference.models import LONG

CORPORA = (
    "sst2",
    "squad",
    "full",
    "full 512",
    "full 2048",
    "offline sst2",
    "offline squad",
)
BATCHES = (1, 8, 32)
# Tokens of rows without padding, [CLS] and [SEP] included.
FULL_ROWS = {"full": 128, "full 512": 512, "full 2048": 2048}
OFFLINE_BATCHES = 8  # batches in the list of texts that a side gets at once
TOKENS_A_TURN = {
    "minilm": 2048,
    "bert_base": 768,
    "bert_mini_books": 4096,
    LONG: 2048,
}
MOST_CALLS = 8
WINDOWS = 16  # different turns; afterwards the first comes again


@dataclass(frozen=True)
class Work:
    """What a side does in one turn.

    Args:
        batches: Lists of strings. Served work is one call a batch.
        offline: Whether all batches are there at once, as one list of strings
            that the side may sort by length.
    """

    batches: list[list[str]]
    offline: bool = False

    def start(self, batches: int) -> "Work":
        """Returns the first batches."""
        return Work(self.batches[:batches], self.offline)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


@dataclass(frozen=True)
class Workload:
    """Turns of the same kind.

    Args:
        model, corpus, batch: What is run on what, in how many rows.
        windows: The work of each turn.
        tokens: Mean tokens a text, [CLS] and [SEP] included.
        cut_at: The most tokens that a text has.
    """

    model: str
    corpus: str
    batch: int
    windows: list[Work]
    tokens: float
    cut_at: int

    @property
    def offline(self) -> bool:
        return self.windows[0].offline

    @property
    def name(self) -> str:
        return f"{self.model} {self.corpus} x {self.batch}"


class Corpora:
    """Reads the corpora once; texts that are too long for a model are left out.

    Args:
        data: Folder with `glue/SST-2/dev.tsv` and `squad/dev-v1.1.json`.
        vocabulary: vocab.txt of the model.
        longest: The most tokens that the model reads.
    """

    def __init__(self, data: Path, vocabulary: Path, longest: int) -> None:
        from tokenizers import BertWordPieceTokenizer

        self._longest = longest
        self._tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        texts = {
            "sst2": _sst2(data / "glue" / "SST-2" / "dev.tsv"),
            "squad": _squad(data / "squad" / "dev-v1.1.json"),
            **{
                name: _full_rows(vocabulary, x)
                for name, x in FULL_ROWS.items()
                if x <= longest
            },
        }
        self._texts = {name: self._measured(x) for name, x in texts.items()}

    def _measured(self, texts: list[str]) -> list[tuple[str, int]]:
        encoded = self._tokenizer.encode_batch(texts)
        lengths = [len(encoding.ids) for encoding in encoded]
        pairs = zip(texts, lengths, strict=True)
        return [(text, length) for text, length in pairs if length <= self._longest]

    def has(self, model: str, corpus: str) -> bool:
        """Whether a model runs the texts: it can read some, and is made for them."""
        made_for = model != LONG or corpus == "full 2048"
        return made_for and bool(self._texts.get(corpus.removeprefix("offline ")))

    def workload(self, model: str, corpus: str, batch: int) -> Workload:
        offline = corpus.startswith("offline ")
        pairs = self._texts[corpus.removeprefix("offline ")]
        lengths = [length for _, length in pairs]
        tokens = sum(lengths) / len(lengths)
        if offline:
            calls = OFFLINE_BATCHES
        else:
            calls = int(TOKENS_A_TURN[model] / (tokens * batch))
        calls = min(max(calls, 1), MOST_CALLS)
        texts = _drawn([text for text, _ in pairs], WINDOWS * calls * batch)
        batches = [texts[i : i + batch] for i in range(0, len(texts), batch)]
        windows = [
            Work(batches[i : i + calls], offline) for i in range(0, len(batches), calls)
        ]
        return Workload(model, corpus, batch, windows, tokens, max(lengths))


def _drawn(texts: list[str], number: int) -> list[str]:
    """Returns texts in random order, each once before any comes again."""
    rng, drawn = random.Random(0), []
    while len(drawn) < number:
        drawn += rng.sample(texts, len(texts))
    return drawn[:number]


def _sst2(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").strip().split("\n")[1:]
    return [line.rsplit("\t", 1)[0] for line in lines]


def sst2(data: Path, number: int) -> list[str]:
    """Returns texts of SST-2's development set."""
    return random.Random(0).sample(_sst2(data / "glue" / "SST-2" / "dev.tsv"), number)


def write_calibration(data: Path, path: Path) -> Path:
    """Writes a file of SST-2's training texts, which no workload has."""
    texts = random.Random(0).sample(_sst2(data / "glue" / "SST-2" / "train.tsv"), 300)
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def _squad(path: Path) -> list[str]:
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    return [x["context"] for article in articles for x in article["paragraphs"]]


def _full_rows(vocabulary: Path, length: int, rows: int = 512) -> list[str]:
    """Returns rows of words that are pieces by themselves."""
    pieces = vocabulary.read_text(encoding="utf-8").split("\n")
    words = [x for x in pieces if x.isascii() and x.isalpha() and len(x) > 1]
    rng = random.Random(0)
    return [" ".join(rng.choices(words, k=length - 2)) for _ in range(rows)]
