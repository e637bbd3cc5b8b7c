"""Second texts, more or less like a first one, made from plain text."""

import random

FOLLOWING = 0.3  # share of the second texts that are the sentence that follows
SWAPPED = 0.3  # share of the others whose two parts change places
MOST = 0.5  # share of words that are left out, and of those that are replaced


def second_text(text: str, following: str, rng: random.Random) -> str:
    """Returns a text from nearly the same as another one to one of another matter.

    Args:
        text: A sentence.
        following: The sentence behind it.
        rng: What to draw from.
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
