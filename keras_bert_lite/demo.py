"""A demonstration: a classifier, trained on generated data, exported and served.

The texts are messages to a shop about a delivery, a payment or an account,
generated from a small grammar.
"""

import itertools
import os
import random
import subprocess
import sys

import keras
import tensorflow as tf

from keras_bert_lite.checkpoints.load import load_encoder, load_preprocessor
from keras_bert_lite.serving.saved_model.export import export_saved_model
from keras_bert_lite.tasks.classification import text_classifier
from keras_bert_lite.tasks.compile import compile
from keras_bert_lite.tasks.text_model import with_text
from keras_bert_lite.training.data import text_dataset

ENCODER = "bert_mini_books"
LABELS = ["account", "delivery", "payment"]
OPENINGS = [
    "",
    "Hello, ",
    "Hi there! ",
    "Good morning. ",
    "Sorry, but ",
    "Please help: ",
]
CLOSINGS = ["", " Thank you.", " Please answer soon.", " What can I do?", " Any idea?"]
SUBJECTS = {
    "account": [
        "my password",
        "my user name",
        "my profile",
        "the login page",
        "my account",
        "the e-mail address in my profile",
    ],
    "delivery": [
        "my parcel",
        "the package",
        "the courier",
        "the box I ordered",
        "my delivery",
        "the van with my order",
    ],
    "payment": [
        "my refund",
        "the invoice",
        "my credit card",
        "the amount charged",
        "my payment",
        "the bill for my order",
    ],
}
STATEMENTS = {
    "account": [
        "is not accepted",
        "was locked last night",
        "cannot be changed",
        "is wrong, says the page",
        "has disappeared since the update",
        "does not let me sign in",
    ],
    "delivery": [
        "has not arrived",
        "went to the wrong street",
        "came two weeks late",
        "was left in the rain",
        "is stuck in another city",
        "should have been here on Monday",
    ],
    "payment": [
        "was charged twice",
        "does not match the price",
        "is higher than agreed",
        "has not reached my bank",
        "lacks the discount",
        "was wrong by ten euros",
    ],
}
QUESTIONS = {
    "account": [
        "how do I reset",
        "why can I not open",
        "who can unlock",
        "who changed",
    ],
    "delivery": ["where is", "when will I see", "who took", "how far away is"],
    "payment": [
        "why was I charged for",
        "when will you pay",
        "who wrote",
        "how much is",
    ],
}
HELD_OUT = 5  # one in five contents is held out for evaluation
DECORATIONS = 10
UNSEEN = [
    "I waited all day, where is the parcel?",
    "I was charged twice for one invoice!",
    "The page says that my password is wrong, please unlock my profile.",
]
# Runs the export in a process with only TensorFlow and tensorflow-text.
CLIENT = """
import sys
import tensorflow as tf
import tensorflow_text
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
answer = serve(text=tf.constant(sys.argv[2:]))
for text, label, scores in zip(
    sys.argv[2:], answer["label"].numpy(), answer["scores"].numpy()
):
    print(f"{label.decode():>10}  {scores.max():.2f}  {text}")
"""


def messages(seed: int = 0) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Returns `(text, label)` pairs for training and for evaluation.

    The contents of the evaluation messages do not occur in training; only their
    words, openings and closings do.
    """
    rng = random.Random(seed)
    contents = [
        (content, label)
        for label, name in enumerate(LABELS)
        for content in _contents(name)
    ]
    rng.shuffle(contents)
    held_out = len(contents) // HELD_OUT
    evaluation = [_decorated(row, rng) for row in contents[:held_out]]
    training = [
        _decorated(row, rng) for row in contents[held_out:] for _ in range(DECORATIONS)
    ]
    rng.shuffle(training)
    return training, evaluation


def _contents(label: str) -> list[str]:
    subjects = SUBJECTS[label]
    told = itertools.product(subjects, STATEMENTS[label])
    asked = itertools.product(QUESTIONS[label], subjects)
    return [f"{x} {y}." for x, y in told] + [f"{x} {y}?" for x, y in asked]


def _decorated(row: tuple[str, int], rng: random.Random) -> tuple[str, int]:
    content, label = row
    opening = rng.choice(OPENINGS)
    if not opening.endswith((", ", ": ")):
        content = content[0].upper() + content[1:]
    return opening + content + rng.choice(CLOSINGS), label


def run(
    directory: str | os.PathLike = "saved_models/messages", epochs: int = 1
) -> float:
    """Fine-tunes, evaluates, exports and serves the classifier, and says so.

    Args:
        directory: Of the exported model; see `export_saved_model`.
        epochs: Passes over the training messages.

    Returns:
        The accuracy on the messages held out.
    """
    keras.utils.set_random_seed(0)
    training, evaluation = messages()
    example = training[0][0]
    print(f"{len(training)} messages about {', '.join(LABELS)}, such as {example!r}")

    preprocessor = load_preprocessor(ENCODER, sequence_length=64)
    model = text_classifier(load_encoder(ENCODER), LABELS, pooling="mean")

    def dataset(rows: list[tuple[str, int]]) -> tf.data.Dataset:
        records = [{"text": text, "label": label} for text, label in rows]
        return text_dataset(records, preprocessor, batch_size=32)

    train = dataset(training)  # shuffled already
    compile(model, steps=epochs * len(train), learning_rate=3e-4)
    model.fit(train, epochs=epochs, shuffle=False)
    _, accuracy = model.evaluate(dataset(evaluation), verbose=0)
    print(f"accuracy on {len(evaluation)} messages held out: {accuracy:.3f}")

    exported = export_saved_model(with_text(model, preprocessor), directory)
    print(f"exported {exported}")
    print("loaded with TensorFlow and tensorflow-text alone:", flush=True)
    subprocess.run([sys.executable, "-c", CLIENT, str(exported), *UNSEEN], check=True)
    return accuracy
