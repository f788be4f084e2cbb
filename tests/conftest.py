"""Databases for tests: ordinary ones in a transaction, real ones from a template."""

import itertools
import os
from collections.abc import Iterator

import pytest
from django.db import connection, connections
from django.test.utils import setup_databases
from pytest_django import DjangoDbBlocker

from tests.cast import Cast, make_cast

TEMPLATE = "gatepost_template"
_numbers = itertools.count(1)


def _switch(name: str) -> None:
    """Let this process, all its threads and its future children use another database."""
    connections.close_all()
    connection.settings_dict["NAME"] = name
    os.environ["GATEPOST_DATABASE"] = name


def _server(statement: str) -> None:
    """One statement on the server itself, outside of any test's database."""
    import psycopg

    host = connection.settings_dict["HOST"]
    address = f"host='{host}' dbname=postgres user=gatepost"
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(statement)


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Migrate once; the result is also the template of every real database.

    Nothing is torn down: the whole server ends with the test run.
    """
    with django_db_blocker.unblock():
        setup_databases(verbosity=0, interactive=False, aliases={"default"})
        name = str(connection.settings_dict["NAME"])
        connections.close_all()
        _server(f'CREATE DATABASE {TEMPLATE} TEMPLATE "{name}"')
        os.environ["GATEPOST_DATABASE"] = name


@pytest.fixture
def real_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A fresh database that commits for real: for several connections, threads and processes.

    Gives its name; every connection of this process and its children goes there. Use it in place
    of `transactional_db`, which empties tables with TRUNCATE, and log tables refuse that.
    """
    former = str(connection.settings_dict["NAME"])
    name = f"gatepost_test_{next(_numbers)}"
    with django_db_blocker.unblock():
        _server(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        _switch(name)
        try:
            yield name
        finally:
            _switch(former)
            _server(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def transactional_db() -> None:
    pytest.fail("Log tables refuse TRUNCATE: use the fixture `real_db`.")


@pytest.fixture
def cast(db: None) -> Cast:
    """Two workspaces and the people of tests.cast; in a real database call `make_cast()`."""
    return make_cast()
