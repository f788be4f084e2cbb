"""One database, one standing worker for all hazards; each leaves its threads whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection, connections
from pytest_django import DjangoDbBlocker

from checkpoints import store

from . import invariants
from .bench import AGENTS, Field, Worker

DATABASE = "gatepost_hazards"


def use(name: str) -> None:
    """Let this process and its future children use a database."""
    connections.close_all()
    connection.settings_dict["NAME"] = name
    os.environ["GATEPOST_DATABASE"] = name


@pytest.fixture(scope="package")
def ground(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    """A database that commits for real, and a folder outside of the repository with the agents."""
    from tests.conftest import TEMPLATE, _server

    folder = tmp_path_factory.mktemp("hazards")
    shutil.copy(AGENTS / "own_agents.py", folder)
    former = str(connection.settings_dict["NAME"])
    with django_db_blocker.unblock():
        _server(f"CREATE DATABASE {DATABASE} TEMPLATE {TEMPLATE}")
        use(DATABASE)
        try:
            yield folder
        finally:
            use(former)
            _server(f"DROP DATABASE {DATABASE} WITH (FORCE)")


@pytest.fixture(scope="package")
def worker(ground: Path) -> Iterator[Worker]:
    """The standing worker: prefork, two slots, all queues that its agents name, those that ship."""
    environment = {
        # Tests ask it by a message what it does; in the product nobody can.
        "DJANGO_SETTINGS_MODULE": "tests.support.inspected_settings",
        "GATEPOST_SHIPPED_AGENTS": "true",
    }
    started = Worker(ground, "standing", slots=2, environment=environment).wait_ready()
    yield started
    started.kill()


@pytest.fixture(scope="package")
def workspace(ground: Path) -> UUID:
    return store.create_workspace("hazards", actor="user:0")


@pytest.fixture
def field(ground: Path, workspace: UUID, tmp_path: Path) -> Iterator[Field]:
    """Starts threads; afterwards everything that must hold of each of them is checked."""
    made = Field(tmp_path, workspace)
    yield made
    for case in made.cases:
        invariants.check(case)
