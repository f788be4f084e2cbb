"""Tests that need LangGraph: collected where it is installed; see ../test_in_own_environment.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pytest_django import DjangoDbBlocker

from tests.contract.clients.bench import SOURCES, Person, Server
from tests.faults.bench import SHORT, Case
from tests.support.cast import Cast, make_cast
from tests.support.site import started_site

collect_ignore_glob = [] if find_spec("langgraph") else ["*.py"]
AGENTS = "tests.unit.contrib.langgraph.inside.compiled_agents"


@pytest.fixture(scope="package")
def cast(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Cast]:
    from tests.conftest import real_database

    with django_db_blocker.unblock(), real_database("gatepost_compiled"):
        yield make_cast()


@pytest.fixture(scope="package")
def server(cast: Cast) -> Iterator[Server]:
    """Web server and a worker that has the compiled graphs."""
    from dashboard.identity import tokens

    def token(person: str, *scopes: str) -> str:
        return tokens.make(cast.users[person], made_by="user:0", scopes=list(scopes))[1]

    more = {
        **SHORT,
        "GATEPOST_UNDO_WINDOWS": "0,0,0",
        "GATEPOST_AGENTS": AGENTS,
        "PYTHONPATH": str(SOURCES),
    }
    with started_site(slots=2, **more) as site:
        operator = token("operator", "read", "start", "control", "fork")
        manager = token("manager", "read", "decide", "fork")
        people = [Person(site.url, operator), Person(site.url, manager)]
        yield Server(site.url, operator, *people, lambda: site.log("worker"))
        for person in people:
            person.http.close()


@pytest.fixture
def start(server: Server, cast: Cast, tmp_path: Path) -> Callable[..., Case]:
    """Starts a thread by the API; calls leave their lines in its folder."""

    def begin(agent: str, *, hold: tuple[str, ...] = (), **values: Any) -> Case:
        for name in hold:
            (tmp_path / f"{name}.hold").touch()
        body = {"agent": agent, "input": {"folder": str(tmp_path), **values}}
        thread = server.operator.post("/threads/", body)
        return Case(UUID(thread["id"]), tmp_path, cast.workspace)

    return begin
