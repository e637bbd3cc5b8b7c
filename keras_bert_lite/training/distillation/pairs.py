"""Second texts of varying similarity to a first one, made from plain text."""

import random

FOLLOWING = 0.3  # share of second texts that are the following sentence
SWAPPED = 0.3  # share of the others whose two parts are swapped
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
