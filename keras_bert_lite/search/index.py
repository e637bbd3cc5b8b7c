"""Indexes: a corpus, its vectors and words, and the search, in one SavedModel."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from keras_bert_lite._files import check_directory, draft_directory
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice, check_positive, check_share
from keras_bert_lite.layers.unit_normalization import unit_vectors
from keras_bert_lite.search.corpus import ID, Corpus, read_corpus
from keras_bert_lite.search.encoding import (
    Encode,
    checked_vectors,
    corpus_vectors,
    unit,
    warn_of_cut_texts,
)
from keras_bert_lite.search.graph import Form, Search
from keras_bert_lite.search.models import text_encoder, text_ranker
from keras_bert_lite.search.vectors import PRECISIONS, vector_table
from keras_bert_lite.search.weight import FOUND, WEIGHT, best_weight
from keras_bert_lite.search.words import word_table
from keras_bert_lite.serving.saved_model.export import in_fewer_bits
from keras_bert_lite.serving.saved_model.exported_signatures import (
    signatures_of,
    traced,
)
from keras_bert_lite.serving.saved_model.metadata import write_metadata
from keras_bert_lite.serving.saved_model.versions import publish, version_path
from keras_bert_lite.tasks.sentence_embedding import DOCUMENT, EMBEDDING, QUERY
from keras_bert_lite.tasks.task import options_of
from keras_bert_lite.tasks.text_model import TextModel, model_on_ids
from keras_bert_lite.tasks.text_parts import preprocessor_of
from keras_bert_lite.text.inputs import CANDIDATES, PROMPT, TEXT
from keras_bert_lite.text.text_layer import require_tensorflow
from keras_bert_lite.training.data.readers.read import Reading
from keras_bert_lite.training.data.retrieval import RetrievalSet, retrieval_set
from keras_bert_lite.training.resume.state import weights_digest

SEARCH = "search"  # of the metadata, and the name of the signature
CALIBRATION = 512  # texts by which an encoder in int8 is calibrated
Arrays = dict[str, Any]  # of an index, by name, nested


def index(
    encoder: TextModel | str | os.PathLike,
    texts: Any,
    directory: str | os.PathLike,
    *,
    ids: Sequence[ID] | None = None,
    vectors: np.ndarray | str | os.PathLike | None = None,
    hybrid: bool = False,
    weight: float | None = None,
    judged: Any = None,
    ranker: TextModel | str | os.PathLike | None = None,
    rerank: int = 20,
    ranker_weight: float = 0.5,
    k: int = 10,
    probes: int | None = None,
    precision: str = "float32",
    int8: bool = False,
    batch_size: int = 32,
    version: int | None = None,
    verbose: int = 1,
    **reading: Unpack[Reading],
) -> Path:
    """Writes a SavedModel that searches a corpus, for TF Serving.

    It needs only operations of stock servers, and has these signatures:

    - `search`, which is also `serving_default`: from `text`, strings `(B,)`, to the
      best texts, the best first: `ids`, int64 or strings, `texts` and `scores`,
      float32, `(B, k)` each. Where there are fewer, the id is -1 (or empty), the text
      empty and the score -inf; a query of nothing but spaces finds none;
    - `embed`: from `text` (and `prompt_name`, if the encoder has prompts) to
      `sentence_embedding`, `(B, H)`;
    - `rerank`, with a ranker: from `text` and `candidates`, `(B, C)`, to `scores`,
      `order` and `best`.

    Scores are cosines; in a hybrid search, the weighted sum of the cosine and BM25's
    score, each less its mean over all texts and divided by its standard deviation. With
    a ranker, its score and the search's are added up in the same way, over the texts
    that it read.

    The corpus is encoded in parts, in a hidden folder of `directory`: what was
    interrupted goes on when it is called again with the same arguments. Old versions
    stay as they are, and the new one appears when it is whole.

    Args:
        encoder: A `sentence_encoder` that takes strings, the directory of a run, or a
            source as in `load_model`. If it has prompts, queries begin with the one
            called `query`, texts with `document`, `passage` or `corpus`.
        texts: The corpus: texts in a list; texts by their ids; or a file: BEIR's
            `corpus.jsonl`, another that `data.read` reads, with the columns `text` and
            perhaps `id`, or one of a text per line. It is held in memory.
        directory: The model's directory; the version becomes a folder in it.
        ids: The ids of texts without ids: all strings, or all numbers from 0. `None`:
            their places in the corpus.
        vectors: Vectors of the texts, made elsewhere by the same encoder: an array
            `(N, H)` or an `.npy` file. A sample is encoded again to check them. `None`:
            the texts are encoded.
        hybrid: Whether words count too, by BM25.
        weight: The share of the vectors' score in a hybrid search, from 0 to 1. `None`:
            the one that suits `judged` best, or 0.6, which did on the Cranfield
            collection (`benchmarks.hybrid_weight`).
        judged: Judged queries about the corpus: a `data.RetrievalSet`, or a path that
            `data.read_beir` reads, whose ids are those of the index. `None`: there are
            none.
        ranker: A `ranker` that takes strings, the directory of a run, or a source as in
            `load_model`: it puts the best texts in order.
        rerank: How many texts the ranker reads for a query.
        ranker_weight: The share of the ranker's score, from 0 to 1. With 1, the order
            and the scores are the ranker's alone, as suits one that was trained on many
            queries.
        k: How many texts a search returns.
        probes: Sorts the vectors into inverted lists, the square root of their number,
            and searches only so many of them, those nearest to the query. That is
            faster, and misses some texts. `None`: all vectors are compared.
        precision: How vectors are stored: `"float32"`, `"float16"` or `"int8"`.
        int8: Whether the encoder multiplies in int8, calibrated on some of the texts,
            of which there must be 16 at least; see `export_saved_model`. Texts are
            encoded faster, queries too; the ranker stays as it is.
        batch_size: Texts that are encoded at once.
        version: A positive number; `None` uses the next free one.
        verbose: 1 shows a progress bar, 0 nothing.
        **reading: Options of `data.read`, if `texts` is a file that it reads.

    Returns:
        The path of the new version.

    Warns:
        TruncationWarning: If texts are longer than the encoder reads.

    Raises:
        BlockingIOError: If another process makes the same index in `directory`.
        FileExistsError: If the version exists.
        NotFinite: If a vector is NaN or infinite.
        NotImplementedError: If the backend is not TensorFlow.
        ValueError: If an argument, a text or an id is invalid, or `vectors` are not
            those of the encoder, or the encoder has prompts and takes no
            `prompt_name`.

    Example:

    >>> encoder = kbl.sentence_encoder(kbl.load_encoder("bert_mini_books"))
    >>> model = kbl.with_text(encoder, kbl.load_preprocessor("bert_mini_books"))
    >>> texts = ["It rains all day.", "She is a doctor.", "He ate an apple."]
    >>> path = kbl.search.index(model, texts, "indexes/days", k=1, verbose=0)
    >>> kbl.search.load(path).search(["the rain"])["texts"].tolist()
    [['It rains all day.']]

    Reference: [Jegou et al., 2011](https://doi.org/10.1109/TPAMI.2010.57), inverted
    lists; for BM25 see `data.mine_negatives`.
    """
    require_tensorflow("`index`")
    check_positive("k", k)
    check_positive("batch_size", batch_size)
    check_choice("precision", precision, PRECISIONS)
    if probes is not None:
        check_positive("probes", probes)
    check_share("ranker_weight", ranker_weight)
    if weight is not None:
        check_share("weight", weight)
        if not hybrid:
            raise ValueError(
                f"`weight` must be None unless `hybrid` is True. Received: {weight}"
            )
    folder = Path(directory)
    check_directory(folder)
    name = version_path(folder, version).name
    corpus = read_corpus(texts, ids, reading)
    queries = None if judged is None else _judged(judged, hybrid, weight, corpus)
    model = text_encoder(encoder)
    _check_prompts(model)
    reranker = None if ranker is None else text_ranker(ranker)
    if reranker is not None:
        check_positive("rerank", rerank)
        if rerank < k:
            raise ValueError(f"`rerank` must be at least `k`, {k}. Received: {rerank}")
    lists = 1 if probes is None else max(1, round(len(corpus.texts) ** 0.5))
    form = Form(
        k=k,
        probes=0 if probes is None else min(probes, lists),
        hybrid=hybrid,
        rerank=0 if reranker is None else rerank,
        ranker_weight=ranker_weight,
    )
    served, variables = model_to_serve(model, int8, corpus.texts)
    embed = signatures_of(served)["serving_default"]
    encode = encoder_of_texts(embed, _prompt(model, DOCUMENT), batch_size)
    width = model.output[EMBEDDING].shape[-1]

    def written(made: np.ndarray) -> Path:
        share = (WEIGHT if weight is None else weight) if hybrid else None
        arrays = index_arrays(corpus, made, precision, lists, share)
        with draft_directory(folder, name) as draft:
            parts = (model, reranker, embed, truncates)
            _write(draft, *parts, variables, form, arrays, queries)
            return publish(draft, folder, version)

    truncates = _truncates(model)
    warn_of_cut_texts(corpus.texts, truncates, preprocessor_of(model).sequence_length)
    if vectors is not None:
        return written(checked_vectors(vectors, corpus.texts, encode, width))
    key = [weights_digest(model), options_of(model_on_ids(model)), width]
    key += [_nameless(preprocessor_of(model).get_config()), _prompt(model, DOCUMENT)]
    key.append(int8)
    options = (width, json.dumps(key, default=str), folder, bool(verbose))
    with corpus_vectors(corpus.texts, encode, *options) as made:
        return written(made)


def model_to_serve(
    model: TextModel, int8: bool, texts: Sequence[str]
) -> tuple[TextModel, list[Any]]:
    """Returns the model whose signatures an index has, and what it has to track."""
    calibration = None
    if int8:
        from keras_bert_lite.serving.saved_model.int8.calibration import FEWEST

        places = np.linspace(0, len(texts) - 1, CALIBRATION).astype(int)
        calibration = [texts[i] for i in np.unique(places)]
        if len({*calibration}) < FEWEST:
            raise ValueError(
                f"`int8` must be False for fewer than {FEWEST} different texts. "
                f"Received: {len({*texts})}"
            )
    options = {"calibration": calibration, "keep": None}
    served, weights, others = in_fewer_bits(model, None, int8, verbose=0, **options)
    return served, [*weights, *others]


def _nameless(config: Any) -> Any:
    """Returns a configuration without the names of layers, which Keras counts up."""
    if isinstance(config, dict):
        return {x: _nameless(y) for x, y in config.items() if x != "name"}
    return config


def _judged(
    judged: Any, hybrid: bool, weight: float | None, corpus: Corpus
) -> RetrievalSet:
    if not hybrid or weight is not None:
        raise ValueError(
            "`judged` must be None unless `hybrid` is True and `weight` is None, which "
            f"it chooses. Received: {type(judged).__name__}"
        )
    data = retrieval_set(judged)
    if data is None:
        raise ValueError(
            "`judged` must be a `data.RetrievalSet` or a path of BEIR's files. "
            f"Received: {judged!r:.200}"
        )
    named = {x for query in data.answerable for x in data.judgements[query]}
    if unknown := sorted(named - {str(x) for x in corpus.ids})[:3]:
        raise ValueError(
            "`judged` must judge texts of the index, by their ids. "
            f"Received: the ids {unknown}, which it has not"
        )
    return data


def index_arrays(
    corpus: Corpus,
    vectors: np.ndarray,
    precision: str,
    lists: int,
    weight: float | None,
) -> Arrays:
    """Returns all that an index holds besides its models.

    Args:
        corpus, vectors: The texts and their vectors.
        precision, lists: See `vector_table`.
        weight: Of vectors beside words; `None`: words do not count.
    """
    arrays: Arrays = {
        # Strings not as NumPy's, which give each the room of the longest.
        "ids": np.array(corpus.ids, object if corpus.named else np.int64),
        "texts": np.array(corpus.texts, object),
        "vectors": vector_table(vectors, precision, lists),
    }
    if weight is not None:
        arrays["words"] = word_table(corpus.texts)
        arrays["weight"] = np.float32(weight)
    return arrays


def _check_prompts(model: TextModel) -> None:
    preprocessor, body = preprocessor_of(model), model_on_ids(model)
    named = preprocessor.prompt_for((*QUERY, *DOCUMENT))
    # Texts of which a prompt is left out of the pooling begin with the same one.
    fixed = options_of(body).get("prompt_length")
    if named and not fixed and PROMPT not in model.input:
        raise ValueError(
            f"`encoder` must take the names of its prompts, {[*preprocessor.prompts]}: "
            "make it by `with_text(..., prompt_name=True)`. Received: one that takes "
            f"{[*model.input]}"
        )


def _prompt(model: TextModel, names: Sequence[str]) -> str | None:
    """Returns the name of a prompt for a model that takes one."""
    takes = PROMPT in model.input
    return preprocessor_of(model).prompt_for(names) if takes else None


def _truncates(model: TextModel) -> Callable:
    """Returns a function from texts `(B,)` to which of them are cut, booleans."""
    preprocessor, prompt = preprocessor_of(model), _prompt(model, DOCUMENT)

    def truncates(text):
        segments, _ = preprocessor.segments(_inputs(text, prompt))
        return preprocessor.truncates(segments)

    return tf.function(truncates, [tf.TensorSpec([None], tf.string)], autograph=False)


def encoder_of_texts(embed: Callable, prompt: str | None, batch_size: int) -> Encode:
    """Returns a function from texts to their vectors of length 1, float32 `(N, H)`."""

    def encode(texts: Sequence[str]) -> np.ndarray:
        order = np.argsort([len(text) for text in texts], kind="stable")
        parts = []
        for start in range(0, len(order), batch_size):
            batch = [texts[i] for i in order[start : start + batch_size]]
            found = embed(**_inputs(tf.constant(batch), prompt))
            parts.append(unit(found[EMBEDDING].numpy()))
        return np.concatenate(parts)[np.argsort(order)]

    return encode


def _inputs(text: tf.Tensor, prompt: str | None) -> dict[str, tf.Tensor]:
    if prompt is None:
        return {TEXT: text}
    return {TEXT: text, PROMPT: tf.fill(tf.shape(text), prompt)}


def _write(
    draft: Path,
    model: TextModel,
    reranker: TextModel | None,
    embed: Callable,
    truncates: Callable,
    variables: list[Any],
    form: Form,
    arrays: Arrays,
    judged: RetrievalSet | None,
) -> None:
    module = tf.Module()
    module.index, module.truncates = _variables(arrays), truncates
    module.encoder = variables
    prompt = _prompt(model, QUERY)
    signatures = {"embed": embed}
    if reranker is not None:
        module.ranker = [x.value for x in reranker.variables]
        signatures["rerank"] = signatures_of(reranker)["serving_default"]

    def vectors_of(text: tf.Tensor) -> tf.Tensor:
        vectors = embed(**_inputs(text, prompt))[EMBEDDING]
        return unit_vectors(tf.cast(vectors, tf.float32))

    def scores_of(text: tf.Tensor, candidates: tf.Tensor) -> tf.Tensor:
        return signatures["rerank"](**{TEXT: text, CANDIDATES: candidates})["scores"]

    rank = None if reranker is None else scores_of
    search = Search(form, module.index, vectors_of, rank)
    if judged is not None:
        weight, ids = module.index["weight"], arrays["ids"].tolist()
        find = tf.function(lambda text, vectors: search.find(text, vectors, FOUND)[0])
        weight.assign(best_weight(find, tf.function(vectors_of), weight, ids, judged))
    signatures[SEARCH] = traced(search, text=tf.TensorSpec([None], tf.string, TEXT))
    signatures["serving_default"] = signatures[SEARCH]
    tf.saved_model.save(module, str(draft), signatures=signatures)
    about = {**dataclasses.asdict(form), "prompt": _prompt(model, DOCUMENT)}
    write_metadata(draft, model, **{SEARCH: {**about, **corpus_counts(arrays["ids"])}})


def corpus_counts(ids: Sequence[ID], least: int = 0) -> dict[str, int]:
    """Returns what the metadata say of a corpus.

    Args:
        ids: The ids.
        least: The next number that a text without an id gets, at least.
    """
    numbers = (int(x) + 1 for x in ids if not isinstance(x, str))
    return {"texts": len(ids), "next_number": max((least, *numbers))}


def tensor_of(array: np.ndarray) -> tf.Tensor:
    return tf.constant(array.tolist() if array.dtype.kind in "UO" else array)


def _variables(arrays: Any) -> Any:
    """Returns arrays as variables, whose first axis may have any length later."""
    if isinstance(arrays, dict):
        return {name: _variables(x) for name, x in arrays.items()}
    value = tensor_of(arrays)
    shape = value.shape if not value.shape.rank else [None, *value.shape[1:]]
    return tf.Variable(value, trainable=False, shape=shape)
