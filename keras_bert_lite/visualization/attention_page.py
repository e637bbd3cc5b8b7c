"""Attention maps as a page in HTML; attention_page.html is what it is made of."""

import base64
import html as markup
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert_lite.visualization import figures
from keras_bert_lite.visualization.rendering import PICTURES

TEMPLATE = Path(__file__).with_name("attention_page.html")
TITLE = 80  # characters of the texts in the title
LEVELS = 255  # of a weight, which is stored in a byte
ROW, CELL, REST = 24, 36, 210  # pixels of a token, of a small map, and of all else


def page(maps: Any) -> str:
    """Returns a page that needs no other file: tokens, weights, styles and script."""
    num_layers, num_heads = maps.weights.shape[:2]
    facts = {
        "tokens": [token.translate(PICTURES) for token in maps.tokens],
        "segments": [int(x) for x in maps.segments],
        "special": [bool(x) for x in maps.special],
        "layers": num_layers,
        "heads": num_heads,
    }
    levels = np.round(maps.weights * LEVELS).astype(np.uint8)
    texts = " / ".join(maps.texts).translate(PICTURES)
    parts = {
        "title": markup.escape(f"Attention: {figures.short(texts, TITLE)}"),
        # In a script, nothing but a tag could end it.
        "facts": json.dumps(facts).replace("<", "\\u003c"),
        "weights": base64.b64encode(levels.tobytes()).decode(),
    }
    template = TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def frame(maps: Any) -> str:
    """Returns the page in a frame, apart from the styles and names of a notebook."""
    num_layers, _, size, _ = maps.weights.shape
    height = max(ROW * size, CELL * num_layers) + REST
    return (
        f'<iframe srcdoc="{markup.escape(page(maps))}" sandbox="allow-scripts" '
        f'title="Attention maps" width="100%" height="{height}" '
        'style="border: 0"></iframe>'
    )
