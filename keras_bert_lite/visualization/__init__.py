"""A look inside: attention, input, meaning in context, and how far to trust answers.

The pictures are figures of matplotlib (extra `plot`). `keras_bert_lite.explain` says
what an answer comes from.

For scripts that matplotlib's own font lacks, name another before drawing:
`matplotlib.rcParams["font.family"] = ["DejaVu Sans", "Noto Sans CJK JP"]`.
"""

from keras_bert_lite.visualization.attention import AttentionMaps, attention_maps
from keras_bert_lite.visualization.explanation import Explanation
from keras_bert_lite.visualization.input_picture import plot_input, plot_pieces
from keras_bert_lite.visualization.meaning import (
    WordVectors,
    plot_layer_mix,
    plot_map,
    word_vectors,
)
from keras_bert_lite.visualization.scores import plot_confusion, plot_reliability
from keras_bert_lite.visualization.training_curves import plot_history

__all__ = [
    "AttentionMaps",
    "Explanation",
    "WordVectors",
    "attention_maps",
    "plot_confusion",
    "plot_history",
    "plot_input",
    "plot_layer_mix",
    "plot_map",
    "plot_pieces",
    "plot_reliability",
    "word_vectors",
]
