"""The rules keep the syntax trees of all modules: a garbage collection would look at each node."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
