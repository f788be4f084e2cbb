"""One Gatepost for all tests of clients in a process: a web server, no worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from pytest_django import DjangoDbBlocker

from tests.support.cast import make_cast
from tests.support.site import started_site

from .bench import Person, Script, Server
from .editing import Editor

DATABASE = "gatepost_clients"


@pytest.fixture(scope="package")
def server(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Server]:
    """A web server on a database of its own; nothing of an agent's code is on its side."""
    from dashboard.identity import tokens
    from tests.conftest import real_database

    with django_db_blocker.unblock(), real_database(DATABASE):
        cast = make_cast()

        def token(person: str, **more: Any) -> str:
            return tokens.make(cast.users[person], made_by="user:0", **more)[1]

        with started_site(slots=0, GATEPOST_UNDO_WINDOWS="0,0,0") as site:
            deciding = token("manager", scopes=["read", "decide", "fork"])
            operating = token("operator", scopes=["read", "start", "control", "fork", "work"])
            people = [Person(site.url, operating), Person(site.url, deciding)]
            agents = token("operator", name="agents", scopes=["read", "start", "work"])
            cookie = cast.cookie("manager")
            yield Server(site.url, agents, *people, lambda: site.log("web"), cookie=cookie)
            for person in people:
                person.http.close()


@pytest.fixture
def editor(browser: Browser, server: Server) -> Editor:
    """The manager in a browser."""
    return Editor(browser, server.url, server.cookie)


@pytest.fixture
def script(server: Server, tmp_path: Path) -> Iterator[Callable[..., Script]]:
    """Makes processes of clients; they are gone afterwards."""
    with ExitStack() as stack:

        def make(*command: str, folder: str = "machine", **environment: str) -> Script:
            name = f"{folder}-{len(server.scripts)}"
            made = Script(server, command, tmp_path / name, environment)
            server.scripts.append(made)
            stack.callback(made.close)
            return made.start()

        server.scripts.clear()
        yield make
