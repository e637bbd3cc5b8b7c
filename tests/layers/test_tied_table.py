"""A tied table of tokens on several devices (JAX)."""

import numpy as np
import pytest

from tests.simulated_devices import printed


@pytest.mark.parity
def test_devices_have_the_gradient_of_one():
    """Eight simulated devices: rows split by 8, and by 4 with columns split by 2."""
    alone, *split = map(np.array, printed("tests.layers.tied_table_program"))
    assert np.abs(alone).max() > 0.1
    for gradient in split:
        np.testing.assert_allclose(gradient, alone, rtol=1e-5, atol=1e-5)
