"""The public names and their signatures are those that are written down."""

from tests.golden.make_public_names import PUBLIC_NAMES, listing


def test_public_names():
    # Was the change meant? Then: python -m tests.golden.make_public_names
    known = PUBLIC_NAMES.read_text(encoding="utf-8")
    assert listing().splitlines() == known.splitlines()
