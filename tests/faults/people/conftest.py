"""How often people meet in a race."""

import pytest


@pytest.fixture(params=[100, pytest.param(300, marks=pytest.mark.nightly)])
def rounds(request: pytest.FixtureRequest) -> int:
    """Rounds of a race: the more of them, the rarer the interleaving that is met."""
    return int(request.param)
