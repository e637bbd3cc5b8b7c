"""The encoder that ships."""

NAME = "bert_mini_books"
TEXTS = [
    "The old king rode home through the snow.",
    "An aged monarch was travelling back in winter on his horse.",
    "She bought two tickets for the train to London.",
]
