"""Folders that the embedded servers can use, also when root runs the tests."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder that does not exist yet, short enough for sockets."""
    home = Path(tempfile.mkdtemp(prefix="gp-", dir="/tmp"))
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    yield home / "data"
    shutil.rmtree(home, ignore_errors=True)
