"""Where the tests find things: the checkout, golden values, public data sets."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
GOLDEN = TESTS / "golden"
DATA = Path(os.environ.get("KERAS_BERT_LITE_DATA", ROOT.parent / "shared" / "data"))
VOCABULARIES = DATA / "vocabularies"
# Trained encoders and texts, which `make weights` fetches.
ENCODERS = Path(os.environ.get("KERAS_BERT_LITE_ENCODERS", ROOT / "build" / "encoders"))
UDHR = ROOT / "build" / "udhr"
