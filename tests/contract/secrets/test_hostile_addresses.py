"""Every way out with every spelling of an address inside: nothing connects.

MCP servers have a sweep of their own: tests/unit/dashboard/gateway/test_addresses.py. What settings
name may be this machine in its plain spellings, and nothing else of this list but private networks.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from datetime import date
from io import StringIO
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from django.core.management import call_command
from requests import RequestException

from approvals.anchors import channels, destinations
from approvals.notify import devices, endpoints
from approvals.notify.channels import addresses, push, webhook
from approvals.notify.texts.kinds import NotDelivered
from checkpoints.anchors.form import Anchor
from checkpoints.errors import InvalidValue
from checkpoints.outbound import addresses as rule
from dashboard.identity import tokens
from dashboard.operate.packages import advisories, locked
from dashboard.people.sso.provider_calls import ProviderCalls
from tests.support.cast import Cast
from tests.unit.dashboard.gateway.test_addresses import BRACKETED, SPELLINGS
from workers.authoring.errors import StepFailed
from workers.authoring.language_models import Request
from workers.language.configuration import Configured
from workers.language.endpoints import WireEndpoint
from workers.language.providers import ProviderEndpoint
from workers.step import web_pages
from workers.tracing.exporter import Delivery
from workers.tracing.otlp import OtlpExporter

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F07")]
HOSTS = [*SPELLINGS, *BRACKETED]
PLAIN = ("127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "localhost.", "a.localhost")
PRIVATE = re.compile(
    r"(\[::ffff:)?(127\.\d|10\.|172\.(16|31)\.|192\.168\.|100\.64\.)[\d.]*\d\]?"
    r"|\[(::1|::ffff:7f00:1|fc00::1|64:ff9b::(a00:1|7f00:1))\]"
)
HOSTILE = [host for host in HOSTS if host not in PLAIN and not PRIVATE.fullmatch(host)]
WIRES = ("openai", "anthropic", "openai-chat", "mistral")


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


@pytest.mark.requirement("F12")
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
        with pytest.raises((web_pages.NotRead, httpx2.HTTPError)):
            web_pages.read_page(url, networks=(), may_read=lambda _: True)
    assert connections == []


@pytest.mark.parametrize("host", HOSTS)
def test_no_document_and_no_issuer_leads_the_sign_in_inside(
    inside: Any, settings: Any, host: str
) -> None:
    port, connections = inside
    for scheme in ("http", "https"):
        at = f"{scheme}://{host}:{port}"
        issuers = [f"{scheme}://issuer.example", *([at] if host in HOSTILE else [])]
        for issuer in issuers:
            settings.GATEPOST_OIDC = SimpleNamespace(issuer=issuer)
            with pytest.raises((RequestException, UnicodeError)):
                ProviderCalls().post(f"{at}/token", data={"client_secret": "x"})
    assert connections == []


def test_a_webhook_of_before_is_named_on_its_page_in_the_api_and_by_command(
    cast: Cast, client: Any, settings: Any
) -> None:
    wanted = endpoints.Wanted(name="old", target="https://hook.example:8443/in")
    ident, _ = endpoints.make(cast.workspace, "webhook", wanted, actor="user:1")
    settings.GATEPOST_WEBHOOK_PORTS = [443]
    token = tokens.make(cast.users["admin"], made_by="user:0")[1]
    headers = {"Authorization": f"Bearer {token}"}
    reason = "its address must use one of the ports 443"
    (shown,) = client.get("/api/v1/endpoints/", headers=headers).json()["results"]
    assert reason in shown["refusal"]
    listed = StringIO()
    call_command("endpoint", "list", "--as", "admin", stdout=listed)
    assert "is not called" in " ".join(listed.getvalue().split())
    client.force_login(cast.users["admin"])
    page = f"/admin/approvals/endpoint/{ident}/change/"
    assert reason in client.get(page).text
    settings.GATEPOST_WEBHOOK_PORTS = [443, 8443]
    assert reason not in client.get(page).text


def _authorities(url: str) -> list[destinations.Destination]:
    """The place that takes time stamps at this address, where the settings take it."""
    try:
        return [destinations.parse(f"tsa+{url}")]
    except ValueError:
        return []


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTILE)
def test_settings_lead_to_no_odd_spelling(
    inside: Any, settings: Any, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """As the settings name it; and, where a model was made before, at its call."""
    port, connections = inside
    monkeypatch.setenv("SHOP_KEY", "sk-0123456789abcdef")
    for scheme in ("http", "https"):
        url = f"{scheme}://{host}:{port}/v1"
        assert rule.problem_of_setting(url)
        for provider in WIRES:
            settings.GATEPOST_MODEL = f"{provider}:m@{url}#SHOP_KEY"
            with pytest.raises(StepFailed, match="is not understood"):
                Configured()(Request(("x",)))
        for kind, provider in ((WireEndpoint, "openai"), (ProviderEndpoint, "openai-chat")):
            with pytest.raises((httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, StepFailed)):
                kind(provider, "m", url, "", "SHOP_KEY", stream=True)(Request(("x",)))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        assert OtlpExporter().export([]) is not Delivery.TAKEN
        with pytest.raises(advisories.Unavailable):
            advisories.fetch([locked.Package("a", "1", ())], today=date(2026, 1, 1), url=url)
    assert connections == []
