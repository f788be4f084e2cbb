"""What tests of notifications have around them: servers on loopback, people with addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cast import Cast

from . import post
from .post import Hook, Mailbox


@pytest.fixture
def loopback(settings: Any) -> None:
    """Messages may go to this machine, and are tried again at once."""
    settings.GATEPOST_WEBHOOK_HTTP = True
    settings.GATEPOST_WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    settings.GATEPOST_WEBHOOK_PORTS = [0]
    settings.GATEPOST_DELIVERY_PAUSES = [0.0, 0.0, 0.0]
    settings.GATEPOST_SEND_SECONDS = 5.0
    settings.GATEPOST_BASE_URL = "https://gatepost.example"


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    with post.mail_server() as server:
        settings.MAILERS = post.mailers(server.port)
        yield server


@pytest.fixture
def hook() -> Iterator[Hook]:
    with post.web_hook() as server:
        yield server


@pytest.fixture
def people(cast: Cast) -> Cast:
    """The cast with mail addresses."""
    for name, user in cast.users.items():
        user.email = f"{name}@example.com"
        user.save()
    return cast
