# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Answer questions
#
# Extractive question answering, as in SQuAD: the answer is a span of a given
# text, or there is none. Read the data, train, measure exact match and F1 at the
# end of each epoch, choose when to say nothing, and answer from texts longer than
# the model reads at once. It runs in a minute or two on a CPU and needs no
# download: the encoder comes with the package, the texts are made below.
#
# On Colab, install the package first, from a copy of its repository or a wheel made
# there (it is not on PyPI yet). It replaces Colab's TensorFlow and Keras by newer ones
# (docs/guide/install.md has the list); restart the session if asked to:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite"
    pass

# %%
import json
import os
import random
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # steps reuse memory

import keras
import tensorflow as tf

import keras_bert_lite as kbl

keras.utils.set_random_seed(0)
rng = random.Random(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The data
#
# Lives of invented people: three facts each, of eight kinds, in any order and in
# different words, between sentences that tell nothing. People and places of the
# evaluation stand in no training text.

# %%
BEGINNINGS = [
    x + y + z
    for x in "BDFGHKLM"
    for y in ("al", "or")
    for z in ("", "den", "ler", "mi", "sa", "vo", "ne")
]
PEOPLE = [x + y for x in BEGINNINGS for y in ("ba", "delo", "rin", "ka", "mira", "so")]
PLACES = [x + y for x in BEGINNINGS for y in ("burg", "ford", "ton", "mouth")]
rng.shuffle(PEOPLE)
rng.shuffle(PLACES)
# What is told, what is asked, and the answers; `None`: people or places.
FACTS = {
    "place": (
        ["NAME was born in X.", "The birthplace of NAME is X."],
        ["Where was NAME born?", "What is the birthplace of NAME?"],
        None,
    ),
    "friend": (
        ["NAME goes for walks with X.", "The best friend of NAME is X."],
        ["Who is the best friend of NAME?", "Who goes for walks with NAME?"],
        None,
    ),
    "job": (
        ["NAME works as a X.", "By profession NAME is a X."],
        ["What is the profession of NAME?", "As what does NAME work?"],
        ["baker", "judge", "nurse", "pilot", "sailor", "bus driver", "ski teacher"],
    ),
    "wedding": (
        ["NAME married in X.", "The wedding of NAME was in X."],
        ["When did NAME marry?", "When was the wedding of NAME?"],
        [str(year) for year in range(1950, 2000)],
    ),
    "music": (
        ["NAME plays the X every evening.", "On Sundays NAME practises the X."],
        ["Which instrument does NAME play?", "What does NAME practise?"],
        ["violin", "trumpet", "bass guitar", "flute", "church organ", "drum"],
    ),
    "animal": (
        ["NAME has a X at home.", "A X lives with NAME."],
        ["Which animal does NAME have?", "Which pet lives with NAME?"],
        ["black cat", "dog", "grey parrot", "rabbit", "young goat", "snake"],
    ),
    "food": (
        ["NAME likes to eat X.", "The favourite dish of NAME is X."],
        ["What does NAME like to eat?", "What is the favourite dish of NAME?"],
        ["fried fish", "potato soup", "apple pie", "lentils", "rye bread"],
    ),
    "door": (
        ["NAME painted the door X.", "The door of NAME is X."],
        ["Which colour is the door of NAME?", "How did NAME paint the door?"],
        ["red", "light blue", "green", "dark brown", "yellow", "white"],
    ),
}
EMPTY = [
    "It was a warm summer.",
    "Few people know that.",
    "The neighbours still talk about it.",
    "Nobody remembers much of those days.",
    "This is well known.",
]


# %% [markdown]
# SQuAD's JSON has paragraphs: a `context`, and questions with answers, which
# stand in the context at `answer_start`. A question that the context does not
# answer has no answers (SQuAD 2.0 says `is_impossible`). Here there is one for
# each paragraph: it asks for a fact that is not told.


# %%
def life(number, people, places, told=3, empty=2):
    name = rng.choice(people)
    values = {"place": places, "friend": [x for x in people if x != name]}
    facts = rng.sample(list(FACTS), told + 1)
    order = [*range(told), *[None] * empty]
    rng.shuffle(order)
    context, answers = "", {}
    for fact in order:
        sentence = rng.choice(EMPTY)
        if fact is not None:
            kind = facts[fact]
            forms, _, answers_of_kind = FACTS[kind]
            answer = rng.choice(answers_of_kind or values[kind])
            sentence = rng.choice(forms).replace("NAME", name).replace("X", answer)
            start = len(context) + bool(context) + sentence.rindex(answer)
            answers[fact] = [{"text": answer, "answer_start": start}]
        context = f"{context} {sentence}".strip()
    questions = [
        {
            "id": f"{number}-{fact}",
            "question": rng.choice(FACTS[kind][1]).replace("NAME", name),
            "answers": answers.get(fact, []),
            "is_impossible": fact not in answers,
        }
        for fact, kind in enumerate(facts)
    ]
    return {"context": context, "qas": questions}


def write_lives(path, number, people, places, **lengths):
    paragraphs = [life(i, people, places, **lengths) for i in range(number)]
    article = {"title": "Lives", "paragraphs": paragraphs}
    path.write_text(json.dumps({"version": "v2.0", "data": [article]}))


write_lives(folder / "train.json", 800, PEOPLE[100:], PLACES[100:])
write_lives(folder / "test.json", 60, PEOPLE[:100], PLACES[:100])
training = kbl.data.read_squad(folder / "train.json")
evaluation = list(kbl.data.read_squad(folder / "test.json"))
for record in evaluation[:4]:
    print(record["question"], record["answers"]["text"])
print(record["context"])

# %% [markdown]
# ## From records to ids
#
# A row is `[CLS] question [SEP] context [SEP]`, of at most `sequence_length`
# tokens; a longer context is cut into windows, which share `stride` tokens, each
# behind the question. The targets are the first and the last token of the answer;
# the row's first token, `[CLS]`, stands for no answer.

# %%
ENCODER = "bert_mini_books"
preprocessor = kbl.load_preprocessor(ENCODER, sequence_length=80, stride=16)
tokenizer = preprocessor.tokenizer
train = kbl.question_dataset(training, preprocessor, shuffle=True)
inputs, targets = next(iter(train))
tokens = [tokenizer.id_to_token(i) for i in inputs["token_ids"][0].numpy()]
start, end = (int(targets[name][0]) for name in ("start_logits", "end_logits"))
print(*tokens)
print("answer:", *tokens[start : end + 1])

# %% [markdown]
# ## Train and measure
#
# The model scores each token as the begin and as the end of the answer: two
# outputs, the same loss for each. Neither tells how many answers are right, so
# `kbl.evaluation.EvaluationCallback` answers the questions held out after each
# epoch, from strings to strings, and adds SQuAD's numbers to the logs, where early
# stopping or checkpoints may go by them. `no_answer_threshold` is about the questions
# without an answer; more on it below.
#
# `kbl.optimizers.bert_adamw` is BERT's optimizer: the rate rises at first, then
# falls, for which it asks how many batches there will be.

# %%
EPOCHS = 2
model = kbl.question_answerer(kbl.load_encoder(ENCODER))
model.compile(
    optimizer=kbl.optimizers.bert_adamw(EPOCHS * len(train), learning_rate=5e-4),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
history = model.fit(
    train,
    epochs=EPOCHS,
    shuffle=False,
    callbacks=[
        kbl.evaluation.EvaluationCallback(
            kbl.evaluation.on_rows(evaluation, preprocessor, no_answer_threshold=0.0)
        )
    ],
).history
for name in ("val_exact", "val_f1", "val_hasans_exact", "val_noans_exact"):
    print(f"{name:17}", *(f"{100 * x:6.1f}" for x in history[name]))
assert history["val_exact"][-1] > 0.7

# %% [markdown]
# ## When to say nothing
#
# `no_answer_score` is how much higher no answer scores than the best span. With a
# `no_answer_threshold` the model answers nothing above it; without, it always
# answers. `kbl.evaluation.squad_scores`, given both, finds the threshold that is
# best for these questions, which flatters a little: choose it on other data than you
# report on. Raise it where silence costs more than a wrong answer, lower it for the
# contrary.

# %%
outputs = kbl.with_text(model, preprocessor).predict(
    {
        "text": [record["question"] for record in evaluation],
        "text_pair": [record["context"] for record in evaluation],
    },
    verbose=0,
)
names = [record["id"] for record in evaluation]
scores = kbl.evaluation.squad_scores(
    evaluation,
    dict(zip(names, outputs["answer"].tolist(), strict=True)),
    dict(zip(names, outputs["no_answer_score"].tolist(), strict=True)),
)
threshold = scores["best_exact_thresh"]
print(f"best threshold {threshold:.2f}: {scores['best_exact']:.1f} % exact")
answerer = kbl.with_text(model, preprocessor, n_best=3, no_answer_threshold=threshold)

# %% [markdown]
# `text` is the question, `text_pair` the context. Besides the answer and its
# place (characters of the context) there are the n best with their shares.

# %%
context = (
    "Dalmira was born in Horford. Few people know that. "
    "The wedding of Dalmira was in 1984. On Sundays Dalmira practises the flute."
)
questions = [
    "What is the birthplace of Dalmira?",
    "When did Dalmira marry?",
    "Which instrument does Dalmira play?",
    "Which pet lives with Dalmira?",
]
answers = answerer.predict(
    {"text": questions, "text_pair": [context] * len(questions)}, verbose=0
)
for row, question in enumerate(questions):
    answer, start, end = (answers[x][row] for x in ("answer", "start", "end"))
    assert start == -1 or context[start:end] == answer
    print(f"{question} {answer or '(nothing)'} [{start}:{end}]")
    print(f"    no answer: {answers['no_answer_score'][row]:.1f}")
    for text, score in zip(
        answers["answers"][row], answers["scores"][row], strict=True
    ):
        print(f"    {score:.2f} {text}")

# %% [markdown]
# ## A long context
#
# Seven facts, far apart in a text of several windows. The answer is the best span
# of all windows; there is none if no window has one. The model was trained on
# windows, too: one without the answer is an example of having none. Still, a long
# text has more places that look like an answer, which shows in `NoAns_exact`.

# %%
write_lives(folder / "long.json", 10, PEOPLE[:100], PLACES[:100], told=7, empty=14)
long = list(kbl.data.read_squad(folder / "long.json"))
outputs = answerer.predict(
    {
        "text": [record["question"] for record in long],
        "text_pair": [record["context"] for record in long],
    },
    verbose=0,
)
windows = preprocessor((long[0]["question"], long[0]["context"]))["token_ids"].shape[0]
scores = kbl.evaluation.squad_scores(
    long, {x["id"]: y for x, y in zip(long, outputs["answer"].tolist(), strict=True)}
)
print(len(tokenizer(long[0]["context"])), "tokens in", windows, "windows")
print({name: round(score, 1) for name, score in scores.items()})
assert scores["exact"] > 60

# %% [markdown]
# ## A SavedModel
#
# Question and context in, answer out, windows included: TensorFlow and
# tensorflow-text are all it takes to run this, and TensorFlow Serving does.

# %%
path = kbl.export_saved_model(answerer, folder / "answers")
served = tf.saved_model.load(str(path)).signatures["serving_default"]
again = served(
    text=tf.constant(questions), text_pair=tf.constant([context] * len(questions))
)
print([answer.decode() for answer in again["answer"].numpy()])
assert (again["start"].numpy() == answers["start"]).all()

# %% [markdown]
# ## With a pretrained encoder and real data
#
# The rest of this notebook stays as it is; this is BERT's recipe for SQuAD 2.0.
# ```python
# source = "hf://google-bert/bert-base-cased"
# encoder = kbl.load_encoder(source)
# preprocessor = kbl.Preprocessor(
#     kbl.load_tokenizer(source), sequence_length=384, stride=128
# )
# train = kbl.question_dataset(
#     kbl.data.read_squad("train-v2.0.json"), preprocessor, shuffle=10_000
# )
# evaluation = list(kbl.data.read_squad("dev-v2.0.json"))
# model = kbl.question_answerer(encoder)
# model.compile(
#     kbl.optimizers.bert_adamw(2 * len(train), learning_rate=3e-5),
#     keras.losses.SparseCategoricalCrossentropy(from_logits=True),
# )
# ```
