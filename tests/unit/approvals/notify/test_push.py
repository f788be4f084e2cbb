"""Web push: what browsers and push services get, delivered to a push service that decrypts it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from approvals.notify import devices, endpoints
from approvals.notify.channels import addresses, push
from approvals.notify.devices import Subscribed
from approvals.notify.sender import Sender
from checkpoints import store
from checkpoints.chain import verify_workspace
from checkpoints.encryption.columns import EncryptedColumn
from checkpoints.encryption.keys import new_key
from checkpoints.errors import InvalidValue, NotFound
from tests.support.cast import Cast
from tests.unit.approvals.post import Got, web_hook
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

CURVE = ec.SECP256R1()
# RFC 8291, appendix A.
EXAMPLE = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIA"
    "iw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
RESULT = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS"
    "6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qu"
    "lcy4a-fN"
)


def raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class Browser:
    """A browser's keys, and how it opens a message: RFC 8188 and 8291 from the other end."""

    def __init__(self) -> None:
        self.private, self.auth = ec.generate_private_key(CURVE), b"sixteen bytes ok"
        self.public = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )

    def at(self, address: str) -> Subscribed:
        return Subscribed(address, text(self.public), text(self.auth))

    def opened(self, body: bytes) -> Any:
        salt, size, named = body[:16], int.from_bytes(body[16:20]), body[20]
        assert (size, named) == (4096, 65)
        theirs, sealed = body[21:86], body[86:]
        shared = self.private.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVE, theirs)
        )

        def derived(secret: bytes, by: bytes, info: bytes, n: int) -> bytes:
            return HKDF(algorithm=hashes.SHA256(), length=n, salt=by, info=info).derive(secret)

        secret = derived(shared, self.auth, b"WebPush: info\x00" + self.public + theirs, 32)
        key = derived(secret, salt, b"Content-Encoding: aes128gcm\x00", 16)
        nonce = derived(secret, salt, b"Content-Encoding: nonce\x00", 12)
        message = AESGCM(key).decrypt(nonce, sealed, None)
        assert message[-1] == 2  # the last record
        return json.loads(message[:-1])


def claims_of(request: Got) -> dict[str, Any]:
    """What the server claims, its signature checked as a push service does (RFC 8292)."""
    scheme, _, values = request.headers["authorization"].partition(" ")
    assert scheme == "vapid"
    parts = dict(one.strip().split("=", 1) for one in values.split(","))
    assert parts["k"] == push.public_key()
    signed, _, signature = parts["t"].rpartition(".")
    r, s = (int.from_bytes(raw(signature)[at : at + 32]) for at in (0, 32))
    key = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, raw(parts["k"]))
    key.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(hashes.SHA256()))
    with pytest.raises(InvalidSignature):
        key.verify(encode_dss_signature(r, s), b"other", ec.ECDSA(hashes.SHA256()))
    head, body = (json.loads(raw(one)) for one in signed.split("."))
    assert head == {"typ": "JWT", "alg": "ES256"}
    return dict(body)


def test_the_example_of_the_standard() -> None:
    private = ec.derive_private_key(int.from_bytes(raw(SENDER)), CURVE)
    salt = raw("DGv6ra1nlYgDCS1FRnbzlw")
    message = b"When I grow up, I want to be a watermelon"
    assert text(push.encrypted(message, **EXAMPLE, salt=salt, private=private)) == RESULT


def test_the_key_that_signs_is_always_the_same_one_of_an_installation(settings: Any) -> None:
    key = push.public_key()
    assert key == push.public_key()
    settings.SECRET_KEY = "another"
    assert push.public_key() != key


@pytest.fixture
def here(settings: Any) -> None:
    """Loopback and http are allowed, for the push service of the test."""
    settings.GATEPOST_WEBHOOK_HTTP = True
    settings.GATEPOST_WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    settings.GATEPOST_WEBHOOK_PORTS = [0]
    settings.GATEPOST_BASE_URL = "https://gatepost.example"


def phones(cast: Cast) -> UUID:
    wanted = endpoints.Wanted(name="phones")
    return endpoints.make(cast.workspace, "push", wanted, actor="user:0")[0]


def add(cast: Cast, name: str, wanted: Subscribed, label: str = "phone") -> UUID:
    person = f"user:{cast.users[name].pk}"
    return devices.add(cast.workspace, person, label, wanted, actor=person).id


def left(cast: Cast) -> list[str]:
    return [name for (name,) in rows("SELECT name FROM gp_push_device ORDER BY created_at")]


@pytest.mark.django_db
@pytest.mark.requirement("E01")
def test_a_request_comes_to_the_phone_and_names_its_very_page(cast: Cast, here: None) -> None:
    phones(cast)
    row = scene.waiting(cast.workspace, scene.make_agent(), title="Pay 5,000")
    browser = Browser()
    with web_hook() as service:
        add(cast, "manager", browser.at(f"{service.url}/a"))
        Sender().drain()
        [request] = service.got
    assert request.path == "/in/a"
    assert b"Pay" not in request.body  # the push service cannot read it
    message = browser.opened(request.body)
    assert message["url"] == f"https://gatepost.example/approvals/{row.id}/"
    assert message["title"] == "Approval needed: Pay 5,000"
    assert "Risk" in message["body"]
    headers = request.headers
    assert (headers["content-encoding"], headers["urgency"]) == ("aes128gcm", "high")
    assert int(headers["ttl"]) > 0
    claims = claims_of(request)
    assert claims["aud"] == service.url.removesuffix("/in")
    assert 0 < claims["exp"] - datetime.now(UTC).timestamp() <= 24 * 3600
    assert claims["sub"] == "https://gatepost.example"


@pytest.mark.django_db
@pytest.mark.parametrize("code", [404, 410])
def test_a_device_that_is_gone_is_dropped_and_the_others_get_it(
    cast: Cast, here: None, code: int
) -> None:
    phones(cast)
    scene.waiting(cast.workspace, scene.make_agent())
    with web_hook() as service:
        service.answers = [code]
        add(cast, "manager", Browser().at(f"{service.url}/old"), "old")
        add(cast, "manager", Browser().at(f"{service.url}/new"), "new")
        Sender().drain()
        assert [one.path for one in service.got] == ["/in/old", "/in/new"]
    assert left(cast) == ["new"]
    assert rows("SELECT count(*) FROM gp_delivery WHERE code = 204 AND error = ''") == [(1,)]
    assert verify_workspace(cast.workspace).intact


@pytest.mark.django_db
def test_a_device_that_does_not_answer_is_tried_again(cast: Cast, here: None) -> None:
    phones(cast)
    scene.waiting(cast.workspace, scene.make_agent())
    with web_hook() as service:
        service.answers = [503]
        add(cast, "manager", Browser().at(f"{service.url}/a"))
        Sender().drain()
        waits = "SELECT attempts, code FROM gp_delivery WHERE done_at IS NULL AND failed_at IS NULL"
        assert rows(waits) == [(1, 503)]
        assert left(cast) == ["phone"]
    # The second manager, who is asked as well, has no device.
    assert rows("SELECT skipped FROM gp_delivery WHERE skipped <> ''") == [
        ("The person has no device that takes push.",)
    ]


@pytest.mark.django_db
def test_devices_that_are_refused(cast: Cast) -> None:
    good = Browser()
    for address in (
        "http://push.example/a",
        "https://127.0.0.1/a",
        "https://169.254.169.254/a",
        "https://push.example:22/a",
        "https://me:secret@push.example/a",
        "javascript:alert(1)",
        "",
    ):
        with pytest.raises(InvalidValue) as caught:
            add(cast, "manager", good.at(address))
        assert caught.value.path == "address"
    address = "https://push.example/a"
    for p256dh, auth in (
        ("", text(good.auth)),
        (text(b"\x04" + b"1" * 64), text(good.auth)),  # no point of the curve
        (text(good.public), text(b"short")),
        ("ü", text(good.auth)),
    ):
        with pytest.raises(InvalidValue):
            add(cast, "manager", Subscribed(address, p256dh, auth))
    assert left(cast) == []


@pytest.mark.django_db
def test_devices_come_and_go(cast: Cast) -> None:
    browser, workspace = Browser(), cast.workspace
    first = add(cast, "manager", browser.at("https://push.example/a"))
    assert add(cast, "manager", browser.at("https://push.example/a")) == first
    again = add(cast, "manager", Browser().at("https://push.example/a"))  # with new keys
    assert again != first
    me = f"user:{cast.users['manager'].pk}"
    assert [one.target for one in devices.of_person(workspace, me)] == ["https://push.example"]
    other = f"user:{cast.users['operator'].pk}"
    with pytest.raises(NotFound):
        devices.remove(again, workspace=workspace, person=other, actor=other)
    for n in range(devices.OF_ONE_MAX + 1):
        add(cast, "manager", Browser().at(f"https://push.example/{n}"), f"phone {n}")
    assert len(left(cast)) == devices.OF_ONE_MAX
    assert verify_workspace(workspace).intact
    log = str(rows("SELECT data FROM gp_workspace_event"))
    assert "push.example/" not in log  # addresses are on record by their hash


@pytest.mark.django_db
def test_the_worker_comes_from_our_own_address(cast: Cast, settings: Any) -> None:
    answer = cast.client("operator").get("/push-worker.js")
    assert answer["Content-Type"].startswith("text/javascript")
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    page = cast.client("operator").get("/subscriptions/").content.decode()
    assert 'id="push"' not in page  # nothing sends push here
    phones(cast)
    page = cast.client("operator").get("/subscriptions/").content.decode()
    assert f'data-key="{push.public_key()}"' in page


def test_the_claim_names_the_push_service_only() -> None:
    address = addresses.parse("https://push.example:8443/very/secret?x=1")
    assert "secret" not in str(push.headers(address, now=datetime.now(UTC)))


def stored() -> str:
    return str(rows("SELECT string_agg(d::text, '') FROM gp_push_device d"))


@pytest.mark.django_db
def test_address_and_keys_are_stored_as_ciphertext(cast: Cast) -> None:
    wanted = Browser().at("https://push.example/P4TH")
    add(cast, "manager", wanted)
    for secret in (wanted.address, "P4TH", wanted.p256dh, wanted.auth):
        assert secret not in stored()
    assert "https://push.example" in stored()  # what may be shown of it


@pytest.mark.django_db
def test_devices_of_a_former_version_go_on_and_are_encrypted_by_the_rotation(
    cast: Cast, here: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    phones(cast)
    browser = Browser()
    with web_hook() as service:
        wanted = browser.at(f"{service.url}/a")
        with monkeypatch.context() as former:
            former.setattr(EncryptedColumn, "encrypt", lambda _self, plain, _ident: plain)
            ident = add(cast, "manager", wanted)
        assert wanted.auth in stored()
        assert add(cast, "manager", wanted) == ident  # the same device is known as such
        scene.waiting(cast.workspace, scene.make_agent(), title="Pay 1")
        Sender().drain()
        settings.GATEPOST_ENCRYPTION_KEYS = (old := new_key(),)
        assert store.reencrypt(actor="command") >= 3
        assert wanted.auth not in stored()
        settings.GATEPOST_ENCRYPTION_KEYS = (new_key(), old)
        assert store.reencrypt(actor="command") >= 3
        assert add(cast, "manager", wanted) == ident
        scene.waiting(cast.workspace, scene.make_agent("second"), title="Pay 2")
        Sender().drain()
        assert [one.path for one in service.got] == ["/in/a", "/in/a"]
    assert [browser.opened(one.body)["title"][-5:] for one in service.got] == ["Pay 1", "Pay 2"]
    assert verify_workspace(cast.workspace).intact


@pytest.mark.django_db
def test_a_device_whose_key_is_missing_waits_for_it(cast: Cast, here: None, settings: Any) -> None:
    phones(cast)
    settings.GATEPOST_ENCRYPTION_KEYS = (new_key(),)
    with web_hook() as service:
        wanted = Browser().at(f"{service.url}/a")
        add(cast, "manager", wanted)
        settings.GATEPOST_ENCRYPTION_KEYS = ()
        scene.waiting(cast.workspace, scene.make_agent())
        Sender().drain()
        assert service.got == []
    [(error,)] = rows("SELECT error FROM gp_delivery WHERE failed_at IS NULL AND done_at IS NULL")
    assert "GATEPOST_ENCRYPTION_KEYS" in error
    person = f"user:{cast.users['manager'].pk}"
    assert [one.name for one in devices.of_person(cast.workspace, person)] == ["phone"]
    assert add(cast, "manager", wanted, "again")  # beside it, with the key of now
