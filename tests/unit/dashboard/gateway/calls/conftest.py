"""The gateway before a server over HTTP."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.conftest import real_database
from tests.support.cast import make_cast
from tests.support.site import Site
from tests.unit.dashboard.gateway.calls.bench import Gate, gate_of, serving

_numbers = count(1)


@pytest.fixture(scope="module")
def served(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Site]:
    """One web server for the tests of a file, each of which has a workspace of its own."""
    name = f"gatepost_gateway_{next(_numbers)}"
    with django_db_blocker.unblock(), real_database(name), serving() as site:
        yield site


@pytest.fixture
def gateway(served: Site, tmp_path: Path) -> Gate:
    """All of it, for one test."""
    return gate_of(served, make_cast(f"-{next(_numbers)}"), tmp_path)
