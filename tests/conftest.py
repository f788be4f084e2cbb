"""Databases for tests: ordinary ones in a transaction, real ones from a template."""

import gc
import itertools
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import connection, connections
from django.test.utils import setup_databases
from hypothesis import settings as examples
from pytest_django import DjangoDbBlocker

from dashboard.operate.embedded.valkey import HotStore
from dashboard.wire import hints
from tests.support import declared_payloads, renderers
from tests.support.cast import Cast
from tests.support.chromium import FLAGS, find_chromium
from tests.support.saved_cast import load_cast
from tests.support.servers import start_hot_store
from tests.support.site import Site, started_site

TEMPLATE = "gatepost_template"
declared_payloads.watch()
# Property tests have no deadline: a busy machine is not a defect.
examples.register_profile("gatepost", deadline=None)
examples.load_profile("gatepost")
# Nor is it a Valkey that is away: a hint that is given up after 0.2 s is lost to its test.
hints.TIMEOUT = 10.0
gc.disable()  # until all tests are read: see `pytest_collection_finish`
_numbers = itertools.count(1)
# Dropped when the next one is created: DROP waits 0.1 s for a session that is about to end.
_left: list[str] = []


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


@contextmanager
def real_database(name: str, *, template: str = TEMPLATE) -> Iterator[str]:
    """A fresh database that commits for real, for this process and its future children."""
    former = str(connection.settings_dict["NAME"])
    while _left:
        _server(f"DROP DATABASE {_left.pop()} WITH (FORCE)")
    # A copy of the files takes half as long as one by the log, which is the default.
    _server(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    _switch(name)
    try:
        yield name
    finally:
        _switch(former)
        _left.append(name)


@pytest.fixture
def real_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A fresh database that commits for real: for several connections, threads and processes.

    Gives its name; every connection of this process and its children goes there. Use it in place
    of `transactional_db`, which empties tables with TRUNCATE, and log tables refuse that.
    """
    with django_db_blocker.unblock(), real_database(f"gatepost_test_{next(_numbers)}") as name:
        yield name


@pytest.fixture
def site(real_db: str) -> Iterator[Site]:
    """Web server and worker as processes; see tests.support.site for other settings."""
    with started_site() as started:
        yield started


@pytest.fixture(scope="session")
def hot_server() -> HotStore:
    """The server at `settings.HOT_URL`; most tests need none, so the first that does starts it."""
    return start_hot_store(Path(os.environ["GATEPOST_DATA"]))


@pytest.fixture
def hot_store(hot_server: HotStore) -> Iterator[redis.Redis]:
    """A client of the hot store, which is empty: no keys, no functions; also for who comes next."""
    with redis.Redis(unix_socket_path=str(hot_server.socket)) as client:
        client.flushall()
        client.function_flush()
        yield client
        client.flushall()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium in place of one that Playwright would fetch."""
    # Playwright's loop works in this very thread; Django would refuse each query beside it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    return {**browser_type_launch_args, "executable_path": find_chromium(), "args": list(FLAGS)}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a Chromium browser tests are skipped, loudly; where one is required they fail.

    Their files come last: Playwright's event loop then stands in no other test's way.
    """
    last = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(key=lambda item: (item.path in last, item.get_closest_marker("browser") is not None))
    if find_chromium() or os.environ.get("GATEPOST_REQUIRE_BROWSER"):
        return
    waiting = [item for item in items if item.get_closest_marker("browser")]
    for item in waiting:
        item.add_marker(pytest.mark.skip(reason="NO BROWSER: install chromium to try the pages"))


def pytest_collection_finish() -> None:
    """All that is there by now stays to the end: no garbage collection has to look at it again.

    A full one takes 0.01 s then, not 0.5 s, and some tests call it for each of their cases.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One loud line, since a skipped browser test proves nothing."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", ())
        if "NO BROWSER" in str(report.longrepr)
    ]
    if skipped:
        terminalreporter.write_line(
            f"NO BROWSER: {len(skipped)} browser tests were not done; install chromium.", red=True
        )


@pytest.fixture
def transactional_db() -> None:
    pytest.fail("Log tables refuse TRUNCATE: use the fixture `real_db`.")


@pytest.fixture
def cast(db: None) -> Cast:
    """Two workspaces and people (tests.support.cast); in a real database call `make_cast()`."""
    return load_cast()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A page that does not answer fails its test and no other, and the run goes on."""
    if item.get_closest_marker("browser") is None:
        return (yield)
    with renderers.limited():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """While its database stands, see whether all that a test wrote still folds to its hashes."""
    from tests.support import folding

    result = folding.after(item)
    yield
    if result:
        pytest.fail(f"deltas that do not fold to the state: {result}", pytrace=False)
