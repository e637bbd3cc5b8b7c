"""What the heads of an encoder attend to."""

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_bert_lite.models.encoder_model import with_hidden_states
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.visualization import attention_page, figures
from keras_bert_lite.visualization.reading import (
    NO_PIECE,
    encoder_and_rows,
    read_row,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAINTEST = 0.02  # weights below which a line is not drawn


@dataclasses.dataclass(frozen=True, repr=False)
class AttentionMaps:
    """The attention weights of all heads for one text or pair; see `attention_maps`.

    A notebook shows it as the page that `to_html` returns.

    Attributes:
        texts: The text, or the two of a pair.
        tokens: The S tokens of the row, special tokens included.
        segments: The segment of each token, `(S,)`.
        special: Which tokens are special ones, bool, `(S,)`.
        weights: float32, `(L, N, S, S)`: how much, in each of L layers and N heads,
            each token (axis 2) takes from each (axis 3). A row sums to 1.
    """

    texts: tuple[str, ...]
    tokens: tuple[str, ...]
    segments: np.ndarray
    special: np.ndarray
    weights: np.ndarray

    def head(self, layer: int, head: int | None = None) -> np.ndarray:
        """Returns the weights of one head, or the mean of a layer's heads, `(S, S)`.

        Args:
            layer: The index of a layer, from 0; negative ones count from the last.
            head: The index of a head; `None` for the mean.

        Raises:
            ValueError: If there is no such layer or head.
        """
        num_layers, num_heads = self.weights.shape[:2]
        _check_index("layer", layer, num_layers)
        if head is None:
            return self.weights[layer].mean(axis=0)
        _check_index("head", head, num_heads)
        return self.weights[layer, head]

    def plot_grid(self) -> "Figure":
        """Draws all heads, a row a layer: in each square, from tokens to tokens."""
        num_layers, num_heads, size, _ = self.weights.shape
        cells = np.full((num_layers, size + 1, num_heads, size + 1), np.nan)
        cells[:, :size, :, :size] = self.weights.transpose(0, 2, 1, 3)
        image = cells.reshape(num_layers * (size + 1), -1)[:-1, :-1]
        figure = figures.new_figure(1.4 + 0.8 * num_heads, 0.9 + 0.8 * num_layers)
        axes = figure.subplots()
        # The root makes small weights visible.
        drawn = axes.imshow(
            np.sqrt(image), figures.SHADES, vmin=0, vmax=1, interpolation="nearest"
        )
        for side in axes.spines.values():
            side.set_visible(False)
        axes.set_facecolor("#BBBBBB")
        middle = (size - 1) / 2
        axes.set_xticks(np.arange(num_heads) * (size + 1) + middle, range(num_heads))
        axes.set_yticks(np.arange(num_layers) * (size + 1) + middle, range(num_layers))
        axes.tick_params(length=0)
        axes.set(xlabel="head", ylabel="layer")
        axes.set_title(
            f"{size} tokens; in each square, a row shows what a token attends to",
            fontsize=figures.NORMAL,
        )
        _weight_bar(figure, drawn, axes)
        return figure

    def plot_head(self, layer: int, head: int | None = None) -> "Figure":
        """Draws one head, or the mean of a layer's, as a square of weights.

        Args:
            layer, head: See `head`.
        """
        weights = self.head(layer, head)
        size = 0.25 * len(self.tokens)
        figure = figures.new_figure(size + 2.4, size + 1.6)
        axes = figure.subplots()
        drawn = axes.imshow(np.sqrt(weights), figures.SHADES, vmin=0, vmax=1)
        figures.name_rows(axes, self.tokens)
        figures.name_columns(axes, self.tokens)
        axes.set_title(self._title(layer, head), fontsize=figures.NORMAL)
        axes.set(xlabel="attended to", ylabel="from")
        axes.xaxis.set_label_position("bottom")
        _weight_bar(figure, drawn, axes)
        return figure

    def plot_lines(
        self, layer: int, head: int | None = None, token: int | None = None
    ) -> "Figure":
        """Draws one head, or the mean of a layer's, as lines from token to token.

        The stronger a line, the greater its weight; those below 0.02 are left out.

        Args:
            layer, head: See `head`.
            token: The index of the token whose lines are drawn; `None` for all.

        Raises:
            ValueError: If there is no such layer, head or token.

        Reference: the head view of [Vig, 2019](https://arxiv.org/abs/1906.05714).
        """
        weights, size = self.head(layer, head), len(self.tokens)
        if token is not None:
            _check_index("token", token, size)
            kept = np.arange(size) == token % size
            weights = np.where(kept[:, None], weights, 0)
        figure = figures.new_figure(6, 1 + 0.24 * size)
        axes = figure.subplots()
        for i, j in np.argwhere(weights >= FAINTEST):
            axes.plot(
                (0, 1), (i, j), color=figures.BLUE, linewidth=2, alpha=weights[i, j]
            )
        for i, name in enumerate(self.tokens):
            chosen = token is not None and i == token % size
            style = {"va": "center", "fontsize": figures.NORMAL, "parse_math": False}
            weight = "bold" if chosen else "normal"
            axes.text(-0.02, i, name, ha="right", fontweight=weight, **style)
            axes.text(1.02, i, name, ha="left", **style)
        axes.set(xlim=(-0.6, 1.6), ylim=(size - 0.4, -1.6))
        for x, side, name in ((-0.02, "right", "from"), (1.02, "left", "attended to")):
            axes.text(x, -1.1, name, ha=side, va="center", color=figures.GREY)
        axes.set_axis_off()
        axes.set_title(self._title(layer, head), fontsize=figures.NORMAL)
        return figure

    def to_html(self) -> str:
        """Returns a page in HTML, which needs no other file and no network.

        It shows all heads and one of them large, with a choice of layer and head, by
        mouse or keyboard. Weights are rounded to 1/255. Its size grows with the
        square of S: for 144 heads 0.2 MB with 30 tokens, 3 MB with 128.
        """
        return attention_page.page(self)

    def _title(self, layer: int, head: int | None) -> str:
        num_layers, num_heads = self.weights.shape[:2]
        name = "mean of the heads" if head is None else f"head {head % num_heads}"
        return f"layer {layer % num_layers}, {name}"

    def __repr__(self) -> str:
        num_layers, num_heads, size, _ = self.weights.shape
        return f"<AttentionMaps: {num_layers} layers, {num_heads} heads, {size} tokens>"

    def _repr_html_(self) -> str:
        return attention_page.frame(self)


def attention_maps(
    model: TextModel | keras.Model | str | os.PathLike,
    text: Any,
    preprocessor: Preprocessor | None = None,
) -> AttentionMaps:
    """Computes the attention weights of every layer and head for a text.

    Args:
        model: A model that takes strings, made by `with_text`, or its file, or the
            directory of a run of `finetune`; or an encoder, or any model with an
            encoder, on token ids.
        text: A string, or for a pair a tuple of two strings or a dictionary of `text`
            and `text_pair`. What exceeds the preprocessor's `sequence_length` is cut
            off.
        preprocessor: That of a model on token ids.

    Returns:
        `AttentionMaps`, with pictures as methods. Attention says where a head takes
        its vectors from, not why the model answers as it does; for that, see
        `keras_bert_lite.explain`.

    Raises:
        TypeError: If a model on token ids comes without a preprocessor, or the text is
            no string.
        ValueError: If the model contains no encoder, or its preprocessor does not fit.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> maps = kbl.visualization.attention_maps(encoder, "a fine day", preprocessor)
    >>> maps.tokens
    ('[CLS]', 'a', 'fine', 'day', '[SEP]')
    >>> maps.weights.shape
    (6, 8, 5, 5)
    >>> page = maps.to_html()
    """
    encoder, rows = encoder_and_rows(model, preprocessor)
    reading = read_row(rows, text)
    outputs = with_hidden_states(encoder, hidden_states=False)(
        reading.inputs, training=False
    )
    weights = [np.asarray(x, "float32")[0] for x in outputs["attentions"]]
    ids = reading.inputs["token_ids"].numpy()[0]
    return AttentionMaps(
        texts=reading.texts,
        tokens=tuple(rows.tokenizer.id_to_token(int(id)) for id in ids),
        segments=reading.inputs["segment_ids"].numpy()[0],
        special=reading.places[0] == NO_PIECE,
        weights=np.stack(weights),
    )


def _check_index(name: str, index: int, size: int) -> None:
    if not -size <= index < size:
        raise ValueError(
            f"`{name}` must be in [0, {size}), or negative to count from the last. "
            f"Received: {index!r}"
        )


def _weight_bar(figure: Any, drawn: Any, axes: Any) -> None:
    """Says which shade is which weight; the shades are those of the root."""
    weights = (0, 0.1, 0.25, 0.5, 1)
    bar = figure.colorbar(drawn, ax=axes, shrink=0.6, label="weight")
    bar.set_ticks(np.sqrt(weights), labels=[str(x) for x in weights])
