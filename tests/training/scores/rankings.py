"""Rankings of queries, with judged documents, some of which no ranking has."""

import random

COUNT = 1000


def queries() -> list[tuple[dict[str, float], dict[str, int]]]:
    """Returns the scores of ranked documents and the grades of judged ones."""
    rng = random.Random(0)
    made = []
    for _ in range(COUNT):
        documents = [str(i) for i in range(rng.randint(1, 30))]
        ranked = rng.sample(documents, rng.randint(1, len(documents)))
        judged = rng.sample(documents, rng.randint(1, len(documents)))
        grades = {x: rng.choice((0, 0, 1, 2, 3)) for x in judged}
        grades[rng.choice(judged)] = 1  # ranx refuses queries without any
        scores = rng.sample(range(1000), len(ranked))  # no two are equal
        made.append((dict(zip(ranked, map(float, scores), strict=True)), grades))
    return made
