"""Writes tests/golden/byte_pair_pipelines.json: the reference on other pipelines.

The reference is Hugging Face's `tokenizers` with the pipelines of ModernBERT and
EuroBERT (`tests/text/byte_pair/pipelines.py`), their vocabularies trained on the text
of `make_byte_pair_golden`. Run it from the repository root when those change:

    python -m tests.golden.make_byte_pair_pipelines
"""

import json

import tokenizers
from tokenizers import Tokenizer

from tests.golden.make_byte_pair_golden import TEXTS, TRAINING, encodings
from tests.paths import GOLDEN
from tests.text.byte_pair.pipelines import MAKERS
from tests.text.hard_strings import HARD_STRINGS

TARGET = GOLDEN / "byte_pair_pipelines.json"
SIZE = 420
PIPELINE_TEXTS = [
    *TEXTS,
    # NFC: composed and sorted, what it leaves, and marks that it does not know.
    "e\u0301 \u1e9b\u0323 \u212b a\u0315\u0300\u05ae\u0062 \u00e9\u0323\u0323",
    "\u1100\u1161\u11a8 \uac00\u11a8 \u0958 \u0344 \u1abf\u0323 e\u08d3\u0301",
    "<\u0338 >\u0338 <|endoftext|>\u0338 [MASK]\u0301 |||IP_ADDRESS|||\u0338",
    # Runs of spaces, and the tokens around them.
    "a  b   c" + " " * 24 + "d" + " " * 25 + "e" + " " * 50,
    "def f(x):\n    if x:\n\t  return  x\n\n\n  # end  \n",
    "   [MASK]   [MASK] \t<|mask|>  [unused1]  [UNK]<|endoftext|>  ",
    "|||EMAIL_ADDRESS||| |||PHONE_NUMBER||||||IP_ADDRESS||| ||| |||IP",
    # Llama 3's words.
    "I'LL they'Re 'ſ it'ſt 'dog 'Mars x'y '' 's'S 'll'LL",
    "1 12 123 1234 1234567 x1234y ½²Ⅷ١२3 1,234.56",
    "(the) !the ?!the \tthe \u3000the _the \n the \r\nthe\r the",
    "!\n\n ?!\r\n\r\n  x .\n \n\n  y\n\n\n \t z \r \n",
    "cafés  cafés qzx !!?? 日本語 日本",
]


def reference(content, special_tokens_in_text):
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.encode_special_tokens = not special_tokens_in_text
    return tokenizer


def main():
    pipelines = {}
    for name, make in MAKERS.items():
        content = make([*TRAINING * 3, *HARD_STRINGS], SIZE)
        whole = reference(content, True)
        pipelines[name] = {
            "content": content,
            "rows": {
                key: encodings(reference(content, in_text), PIPELINE_TEXTS)
                for key, in_text in (("plain", False), ("special_tokens", True))
            },
            "pair": whole.encode("the  cafe", "don't").ids,
            "decoded": [
                whole.decode(x.ids, skip_special_tokens=False)
                for x in whole.encode_batch(PIPELINE_TEXTS)
            ],
        }
    written = {
        "made_by": f"{__spec__.name}, tokenizers {tokenizers.__version__}",
        "texts": PIPELINE_TEXTS,
        "pipelines": pipelines,
    }
    text = json.dumps(written, separators=(",", ":"))
    TARGET.write_text(text + "\n", encoding="utf-8")
    print(f"wrote {TARGET}: {len(PIPELINE_TEXTS)} strings")


if __name__ == "__main__":
    main()
