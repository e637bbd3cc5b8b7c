"""Search: the texts of a corpus that fit a query, by vectors and by words."""

from keras_bert_lite.search.index import index
from keras_bert_lite.search.load import Index, load, search

__all__ = ["Index", "index", "load", "search"]
