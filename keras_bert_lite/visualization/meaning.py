"""What words mean in their contexts: their vectors, compared and drawn."""

import dataclasses
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_bert_lite.layers import LayerMix
from keras_bert_lite.models.encoder_model import encoder_layers, with_hidden_states
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.visualization import figures
from keras_bert_lite.visualization.reading import (
    Reading,
    encoder_and_rows,
    read_row,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BATCH_SIZE = 32
Span = tuple[int, int]


@dataclasses.dataclass(frozen=True, repr=False)
class WordVectors:
    """The vectors of N words in their sentences; see `word_vectors`.

    Attributes:
        sentences: The N sentences.
        spans: The characters of each word in its sentence, the end exclusive.
        pieces: The pieces of each word.
        static: The token embeddings of the pieces, averaged, float32, `(N, E)`: without
            context, so equal for equal words.
        states: The hidden states of the pieces, averaged, float32, `(N, L + 1, H)`: of
            the embeddings (0) and of the L layers.
    """

    sentences: tuple[str, ...]
    spans: tuple[Span, ...]
    pieces: tuple[tuple[str, ...], ...]
    static: np.ndarray
    states: np.ndarray

    @property
    def words(self) -> tuple[str, ...]:
        """The words, as they stand in their sentences."""
        pairs = zip(self.sentences, self.spans, strict=True)
        return tuple(sentence[start:end] for sentence, (start, end) in pairs)

    def vectors(self, layer: int | None = -1) -> np.ndarray:
        """Returns the vectors of a layer, `(N, H)`.

        Args:
            layer: 0 for the embeddings, 1 to L for the layers, or negative to count
                from the last; `None` for the static vectors, `(N, E)`.

        Raises:
            ValueError: If there is no such layer.
        """
        if layer is None:
            return self.static
        count = self.states.shape[1]
        if not -count <= layer < count:
            raise ValueError(
                f"`layer` must be in [0, {count}), negative to count from the last, or "
                f"None. Received: {layer!r}"
            )
        return self.states[:, layer]

    def similarity(self, layer: int | None = -1) -> np.ndarray:
        """Returns the cosines of the words' vectors, `(N, N)`; see `vectors`."""
        x = self.vectors(layer)
        x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
        return x @ x.T

    def plot_similarity(self, layer: int = -1) -> "Figure":
        """Draws the cosines of the words, static beside those in context.

        Args:
            layer: See `vectors`.
        """
        names = [f"{i + 1} {x}" for i, x in enumerate(self._contexts())]
        numbers = [str(i + 1) for i in range(len(names))]
        count = self.states.shape[1]
        pictures = {
            "without context": self.similarity(None),
            f"in context, layer {layer % count}": self.similarity(layer),
        }
        # Cosines may all be high; the shades show how they differ.
        lowest = min(0.9, *(float(x.min()) for x in pictures.values()))
        size = max(0.42 * len(names), 1.6)
        figure = figures.new_figure(2 * size + 4, size + 0.9)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (title, values) in zip(panels, pictures.items(), strict=True):
            axes.imshow(values, figures.SHADES, vmin=lowest, vmax=1)
            figures.name_rows(axes, names)
            figures.name_columns(axes, numbers)
            texts = [[f"{x:.2f}" for x in row] for row in values]
            figures.write_values(axes, (values - lowest) / (1 - lowest), texts)
            axes.set_title(title, fontsize=figures.NORMAL)
        panels[1].tick_params(axis="y", left=False)
        return figure

    def __repr__(self) -> str:
        return f"<WordVectors: {list(self.words)}>"

    def _contexts(self) -> list[str]:
        """Returns the words between brackets, with what is next to them."""
        return [
            f"{figures.ending(sentence[:start])}[{sentence[start:end]}]"
            f"{figures.short(sentence[end:], 18)}"
            for sentence, (start, end) in zip(self.sentences, self.spans, strict=True)
        ]


def word_vectors(
    model: TextModel | keras.Model | str | os.PathLike,
    sentences: Sequence[str],
    words: str | Sequence[str | Span],
    preprocessor: Preprocessor | None = None,
) -> WordVectors:
    """Computes the vectors of a word in each of several sentences, on every layer.

    Args:
        model, preprocessor: See `attention_maps`.
        sentences: N strings.
        words: A word that every sentence has, or one for each: a string, whose first
            occurrence counts, in upper or lower case; or its characters
            `(start, end)`, the end exclusive.

    Returns:
        `WordVectors`: of the pieces that a word has characters in, the mean.

    Raises:
        TypeError: If a sentence is not a string, or as of `attention_maps`.
        ValueError: If a sentence lacks its word, or was cut off before it.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> found = kbl.visualization.word_vectors(
    ...     encoder,
    ...     ["We sat on the bank of the river.", "The bank lent them money."],
    ...     "bank",
    ...     preprocessor,
    ... )
    >>> found.vectors(layer=-1).shape
    (2, 256)
    >>> bool(found.similarity(None)[0, 1] > found.similarity(-1)[0, 1])
    True
    """
    if isinstance(sentences, str) or not len(sentences):
        raise ValueError(
            f"`sentences` must be a list of strings. Received: {sentences!r}"
        )
    given = [words] * len(sentences) if isinstance(words, str) else list(words)
    if len(given) != len(sentences):
        raise ValueError(
            "`words` must be one word, or one for each sentence. "
            f"Received: {len(given)} for {len(sentences)} sentences"
        )
    encoder, rows = encoder_and_rows(model, preprocessor)
    readings = [read_row(rows, sentence) for sentence in sentences]
    spans = [_span(x.texts[0], word) for x, word in zip(readings, given, strict=True)]
    columns = [_columns(x, span) for x, span in zip(readings, spans, strict=True)]
    states_model = with_hidden_states(encoder, attentions=False)
    look_up = encoder_layers(encoder)[0].token_vectors
    static, states, pieces = [], [], []
    for begin in range(0, len(readings), BATCH_SIZE):
        batch = slice(begin, begin + BATCH_SIZE)
        inputs = rows([x.texts[0] for x in readings[batch]])
        tables = np.asarray(look_up(inputs["token_ids"]), "float32")
        hidden = states_model(inputs, training=False)["hidden_states"]
        hidden = np.stack([np.asarray(x, "float32") for x in hidden], axis=1)
        for i, places in enumerate(columns[batch]):
            static.append(tables[i, places].mean(axis=0))
            states.append(hidden[i, :, places].mean(axis=0))
    for reading, places in zip(readings, columns, strict=True):
        found = reading.places[0, places]
        pieces.append(tuple(reading.pieces[x].token for x in found))
    return WordVectors(
        sentences=tuple(x.texts[0] for x in readings),
        spans=tuple(spans),
        pieces=tuple(pieces),
        static=np.stack(static),
        states=np.stack(states),
    )


def _span(sentence: str, word: str | Span) -> Span:
    """Returns the characters of a word in a sentence."""
    if isinstance(word, str):
        pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
        found = re.search(pattern, sentence, re.IGNORECASE)
        if not word or found is None:
            raise ValueError(
                f"`words` must stand in their sentences. Received: {word!r}, for "
                f"{sentence!r}"
            )
        return found.span()
    start, end = word
    if not 0 <= start < end <= len(sentence):
        raise ValueError(
            "`words` must be strings, or characters `(start, end)` of the sentence, "
            f"end exclusive. Received: {word!r}, for {len(sentence)} characters"
        )
    return int(start), int(end)


def _columns(reading: Reading, span: Span) -> list[int]:
    """Returns the columns of the pieces that have characters of a span."""
    start, end = span
    wanted = {
        i
        for i, piece in enumerate(reading.pieces)
        if piece.start < end and piece.end > start
    }
    found = [i for i, place in enumerate(reading.places[0]) if place in wanted]
    if not wanted or len(found) < len(wanted):
        word = reading.texts[0][start:end]
        raise ValueError(
            "`words` must have pieces, and stand before the place where the "
            f"preprocessor cuts a sentence off. Received: {word!r} at {span}"
        )
    return found


def plot_map(
    vectors: Any, labels: Sequence[str], groups: Sequence[str] | None = None
) -> "Figure":
    """Draws vectors as points of a plane, by their two principal components.

    Args:
        vectors: Numbers `(N, H)`, N at least 3.
        labels: The N names of the points.
        groups: What colour and form of each point stand for; `None` for no groups.

    Returns:
        A figure. The axes say which share of the variance they show.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the sizes do not match.

    Example:

    >>> names = ["red", "green", "dog", "cat"]
    >>> vectors = np.array([[1, 0.1, 0], [0.9, 0, 0.2], [0, 1, 0.1], [0.1, 0.9, 0]])
    >>> kinds = ["colour", "colour", "animal", "animal"]
    >>> figure = kbl.visualization.plot_map(vectors, names, kinds)
    >>> figure.savefig("map.png")
    """
    x = np.asarray(vectors, "float64")
    if x.ndim != 2 or len(x) < 3 or min(x.shape) < 2:
        raise ValueError(
            "`vectors` must have the shape (N, H), N at least 3 and H at least 2. "
            f"Received: {x.shape}"
        )
    for name, given in (("labels", labels), ("groups", groups)):
        if given is not None and len(given) != len(x):
            raise ValueError(
                f"`{name}` must be as many as the vectors, {len(x)}. "
                f"Received: {len(given)}"
            )
    from sklearn.decomposition import PCA  # slow to import

    pca = PCA(2)
    points = pca.fit_transform(x)
    figure = figures.new_figure(7.5, 5.5)
    axes = figure.subplots()
    kinds = np.array(["" if groups is None else str(g) for g in groups or labels])
    for i, kind in enumerate(dict.fromkeys(kinds.tolist())):
        colour, marker = figures.look(i)
        axes.scatter(*points[kinds == kind].T, color=colour, marker=marker, label=kind)
    across, up = pca.explained_variance_ratio_
    axes.set(
        xlabel=f"first component ({across:.0%} of the variance)",
        ylabel=f"second component ({up:.0%})",
    )
    axes.margins(0.15)
    axes.spines[["top", "right"]].set_visible(False)
    if groups is not None:
        figure.legend(loc="outside right upper", frameon=False)
    figures.label_points(axes, points, [figures.short(x, 24) for x in labels])
    return figure


def plot_layer_mix(mix: LayerMix) -> "Figure":
    """Draws each layer's share in a learned mix; dashed, an equal share.

    Args:
        mix: A `layers.LayerMix` of a model's hidden states.

    Returns:
        A figure.

    Raises:
        ImportError: If matplotlib is not installed.
        TypeError: If `mix` is no `LayerMix`.

    Example:

    >>> mix = kbl.layers.LayerMix()
    >>> mixed = mix([np.ones((1, 2, 4)), np.ones((1, 2, 4))])
    >>> figure = kbl.visualization.plot_layer_mix(mix)
    >>> figure.savefig("mix.png")
    """
    if not isinstance(mix, LayerMix):
        raise TypeError(f"`mix` must be a `layers.LayerMix`. Received: {mix!r}")
    shares = mix.shares()
    figure = figures.new_figure(1.5 + 0.5 * len(shares), 2.8)
    axes = figure.subplots()
    bars = axes.bar(range(len(shares)), shares, color=figures.BLUE)
    axes.bar_label(bars, [f"{x:.2f}" for x in shares], fontsize=figures.SMALL)
    axes.axhline(1 / len(shares), color=figures.GREY, linestyle="--", linewidth=1)
    axes.set_xticks(range(len(shares)))
    axes.set(xlabel="layer (0: embeddings)", ylabel="share")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
