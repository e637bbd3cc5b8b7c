"""Texts made from other texts: with replaced words, or similar to a first one."""

import random
import re
from collections.abc import Sequence

FOLLOWING = 0.3  # share of second texts that are the following sentence
SWAPPED = 0.3  # share of the others whose two parts are swapped
WORD = re.compile(r"\w+")
MOST = 0.5  # maximum share of words left out, and of words replaced


def second_text(text: str, following: str, rng: random.Random) -> str:
    """Returns a second text, which may be nearly the same or about something else.

    Args:
        text: A sentence.
        following: The sentence after it.
        rng: The random number generator.
    """
    if rng.random() < FOLLOWING:
        return following
    others = following.split()
    left_out, replaced = (MOST * rng.random() for _ in range(2))
    words = [word for word in text.split() if rng.random() >= left_out]
    words = [rng.choice(others) if rng.random() < replaced else x for x in words]
    if len(words) > 1 and rng.random() < SWAPPED:
        middle = rng.randrange(1, len(words))
        words = words[middle:] + words[:middle]
    return " ".join(words) or following


def with_replaced_words(
    text: str, words: Sequence[str], most: float, rng: random.Random
) -> str:
    """Returns a text in which a random share of the words is replaced.

    Args:
        text: A sentence.
        words: The words to draw from.
        most: The largest share of words that are replaced; the share is drawn
            uniformly between 0 and this. Nothing is drawn if it is 0.
        rng: The random number generator.

    Reference: [Jiao et al., 2020](https://arxiv.org/abs/1909.10351), section 3.2,
    where a language model proposes the words.
    """
    if not most:
        return text
    share = most * rng.random()
    return WORD.sub(
        lambda found: rng.choice(words) if rng.random() < share else found[0], text
    )
