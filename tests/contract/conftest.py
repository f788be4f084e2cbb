"""One world per module of calls: what a test changes in it is taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.contract.world import World, make_world
from tests.contract.written import everything, taken_back
from tests.support.cast import make_cast


@pytest.fixture(scope="module")
def whole(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """The cast and the threads of the examples; made once, since that takes longer than a test.

    A module that uses it has no test in a database of its own: all of them share one transaction.
    """
    with django_db_blocker.unblock(), taken_back():
        world = make_world(make_cast().sign_in())
        everything()  # Read once here: what is first read in a test is forgotten with it.
        yield world


@pytest.fixture
def world(whole: World) -> Iterator[World]:
    """The world as it was made, for one test."""
    with taken_back():
        yield whole
