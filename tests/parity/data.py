"""What needs the public data sets."""

import pytest

from tests.paths import VOCABULARIES

needs_data = pytest.mark.skipif(
    not VOCABULARIES.is_dir(), reason=f"needs the vocabularies in {VOCABULARIES}"
)
