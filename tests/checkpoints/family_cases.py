"""The golden values of every architecture."""

import json

from tests.paths import GOLDEN

VALUES = json.loads((GOLDEN / "families.json").read_text())
CASES = VALUES["cases"]
