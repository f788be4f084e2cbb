"""The gateway before a server over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .bench import Gate, gate


@pytest.fixture
def gateway(real_db: str, tmp_path: Path) -> Iterator[Gate]:
    """All of it, for one test."""
    with gate(tmp_path) as made:
        yield made
