"""What an encoder is given: pieces, and the embeddings that are summed."""

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.models.encoder_model import encoder_layers
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.token_offsets import locate, word_begins
from keras_bert_lite.visualization import figures
from keras_bert_lite.visualization.reading import (
    NO_PIECE,
    encoder_and_rows,
    read_row,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# In inches.
WIDTH, MARGIN = 10.0, 1.25  # of a picture, and for the names of its rows
HEIGHT, GAP, STEP = 0.3, 0.06, 0.5  # of a box, between boxes, from row to row
TOP, BETWEEN = 0.45, 0.3  # of what is above the bands, and between them
LETTER, LEAST = 0.085, 0.5  # a character's width, and the least of a box
LIGHT = {
    "piece": "#DCEBF7",
    "special": "#D5D5D5",
    "continued": "#FBE3B5",
    "unknown": "#F3C5A5",
    "id": "#FFFFFF",
    "token": "#F9F3B0",
    "segment 0": "#CDEBDF",
    "segment 1": "#F0D3E2",
    "position": "#EEEEEE",
}


class Box(NamedTuple):
    """A box with a text or a formula; `share` is that of its column which it fills."""

    text: str
    kind: str
    begin: float = 0.0
    share: float = 1.0
    formula: bool = False


class Column(NamedTuple):
    """The boxes of each row that stand above each other, and their width."""

    width: float
    rows: Sequence[Sequence[Box]]


def plot_input(
    model: TextModel | keras.Model | str | os.PathLike,
    text: Any,
    preprocessor: Preprocessor | None = None,
) -> "Figure":
    """Draws the input of an encoder: tokens, and the embeddings that it sums.

    `E` stands for a row of a table of embeddings, its number is below: the id of the
    token, that of the segment, and the position. Families without segments or
    positions have no such row.

    Args:
        model, text, preprocessor: See `attention_maps`.

    Returns:
        A figure.

    Raises:
        ImportError: If matplotlib is not installed.
        TypeError, ValueError: As of `attention_maps`.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> pair = ("my dog is cute", "he likes playing")
    >>> figure = kbl.visualization.plot_input(encoder, pair, preprocessor)
    >>> figure.savefig("input.png")

    Reference: figure 2 of [Devlin et al., 2019](https://arxiv.org/abs/1810.04805).
    """
    encoder, rows = encoder_and_rows(model, preprocessor)
    reading = read_row(rows, text)
    embeddings = encoder_layers(encoder)[0]
    ids, segments = (reading.inputs[x].numpy()[0] for x in ("token_ids", "segment_ids"))
    names = ["tokens", "token\nembeddings"]
    if embeddings.segment_embedding is not None:
        names.append("segment\nembeddings")
    if embeddings.position_embedding is not None:
        names.append("position\nembeddings")
    columns = []
    for i, (id, segment, place) in enumerate(
        zip(ids, segments, reading.places[0], strict=True)
    ):
        token = rows.tokenizer.id_to_token(int(id))
        boxes = {
            "tokens": Box(token, "special" if place == NO_PIECE else "piece"),
            "token\nembeddings": _embedding(id, "token"),
            "segment\nembeddings": _embedding(segment, f"segment {segment}"),
            "position\nembeddings": _embedding(
                i + embeddings.position_offset, "position"
            ),
        }
        columns.append(Column(_width(token), [[boxes[name]] for name in names]))
    return _picture(columns, names, f"{len(ids)} tokens", first_summand=1)


def plot_pieces(tokenizer: Tokenizer, text: str) -> "Figure":
    """Draws the words of a text above the pieces of the vocabulary that spell them.

    Pieces that continue a word are orange, unknown ones red.

    Args:
        tokenizer: A tokenizer.
        text: A string.

    Returns:
        A figure.

    Raises:
        ImportError: If matplotlib is not installed.
        TypeError: If `text` is not a string.

    Example:

    >>> tokenizer = kbl.load_tokenizer("bert_mini_books")
    >>> figure = kbl.visualization.plot_pieces(tokenizer, "He relished tokenization.")
    >>> figure.savefig("pieces.png")
    """
    if not isinstance(text, str):
        raise TypeError(f"`text` must be one string. Received: {text!r}")
    located = locate(tokenizer, tf.constant([text]))
    string = located.text.numpy()[0].decode()
    ids, starts, ends = (
        x.numpy() for x in (located.ids.values, located.starts, located.ends)
    )
    begins = np.flatnonzero(word_begins(tokenizer, located).numpy())
    begins[:1] = 0  # a mark of a space before the first word counts as its piece
    columns = []
    for first, last in itertools.pairwise([*begins, len(ids)]):
        word = string[starts[first:last].min() : ends[first:last].max()]
        pieces = [int(id) for id in ids[first:last]]
        columns.append(_word(tokenizer, word.strip(), pieces))
    title = f"{_count(len(columns), 'word')}, {_count(len(ids), 'piece')}"
    return _picture(columns, ["words", "pieces", "ids"], title)


def _word(tokenizer: Tokenizer, word: str, ids: list[int]) -> Column:
    tokens = [tokenizer.id_to_token(id) for id in ids]
    widths = [_width(token) for token in tokens]
    pieces, numbers, begin = [], [], 0.0
    for i, (id, token, width) in enumerate(zip(ids, tokens, widths, strict=True)):
        unknown = id == tokenizer.unknown_id
        kind = "unknown" if unknown else "continued" if i else "piece"
        share = width / sum(widths)
        pieces.append(Box(token, kind, begin, share))
        numbers.append(Box(str(id), "id", begin, share))
        begin += share
    width = max(sum(widths), _width(word))
    return Column(width, [[Box(word, "special")], pieces, numbers])


def _embedding(row: Any, kind: str) -> Box:
    return Box(f"$E_{{{int(row)}}}$", kind, formula=True)


def _width(text: str) -> float:
    return max(LEAST, LETTER * len(text) + 0.2)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" + "s" * (number != 1)


def _bands(columns: Sequence[Column]) -> Iterator[list[Column]]:
    """Yields as many columns as fit beside each other."""
    band: list[Column] = []
    room = WIDTH - MARGIN
    for column in columns:
        if band and sum(x.width for x in band) + column.width > room:
            yield band
            band = []
        band.append(column)
    if band:
        yield band


def _picture(
    columns: Sequence[Column],
    names: Sequence[str],
    title: str,
    first_summand: int | None = None,
) -> "Figure":
    """Draws columns in bands; a plus stands between the rows from a summand on."""
    bands = list(_bands(columns))
    band_height = STEP * len(names) + BETWEEN
    height = TOP + len(bands) * band_height - BETWEEN
    figure = figures.new_figure(WIDTH, height, layout=None)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    axes.text(MARGIN, 0.2, title, va="center", fontsize=figures.NORMAL)
    for band_number, band in enumerate(bands):
        top = TOP + band_number * band_height
        for row, name in enumerate(names):
            y = top + STEP * row
            axes.text(
                *(MARGIN - 0.12, y + HEIGHT / 2, name),
                ha="right",
                va="center",
                color=figures.GREY,
                fontsize=figures.SMALL,
            )
            x = MARGIN
            for column in band:
                for box in column.rows[row]:
                    left = x + column.width * box.begin
                    _draw(axes, box, left, y, column.width * box.share - GAP)
                if first_summand is not None and row > first_summand:
                    _write(axes, "+", x + (column.width - GAP) / 2, y - 0.1)
                x += column.width
    return figure


def _draw(axes: Any, box: Box, x: float, y: float, width: float) -> None:
    axes.bar(
        *(x, HEIGHT, width, y),
        align="edge",
        color=LIGHT[box.kind],
        edgecolor=figures.GREY,
        linewidth=0.6,
    )
    _write(axes, box.text, x + width / 2, y + HEIGHT / 2, box.formula)


def _write(axes: Any, text: str, x: float, y: float, formula: bool = False) -> None:
    axes.text(
        *(x, y, text),
        ha="center",
        va="center",
        fontsize=figures.NORMAL if formula else 9,
        parse_math=formula,
    )
