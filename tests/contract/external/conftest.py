"""An agent that works elsewhere, by Django's test client and with a token as agents have one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from dashboard.identity import tokens
from tests.contract.world import World
from tests.support.cast import Cast

from .entry import Agent, Answer, Driver
from .gateway import Gateway, gateway_in


def driver(token: str) -> Driver:
    """Requests by Django's test client, signed in by a token; a text is sent as it is."""
    client = Client()

    def send(method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        raw = body if isinstance(body, str) else "" if body is None else json.dumps(body)
        response: Any = client.generic(
            method,
            f"/api/v1{path}",
            raw,
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}", **headers},
        )
        return Answer(
            response.status_code,
            json.loads(response.content),
            {name.lower(): value for name, value in response.headers.items()},
        )

    return send


@pytest.fixture
def agent(cast: Cast) -> Agent:
    """An operator's agent, and a manager who reviews."""
    scopes = {"operator": ["start", "work", "control"], "manager": ["decide", "fork"]}
    made = {
        who: tokens.make(cast.users[who], made_by="test", scopes=names)[1]
        for who, names in scopes.items()
    }
    return Agent(driver(made["operator"]), driver(made["manager"]))


@pytest.fixture
def gateway(world: World) -> Gateway:
    """The MCP gateway, as one client of it sees it."""
    return gateway_in(world)
