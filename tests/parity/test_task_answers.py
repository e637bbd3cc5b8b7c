"""Answers, windows and data sets of tasks against transformers on real text."""

import functools
import json

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.tagging import to_bio
from keras_bert_lite.text.window_layer import TextWindows
from keras_bert_lite.training.data.questions import question_dataset
from keras_bert_lite.training.data.tokens import token_dataset
from tests.training.data.files import DATA

VOCABULARY = DATA / "vocabularies" / "bert-base-uncased" / "vocab.txt"
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(
        not VOCABULARY.is_file(),
        reason=f"{DATA} has no vocabularies; KERAS_BERT_LITE_DATA names the folder",
    ),
]
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
LENGTH, STRIDE = 64, 16
LABELS = ["O", *(f"{p}-{t}" for t in ("LOC", "MISC", "ORG", "PER") for p in "BI")]
SIZES = {
    "vocab_size": 30522,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.5,
}


@functools.cache
def theirs():
    words = VOCABULARY.read_text(encoding="utf-8").splitlines()
    vocab = {word: i for i, word in enumerate(words)}
    return transformers.BertTokenizerFast(vocab=vocab, do_lower_case=True)


@functools.cache
def ours(**options):
    return kbl.WordPieceTokenizer(VOCABULARY, **options)


def preprocessor(length=LENGTH, stride=STRIDE, **options):
    return kbl.Preprocessor(ours(**options), length, stride=stride)


@functools.cache
def squad(count=100):
    """Questions spread over the articles; some of 2.0 have no answer."""
    data = json.loads((DATA / "squad" / "dev-v2.0.json").read_text(encoding="utf-8"))
    rows = [
        (paragraph["context"], question)
        for article in data["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    return [
        {
            "question": question["question"],
            "context": context,
            "answers": {
                name: [answer[name] for answer in question["answers"]]
                for name in ("text", "answer_start")
            },
        }
        for context, question in rows[:: len(rows) // count][:count]
    ]


@functools.cache
def conll(count=100):
    text = (DATA / "conll2003" / "eng.testa").read_text(encoding="utf-8")
    found = []
    for block in text.split("\n\n"):
        lines = [line.split() for line in block.splitlines() if line]
        if lines and lines[0][0] != "-DOCSTART-":
            tags = to_bio([line[-1] for line in lines])
            found.append({"words": [line[0] for line in lines], "tags": tags})
    return found[:: len(found) // count][:count]


def features_of(records):
    """Windows as run_qa.py makes them, with what each is from."""
    return theirs()(
        [x["question"].lstrip() for x in records],
        [x["context"] for x in records],
        truncation="only_second",
        max_length=LENGTH,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )


def real_rows(ids):
    masks = ids["padding_mask"].numpy()
    pairs = zip(ids["token_ids"].numpy(), masks, strict=True)
    return [row[mask].tolist() for row, mask in pairs]


def checkpoint(name, folder, **config):
    torch.manual_seed(0)
    model_class = getattr(transformers, f"BertFor{name}")
    model = model_class(transformers.BertConfig(**SIZES, **config)).eval()
    model.save_pretrained(folder)
    theirs().save_pretrained(folder)
    return model, kbl.load_model(folder)


class TestWindows:
    def test_pairs(self):
        records = [x for x in squad() if x["question"] == x["question"].strip()]
        features = features_of(records)
        layer = TextWindows(preprocessor())
        texts = {"text": "question", "text_pair": "context"}
        found = layer(
            {k: tf.constant([x[v] for x in records]) for k, v in texts.items()}
        )
        rows = found["window_rows"].numpy().tolist()
        assert rows == features["overflow_to_sample_mapping"]
        assert real_rows(found) == features["input_ids"]
        assert len(rows) > 2 * len(records)

    @pytest.mark.parametrize("stride", [0, 5, 31])
    def test_single_texts(self, stride):
        texts = [x["context"] for x in squad()]
        features = theirs()(
            texts,
            truncation=True,
            max_length=LENGTH,
            stride=stride,
            return_overflowing_tokens=True,
        )
        found = TextWindows(preprocessor(stride=stride))({"text": tf.constant(texts)})
        assert real_rows(found) == features["input_ids"]


class TestDataSets:
    def test_questions_as_run_qa(self):
        records = squad()
        features = features_of(records)
        expected = [
            run_qa_positions(features, i, records[row])
            for i, row in enumerate(features["overflow_to_sample_mapping"])
        ]
        found, ids = [], []
        for inputs, targets in question_dataset(records, preprocessor()):
            ids += real_rows(inputs)
            pairs = (targets[f"{name}_logits"].numpy() for name in ("start", "end"))
            found += zip(*pairs, strict=True)
        assert ids == features["input_ids"]
        assert found == expected
        assert 20 < sum(start > 0 for start, _ in found) < len(found) - 20

    def test_tokens_as_run_ner(self):
        records = conll()
        features = theirs()([x["words"] for x in records], is_split_into_words=True)
        expected = []
        for i, record in enumerate(records):
            row, before = [], None
            for word in features.word_ids(i):
                new = word is not None and word != before
                row.append(LABELS.index(record["tags"][word]) if new else -100)
                before = word
            expected.append(row)
        ids, found = [], []
        dataset = token_dataset(records, preprocessor(256), LABELS)
        for inputs, tags, weights in dataset:
            ids += real_rows(inputs)
            masked = np.where(weights.numpy() > 0, tags.numpy(), -100)
            mask = inputs["padding_mask"].numpy()
            found += [x[m].tolist() for x, m in zip(masked, mask, strict=True)]
        assert ids == features["input_ids"]
        assert found == expected


def run_qa_positions(features, number, record):
    """`prepare_train_features` of transformers' run_qa.py, for one window."""
    answers, offsets = record["answers"], features["offset_mapping"][number]
    if not answers["text"]:
        return 0, 0
    begin = answers["answer_start"][0]
    end = begin + len(answers["text"][0])
    sequence = features.sequence_ids(number)
    first = sequence.index(1)
    last = len(sequence) - 1 - sequence[::-1].index(1)
    if not (offsets[first][0] <= begin and offsets[last][1] >= end):
        return 0, 0
    while first < len(offsets) and offsets[first][0] <= begin:
        first += 1
    while offsets[last][1] >= end:
        last -= 1
    return first - 1, last + 1


class TestQuestions:
    def test_answers_as_all_spans_of_the_windows(self, tmp_path):
        """Google's rule of the most context, on the logits of transformers."""
        records = squad(20)
        model, body = checkpoint("QuestionAnswering", tmp_path)
        strings = kbl.with_text(body, preprocessor(), max_answer_length=12)
        pair = ([x["question"] for x in records], [x["context"] for x in records])
        found = strings.predict(pair, verbose=0)
        features = features_of(records)
        rows = np.array(features["overflow_to_sample_mapping"])
        for row, record in enumerate(records):
            numbers = np.flatnonzero(rows == row)
            score, start, end, null = best_span(model, features, numbers)
            assert (found["start"][row], found["end"][row]) == (start, end)
            assert found["answer"][row] == record["context"][start:end]
            assert found["no_answer_score"][row] == pytest.approx(
                null - score, abs=1e-3
            )


def best_span(model, features, numbers, longest=12):
    """Returns score, start and end of the best span, and the score of none."""
    spans, nulls = [], []
    windows = [places_of(features, number) for number in numbers]
    for i, number in enumerate(numbers):
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = {name: torch.tensor([features[name][number]]) for name in names}
        with torch.no_grad():
            outputs = model(**inputs)
        begins, ends = outputs.start_logits[0].numpy(), outputs.end_logits[0].numpy()
        nulls.append(begins[0] + ends[0])
        places = sorted(windows[i].items())
        for j, (span, column) in enumerate(places):
            scores = [around(window, span) for window in windows]
            if scores.index(max(scores)) != i:
                continue
            for (_, end), last in places[j : j + longest]:
                spans.append((begins[column] + ends[last], span[0], end))
    return *max(spans), min(nulls)


def places_of(features, number):
    """The columns of a window's tokens of the context, by their offsets."""
    sequence, offsets = features.sequence_ids(number), features["offset_mapping"]
    pairs = zip(offsets[number], sequence, strict=True)
    return {tuple(x): i for i, (x, segment) in enumerate(pairs) if segment == 1}


def around(window, span):
    if span not in window:
        return -1
    place = sorted(window).index(span)
    return 100 * min(place, len(window) - 1 - place) + len(window)


class TestEntities:
    TEXTS = (
        "Angela visited Größenwahn in Newcastle-upon-Tyne.",
        "nothing",
        "U.S. troops, 日本 and the Électricité de France!",
    )

    def test_equal_the_pipeline(self, tmp_path):
        names = {"id2label": dict(enumerate(LABELS))}
        model, body = checkpoint("TokenClassification", tmp_path, **names)
        texts = [*self.TEXTS, *(" ".join(x["words"]) for x in conll(20))]
        pipeline = transformers.pipeline(
            "token-classification", model, tokenizer=theirs(), device="cpu"
        )
        strings = kbl.with_text(body, preprocessor(256))
        found = strings.predict(texts, verbose=0)
        for row, text in enumerate(texts):
            pieces = pipeline(text, aggregation_strategy="none", ignore_labels=[])
            expected = list(entities_of(words_of(pieces)))
            count = len(expected)
            got = zip(
                *(
                    found[f"entity_{x}"][row, :count]
                    for x in ("labels", "starts", "ends")
                ),
                strict=True,
            )
            assert [tuple(x) for x in got] == [x[:3] for x in expected]
            assert not found["entity_labels"][row, count:].any()
            scores = [x[3] for x in expected]
            np.testing.assert_allclose(
                found["entity_scores"][row, :count], scores, atol=1e-4
            )


def words_of(pieces):
    """Joins `##` pieces to what stands before, as the strategy "first" does."""
    words = []
    for piece in pieces:
        if piece["word"].startswith("##") and words:
            words[-1]["end"] = piece["end"]
        else:
            words.append(dict(piece))
    return words


def entities_of(words):
    """`(type, start, end, score)` of words, read as `get_entities` does."""
    seqeval = pytest.importorskip("seqeval.metrics.sequence_labeling")
    tags = [word["entity"] for word in words]
    for kind, first, last in seqeval.get_entities(tags):
        scores = [word["score"] for word in words[first : last + 1]]
        yield kind, words[first]["start"], words[last]["end"], np.mean(scores)


def test_masks_are_filled_as_by_the_pipeline(tmp_path):
    model, body = checkpoint("MaskedLM", tmp_path)
    text_of = ("The [MASK] of France is [MASK].", "[MASK]", "He [MASK]s, Größe!")
    strings = kbl.with_text(
        body, preprocessor(stride=None, special_tokens_in_text=True), top_k=7
    )
    pipeline = transformers.pipeline(
        "fill-mask", model, tokenizer=theirs(), device="cpu", top_k=7
    )
    found = strings.predict(list(text_of), verbose=0)
    for row, text in enumerate(text_of):
        expected = pipeline(text)
        masks = expected if text.count("[MASK]") > 1 else [expected]
        for i, answers in enumerate(masks):
            ids = [x["token"] for x in answers]
            pieces = theirs().convert_ids_to_tokens(ids)
            assert found["tokens"][row, i].tolist() == pieces
            scores = [x["score"] for x in answers]
            np.testing.assert_allclose(found["scores"][row, i], scores, atol=1e-5)


def test_given_words_are_numbered_as_by_the_tokenizer():
    words = [x["words"] for x in conll()]
    features = theirs()(words, is_split_into_words=True)
    layer = TextWindows(preprocessor(256))
    found = layer({"text": tf.ragged.constant(words).to_tensor("")})
    numbers = np.split(found["words"].numpy(), found["row_splits"].numpy()[1:-1])
    for i, row in enumerate(numbers):
        expected = [x for x in features.word_ids(i) if x is not None]
        assert row.tolist() == expected
    assert sum(map(len, numbers)) == sum(map(len, features["input_ids"])) - 200
