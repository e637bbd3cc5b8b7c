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
# # Fine-tune from the command line
#
# A table of texts and labels, six commands, no Python: look for mistakes in the data,
# train for a minute, read the report, score, answer, and make what a server
# runs. It takes two or three minutes on a CPU and needs no download: the encoder comes
# with the package, the texts are below.
#
# On Colab, install the package first, from a copy of its repository or a wheel made
# there (it is not on PyPI yet). It replaces Colab's TensorFlow and Keras by newer ones
# (docs/guide/install.md has the list); restart the session if asked to:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite"
    pass

# %% [markdown]
# The commands are those of a terminal; in a notebook a cell that begins with `%%bash`
# takes them.

# %%
import csv
import json
import os
import random
import sys
import tempfile
from pathlib import Path

os.chdir(tempfile.mkdtemp())
# Where `pip` puts commands, also if this Python's environment is not activated.
commands = str(Path(sys.executable).parent)
os.environ["PATH"] = commands + os.pathsep + os.environ["PATH"]

# %% [markdown]
# ## The data
#
# Requests to a town hall, about waste, parking or the library. Of each there are 15 to
# learn from, with five beginnings, and other ones, four to choose by and five to judge
# by. Were these the same with other beginnings, any score would look good.

# %%
REQUESTS = {
    "waste": """
        My bin was not emptied this morning.
        When is the paper collected?
        The glass container in our street is full.
        I need a larger bin for my family.
        Where can I leave an old sofa?
        Someone left rubbish in the park.
        How do I order a compost bin?
        May I put batteries into the grey bin?
        Who takes an old fridge?
        The yellow sacks were left behind again.
        Rats are in the garbage behind the school.
        Where do I bring broken lamps?
        Can you empty the bins at the bus stop?
        The lorry that collects the garbage is too loud.
        I want to give back my second bin.
        Does the garden waste go into the brown bin?
        There is paper and plastic all over the street.
        Where can we throw away paint?
        Our rubbish has not been picked up for two weeks.
        How much does it cost to have old furniture collected?
        The lid of our bin is broken.
        Where does the empty glass go?
        Please take away the old mattress at the corner.
        Is plastic collected on Friday?
    """,
    "parking": """
        I need a permit for residents.
        There is a car in front of our drive.
        I got a fine by mistake.
        The ticket machine takes no coins.
        Where may visitors leave their cars?
        My permit runs out in May.
        A van is parked on the cycle path.
        How much is an hour on the market square?
        Can I pay the fine later?
        The car park was closed at night.
        Is there a space for a camper van?
        The number of my car has changed.
        Nobody respects the no parking sign.
        Do I need a ticket on Sunday?
        I could not find a place for my car near the station.
        Where is the nearest garage with charging points?
        Somebody parks in the space for the disabled.
        How long may I stop in front of the shop?
        I paid for parking twice.
        My car was towed away.
        A second permit for my wife's car, please.
        The barrier of the garage does not open.
        Why was I fined when my ticket was valid?
        Can we reserve a space for the moving van?
    """,
    "library": """
        I lost my reader's card.
        Can I keep the book for two more weeks?
        When do the reading rooms open?
        The novel that I ordered has arrived.
        Is there a story hour for children?
        I want to give you some old books.
        How many films may I borrow?
        Do you have newspapers from Spain?
        I could not read the e-book at home.
        May my daughter have a card?
        The pages of this book are torn.
        Where do I find poems by Emily Dickinson?
        I returned the book but still got a reminder.
        Can you order a dictionary of Latin?
        Are there quiet rooms to study?
        The author reads from her novel tonight.
        Which magazines can I borrow?
        How do I renew a loan?
        Your catalogue does not show this title.
        I would like to borrow music for my guitar.
        Who helps me to find a history of our town?
        My son forgot to bring back a comic.
        Is the reading group open to all?
        Could you keep the atlas for me until Monday?
    """,
}


def write(name, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["text", "label"])
        writer.writerows(rows)


BEGINNINGS = ["", "Hello. ", "Good morning! ", "A question. ", "Excuse me. "]
rng = random.Random(0)
train, validation, test = [], [], []
for label, lines in REQUESTS.items():
    requests = [line.strip() for line in lines.strip().splitlines()]
    rng.shuffle(requests)
    train += [(start + text, label) for text in requests[:15] for start in BEGINNINGS]
    validation += [(text, label) for text in requests[15:19]]
    test += [(text, label) for text in requests[19:]]
rng.shuffle(train)
write("validation.tsv", validation)
write("test.tsv", test)

# %% [markdown]
# Real tables have mistakes. So has this one: a label is misspelled, a text is empty,
# one stands there twice, and one with two different labels.

# %%
mistaken = list(train)
mistaken[5] = (mistaken[5][0], mistaken[5][1] + "s")
mistaken += [("", "waste"), train[0], (train[1][0], "none")]
write("train.tsv", mistaken)

# %% language="bash"
# head -4 train.tsv

# %% [markdown]
# ## `debug-data`: look for mistakes
#
# Rows are counted from 0, without the header. The last line is the first text as the
# encoder sees it.

# %% language="bash"
# keras-bert-lite debug-data text_classification train.tsv

# %% [markdown]
# The rows that it names are those that we broke. They are corrected:

# %%
write("train.tsv", train)

# %% [markdown]
# ## `fit`: train
#
# One command trains, chooses what there is to choose, and writes everything into the
# directory `run`. All options have defaults (`keras-bert-lite fit --help` shows them);
# `--print-config` prints them as YAML, which is how a run is kept and repeated.

# %% language="bash"
# keras-bert-lite fit text_classification train.tsv --validation validation.tsv \
#     --epochs 2 --directory run --print-config > run.yaml
# cat run.yaml

# %% [markdown]
# This is the run. If it is interrupted, the same command goes on.

# %% language="bash"
# keras-bert-lite fit --config run.yaml 2> /dev/null

# %% [markdown]
# Each pass over the rows is scored twice, with a line each time; the best weights are
# kept. The table has the scores on the rows held out, beside those of
# simple models. If a logistic regression on counted words (TF-IDF) is as good, no BERT
# is needed.
#
# ## The report
#
# `README.md` is a model card, for people; `report.json` has all numbers, for programs;
# `mistakes.md` has the rows held out that the model gets wrong, if there are any.

# %% language="bash"
# cat run/README.md run/mistakes.md

# %%
report = json.loads(Path("run/report.json").read_text())
print("numbers of:", ", ".join(report))
print("trained on", report["rows"], "with", report["recipe"])

# %% [markdown]
# - *Scores on few rows are rough.* Of twelve rows held out, one mistake is 8 percent.
# - *Without `--validation`* a part of the rows is held out by itself; with fewer than
#   1,000 rows the final model is then trained on all of them.
# - *`--minutes 5`* in place of `--epochs` lets the time decide.
# - *Temperature*, where it stands: the scores of labels are divided by it, so that a
#   model that says 0.8 is right in 8 of 10 answers. The expected calibration error says
#   how far it is from that.
#
# ## `evaluate`: score on other rows
#
# The rows that neither training nor choices have seen:

# %% language="bash"
# keras-bert-lite evaluate run test.tsv > scores.json 2> /dev/null

# %%
scores = json.loads(Path("scores.json").read_text())
print(scores["rows"], "rows:", scores["scores"])
for row in scores["worst"][:3]:
    print(f"   {row['answer']}, but it is {row['expected']}: {row['text']}")
assert scores["scores"]["accuracy"] > 0.6

# %% [markdown]
# ## `predict`: answer
#
# From a table, JSON Lines, or a file with a text a line, to another file, in constant
# memory. The scores are in the order of the labels.

# %%
new = [
    "The bin in front of the town hall smells.",
    "Can I renew my parking permit online?",
    "I would like to borrow a cookbook.",
]
Path("new.txt").write_text("\n".join(new) + "\n", encoding="utf-8")

# %% language="bash"
# keras-bert-lite predict run new.txt --output answers.tsv --no-progress 2> /dev/null
# cat answers.tsv

# %% [markdown]
# ## `export` and `check`: to a server
#
# `run/saved_model` is there already. `export` writes further versions, or other forms
# (`onnx`, `litert`); `check` says what a stock TensorFlow Serving would say to it.

# %% language="bash"
# keras-bert-lite export saved-model run served/requests --storage float16 2> /dev/null
# du -sh run/saved_model served/requests
# keras-bert-lite check served/requests 2> /dev/null

# %% [markdown]
# What is wrong is said in a line:

# %% language="bash"
# keras-bert-lite fit text_classification train.tsv --minuts 5 || true

# %% [markdown]
# [Serve a model](02_serve.ipynb) starts a server with such a folder. Other tasks take
# other tables (`keras-bert-lite fit --help` names them). All of it is there in Python
# too: `kbl.finetune`, `kbl.evaluate`, `kbl.predict_file` and `kbl.data.debug`.
