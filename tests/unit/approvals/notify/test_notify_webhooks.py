"""Webhooks: signatures that a receiver can check, secrets that change, places never called."""

from __future__ import annotations

import hmac
import re
import socket
import ssl
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from approvals.notify import endpoints, queries
from approvals.notify.channels import addresses, webhook
from approvals.notify.channels.addresses import Target
from approvals.notify.endpoints import Wanted
from approvals.notify.sender import Sender
from approvals.notify.texts.kinds import NotDelivered
from checkpoints import queries as ground
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from tests.support.cast import Cast
from tests.unit.approvals import post
from tests.unit.approvals.news import open_request, states, tell
from tests.unit.approvals.post import Got, Hook

pytestmark = pytest.mark.usefixtures("loopback")


def signed_by(got: Got, secret: str) -> bool:
    """As a receiver checks it, written anew after the specification."""
    key = b64decode(secret.removeprefix("whsec_"))
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    wanted = "v1," + b64encode(hmac.new(key, signed, sha256).digest()).decode()
    return wanted in got.headers["webhook-signature"].split(" ")


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.requirement("C35")
def test_while_a_secret_is_replaced_both_sign(cast: Cast, hook: Hook) -> None:
    made, old = endpoints.make(
        cast.workspace, "webhook", Wanted(name="agent", target=hook.url), actor="user:1"
    )
    assert old.startswith("whsec_")
    assert len(b64decode(old.removeprefix("whsec_"))) == 32
    row = open_request(cast)

    def sent() -> Got:
        tell(row, "approval.decided")
        Sender().drain()
        return hook.got[-1]

    got = sent()
    assert signed_by(got, old)
    assert not signed_by(got, "whsec_" + b64encode(b"x" * 32).decode())
    new = endpoints.rotate(made, workspace=cast.workspace, actor="user:1", overlap=3600)
    assert new != old
    got = sent()
    assert (signed_by(got, old), signed_by(got, new)) == (True, True)
    with connection.cursor() as cursor:  # an hour later
        cursor.execute(
            "UPDATE gp_endpoint SET secrets = jsonb_set(secrets, '{1,until}', "
            "to_jsonb(clock_timestamp() - interval '1 second'))"
        )
    got = sent()
    assert (signed_by(got, old), signed_by(got, new)) == (False, True)
    last = endpoints.rotate(made, workspace=cast.workspace, actor="user:1", overlap=0)
    got = sent()
    assert (signed_by(got, new), signed_by(got, last)) == (False, True)


@pytest.mark.requirement("C35")
def test_the_receiver_of_the_how_to_takes_each_message_once(cast: Cast, hook: Hook) -> None:
    page = Path(__file__).resolve().parents[4] / "docs" / "howto" / "notifications.md"
    [code] = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    receiver: dict[str, Any] = {}
    exec(code, receiver)
    receive = receiver["receive"]
    made, secret = endpoints.make(
        cast.workspace, "webhook", Wanted(name="agent", target=hook.url), actor="user:1"
    )
    new = endpoints.rotate(made, workspace=cast.workspace, actor="user:1")
    hook.answers = [500]
    tell(open_request(cast), "approval.decided", outcome="approve")
    Sender().drain()
    first, again = hook.got
    payload = receive(first.headers, first.body, secret)
    assert payload["data"]["outcome"] == "approve"
    assert receive(again.headers, again.body, new) is None  # the same message, not once more
    for headers, body, key in (
        (first.headers, first.body + b" ", secret),
        (first.headers | {"webhook-id": "msg_other"}, first.body, secret),
        (first.headers, first.body, "whsec_" + b64encode(b"x" * 32).decode()),
        (first.headers | {"webhook-timestamp": "1"}, first.body, secret),
    ):
        with pytest.raises(ValueError, match=r"too old|not signed"):
            receive(headers, body, key)


def test_no_secret_and_no_address_is_read_logged_or_told(
    cast: Cast, hook: Hook, caplog: Any
) -> None:
    address = f"{hook.url}/T0K3N-in-the-path?key=hush"
    made, secret = endpoints.make(
        cast.workspace, "webhook", Wanted(name="agent", target=address), actor="user:1"
    )
    newer = endpoints.rotate(made, workspace=cast.workspace, actor="user:1")
    endpoints.change(made, Wanted(target=address + "2"), workspace=cast.workspace, actor="user:1")
    hook.answers = [500] * 9
    tell(open_request(cast), "approval.decided")
    Sender().drain()
    messages = [repr(queries.endpoint(made, workspace=cast.workspace)), caplog.text]
    messages += [repr(one) for one in queries.deliveries(made, workspace=cast.workspace)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, data::text FROM gp_workspace_event ORDER BY seq")
        events = cursor.fetchall()
    messages += [text for _, text in events]
    assert {"endpoint.made", "endpoint.rotated", "endpoint.changed"} <= {k for k, _ in events}
    for hidden in (secret, newer, secret[6:], newer[6:], "T0K3N", "hush"):
        assert all(hidden not in text for text in messages), hidden
    assert "notify.not_delivered" in caplog.text
    assert hook.got[0].path.endswith("/T0K3N-in-the-path?key=hush2")


def test_what_an_endpoint_may_be(cast: Cast) -> None:
    def made(kind: str, **values: Any) -> Any:
        return endpoints.make(
            cast.workspace, kind, Wanted(**{"name": "n", **values}), actor="user:1"
        )

    for kind, values, path in (
        ("fax", {}, "kind"),
        ("webhook", {}, "target"),
        ("webhook", {"target": "ftp://example.com"}, "target"),
        ("webhook", {"target": "https://user:pw@example.com/"}, "target"),
        ("webhook", {"target": "https://example.com/#x"}, "target"),
        ("webhook", {"target": "https://exämple.com/"}, "target"),
        ("webhook", {"target": "https://example.com/a b"}, "target"),
        ("webhook", {"target": "https://example.com/\r\nX: y"}, "target"),
        ("webhook", {"target": "https://10.0.0.1/"}, "target"),
        ("webhook", {"target": "https://[::1]/"}, "target"),
        ("webhook", {"target": "https://example.com:99999/"}, "target"),
        ("webhook", {"target": "https://e.com/", "digest": 5}, "digest"),
        ("webhook", {"target": "https://e.com/", "people": ["manager"]}, "people"),
        ("webhook", {"target": "https://e.com/", "events": ["thread.started"]}, "events"),
        ("webhook", {"target": "https://e.com/", "events": []}, "events"),
        ("email", {"target": "not an address"}, "target"),
        ("email", {"people": ["nobody-at-all"]}, "people"),
        ("email", {"people": ["stranger"]}, "people"),  # of another workspace
        ("email", {"digest": 5000}, "digest"),
        ("email", {"name": "  "}, "name"),
        ("email", {"name": "x" * 101}, "name"),
        ("apprise", {"target": "json://10.0.0.1/"}, "target"),
        ("apprise", {"target": "syslog://"}, "target"),
        ("apprise", {"target": "slack://incomplete"}, "target"),
    ):
        with pytest.raises(InvalidValue) as caught:
            made(kind, **values)
        assert caught.value.path == path, (kind, values)
        assert "pw@" not in str(caught.value)
    ident, secret = made("email")
    assert secret == ""
    with pytest.raises(InvalidValue, match="another endpoint"):
        made("email")
    with pytest.raises(NotAllowedNow):
        endpoints.rotate(ident, workspace=cast.workspace, actor="user:1")
    with pytest.raises(NotFound):
        endpoints.rotate(ident, workspace=cast.elsewhere, actor="user:1")
    assert queries.endpoints(workspace=cast.elsewhere) == []


def test_switched_off_it_gets_nothing_and_what_was_open_is_dropped(cast: Cast, hook: Hook) -> None:
    made, _ = endpoints.make(
        cast.workspace, "webhook", Wanted(name="agent", target=hook.url), actor="user:1"
    )
    row = open_request(cast)
    tell(row, "approval.decided")
    from approvals.notify.fan_out import spread

    spread()
    assert endpoints.switch(made, False, workspace=cast.workspace, actor="user:1")
    assert not endpoints.switch(made, False, workspace=cast.workspace, actor="user:1")
    tell(row, "approval.decided")
    Sender().drain()
    assert (hook.got, states(made, cast)) == ([], ["skipped"])
    with pytest.raises(NotAllowedNow):
        endpoints.try_out(made, workspace=cast.workspace, actor="user:1")
    endpoints.switch(made, True, workspace=cast.workspace, actor="user:1")
    endpoints.try_out(made, workspace=cast.workspace, actor="user:1")
    Sender().drain()
    assert [got.json["type"] for got in hook.got] == ["endpoint.test"]


# --- where messages never go ----------------------------------------------------------------------

REFUSED = """\
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.9.9.9
168.63.129.16 169.254.169.254 169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1
192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1
255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1
64:ff9b::a00:1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::1
2002:a00:1:: fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ::ffff:100.64.0.1
"""
PUBLIC = "1.1.1.1 8.8.8.8 93.184.216.34 172.32.0.1 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808"


@pytest.fixture
def strict(settings: Any) -> None:
    settings.GATEPOST_WEBHOOK_HTTP = False
    settings.GATEPOST_WEBHOOK_NETWORKS = []
    settings.GATEPOST_WEBHOOK_PORTS = [443, 8443]


@pytest.mark.parametrize("text", REFUSED.split())
def test_addresses_that_are_not_of_the_public_internet(
    strict: None, text: str, monkeypatch: Any
) -> None:
    assert not addresses.permitted(ip_address(text))
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    post.resolver(monkeypatch, {"inside.example": [text.partition("%")[0]]})
    target = Target("https", "inside.example", 443, "/")
    with pytest.raises(NotDelivered, match="not of the public internet"):
        webhook.post(target, b"{}", {}, timeout=1)


@pytest.mark.parametrize("text", PUBLIC.split())
def test_public_addresses(strict: None, text: str) -> None:
    assert addresses.permitted(ip_address(text))


@pytest.mark.parametrize(
    "address",
    [
        "https://2130706433/",  # 127.0.0.1 as one number
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://localhost/",
        "https://[::ffff:7f00:1]/",
    ],
)
def test_other_spellings_lead_to_the_same_refusal(strict: None, address: str) -> None:
    try:
        target = addresses.parse(address)
    except InvalidValue:
        return
    with pytest.raises(NotDelivered):
        addresses.resolved(target)


@pytest.mark.parametrize("port", [22, 25, 80, 5432, 6379, 8080])
def test_other_ports_are_refused(strict: None, port: int) -> None:
    with pytest.raises(InvalidValue, match="one of the ports 443, 8443"):
        addresses.parse(f"https://example.com:{port}/")
    with pytest.raises(InvalidValue, match="must begin with https://"):
        addresses.parse("http://example.com/")


def test_a_name_with_one_bad_address_is_refused_whole(strict: None, monkeypatch: Any) -> None:
    post.resolver(monkeypatch, {"both.example": ["8.8.8.8", "10.0.0.1"]})
    with pytest.raises(NotDelivered):
        addresses.resolved(Target("https", "both.example", 443, "/"))


def test_a_name_that_changes_its_mind_gains_nothing(
    cast: Cast, hook: Hook, monkeypatch: Any, settings: Any
) -> None:
    """DNS rebinding: asked once, and connected to exactly what was judged."""
    settings.GATEPOST_WEBHOOK_NETWORKS = ["127.0.0.2/32"]
    answers = {"turncoat.example": ["127.0.0.2"]}
    asked_for = post.resolver(monkeypatch, answers)
    dialled: list[tuple[str, int]] = []
    real = socket.create_connection

    def connect(address: Any, *args: Any, **more: Any) -> Any:
        dialled.append(address)
        # From now on the name leads elsewhere; whoever asked again would go there.
        answers["turncoat.example"] = ["127.0.0.1"]
        return real(("127.0.0.1", address[1]), *args, **more)

    monkeypatch.setattr(socket, "create_connection", connect)
    target = Target("http", "turncoat.example", hook.port, "/in")
    assert webhook.post(target, b"{}", {}, timeout=2) == 204
    assert dialled == [("127.0.0.2", hook.port)]
    assert asked_for == ["turncoat.example"]
    assert hook.got[0].headers["host"] == f"turncoat.example:{hook.port}"
    with pytest.raises(NotDelivered, match="public internet"):
        webhook.post(target, b"{}", {}, timeout=2)
    assert len(hook.got) == 1


# --- encryption -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For hook.example alone, signed by itself."""
    return post.self_signed(tmp_path_factory.mktemp("tls"), "hook.example")


@pytest.fixture
def secured(certificate: Path) -> Iterator[tuple[Hook, list[str | None]]]:
    """A receiver that speaks TLS, and the names it was greeted with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, f"{certificate}.key")
    greeted: list[str | None] = []
    context.sni_callback = lambda _sock, name, _context: greeted.append(name)
    with post.web_hook(context) as server:
        yield server, greeted


def test_name_and_certificate_are_those_of_the_endpoint(
    secured: tuple[Hook, list[str | None]], certificate: Path, monkeypatch: Any, settings: Any
) -> None:
    hook, greeted = secured
    settings.GATEPOST_WEBHOOK_CA = str(certificate)
    post.resolver(monkeypatch, {n: ["127.0.0.1"] for n in ("hook.example", "other.example")})
    target = Target("https", "hook.example", hook.port, "/in")
    assert webhook.post(target, b"{}", {}, timeout=5) == 204
    assert greeted == ["hook.example"]
    assert hook.got[0].headers["host"] == f"hook.example:{hook.port}"
    with pytest.raises(NotDelivered, match="certificate of the endpoint is not trusted"):
        webhook.post(Target("https", "other.example", hook.port, "/"), b"{}", {}, timeout=5)
    settings.GATEPOST_WEBHOOK_CA = ""
    with pytest.raises(NotDelivered, match="certificate of the endpoint is not trusted"):
        webhook.post(target, b"{}", {}, timeout=5)
    assert len(hook.got) == 1


# --- chats ----------------------------------------------------------------------------------------


def test_a_chat_is_told_in_plain_text(cast: Cast, hook: Hook, settings: Any) -> None:
    settings.GATEPOST_APPRISE_SCHEMES = ["json"]  # apprise's own way to any HTTP server
    made, _ = endpoints.make(
        cast.workspace,
        "apprise",
        Wanted(name="chat", target=f"json://user:T0K3N@127.0.0.1:{hook.port}/in"),
        actor="user:1",
    )
    row = open_request(cast, title="Pay <b>100</b>\u202e")
    tell(row)
    hook.answers = [200]
    Sender().drain()
    [got] = hook.got
    assert got.json["title"] == "Approval needed: Pay <b>100</b>[U+202E]"
    assert f"/approvals/{row.id}/?src=mail" in got.json["message"]
    endpoint = queries.endpoint(made, workspace=cast.workspace)
    assert endpoint.target == "json://…"
    hook.answers = [500, 500, 500, 500]
    tell(row)
    Sender().drain()
    [failed] = [
        one for one in queries.deliveries(made, workspace=cast.workspace) if one.state == "failed"
    ]
    assert failed.error == "The service did not take the message."
    events = ground.workspace_events(cast.workspace).rows
    assert events[0].kind == "endpoint.made"
    assert all("T0K3N" not in repr(event) for event in events)
