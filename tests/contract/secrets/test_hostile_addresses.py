"""Every way out with every spelling of an address inside: nothing connects.

MCP servers have a sweep of their own (tests/dashboard/mcp/test_addresses.py).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from approvals.anchors import channels, destinations
from approvals.notify import devices, endpoints
from approvals.notify.channels import addresses, push, webhook
from approvals.notify.texts.kinds import NotDelivered
from checkpoints.anchors.form import Anchor
from checkpoints.errors import InvalidValue
from tests.cast import Cast
from tests.dashboard.mcp.test_addresses import BRACKETED, SPELLINGS
from workers.authoring.errors import StepFailed
from workers.authoring.language_models import Request
from workers.language.configuration import Configured

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F07")]
HOSTS = [*SPELLINGS, *BRACKETED]


@pytest.fixture
def inside() -> Iterator[tuple[int, list[Any]]]:
    """(port, connections) of a socket of this machine."""
    made: list[Any] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def take() -> None:
        while True:
            try:
                made.append(listening.accept())
            except OSError:
                return

    threading.Thread(target=take, daemon=True).start()
    yield listening.getsockname()[1], made
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


@pytest.fixture(autouse=True)
def strict(settings: Any) -> None:
    settings.GATEPOST_WEBHOOK_HTTP = True
    settings.GATEPOST_WEBHOOK_NETWORKS = []
    settings.GATEPOST_WEBHOOK_PORTS = [0]
    settings.GATEPOST_SEND_SECONDS = 2.0
    settings.GATEPOST_ANCHORS_SECRET = "whsec_" + "c2VjcmV0" * 4


def _anchor() -> Anchor:
    return Anchor(1, 0, "0" * 64, [], "0" * 64, "0" * 64)


@pytest.mark.parametrize("host", HOSTS)
def test_no_way_leads_inside(cast: Cast, inside: Any, host: str) -> None:
    port, connections = inside
    person = f"user:{cast.users['operator'].pk}"
    keys = push.public_key(), "BTBZMqHH6r4Tts7J_aSIgg"
    for scheme in ("http", "https"):
        url = f"{scheme}://{host}:{port}/in"
        wanted = endpoints.Wanted(name=uuid4().hex[:8], target=url)
        with pytest.raises(InvalidValue):
            endpoints.make(cast.workspace, "webhook", wanted, actor="user:1")
        device = devices.Subscribed(url, *keys)
        with pytest.raises(InvalidValue):
            devices.add(cast.workspace, person, "phone", device, actor=person)
        # As a version before this rule kept it.
        target = addresses.Target(scheme, host.strip("[]"), port, "/in")
        with pytest.raises(NotDelivered):
            webhook.post(target, b"{}", {}, timeout=2)
        with pytest.raises(NotDelivered):
            channels.post_webhook(url, _anchor(), lambda text: text)
        for authority in _authorities(url):
            with pytest.raises(NotDelivered):
                channels.stamp(authority, _anchor())
        with pytest.raises(StepFailed):
            Configured()(Request((), model=f"openai:m@{url}#SHOP_KEY"))
    assert connections == []


def _authorities(url: str) -> list[destinations.Destination]:
    """The place that takes time stamps at this address, where the settings take it."""
    try:
        return [destinations.parse(f"tsa+{url}")]
    except ValueError:
        return []
