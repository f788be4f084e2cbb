"""Liveness and readiness, for supervisors that have no login."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from tests.cast import Cast

from . import scene


def test_healthz_needs_nothing(client: Client) -> None:
    assert client.get("/healthz").content == b"ok"


def test_readyz_names_its_parts(client: Client, cast: Cast, settings: Any) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {
        "ready": False, "database": "ok", "valkey": "ok", "worker": "down",
    }  # fmt: skip
    scene.alive(scene.make_agent())
    response = client.get("/readyz")
    assert (response.status_code, response.json()["ready"]) == (200, True)
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    assert client.get("/readyz").json()["valkey"] == "down"


def test_readyz_without_a_database(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("secret address")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", away)
        response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["database"] == response.json()["worker"] == "down"
    assert b"secret" not in response.content
