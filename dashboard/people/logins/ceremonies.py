"""Ceremonies of WebAuthn: challenges that this server made, and answers of authenticators.

A challenge is for one session, purpose and person, which its authentication code says, so that
nothing is stored by looking at a page; it counts once and for five minutes. The library `fido2` of
the extra `sso` checks the answer: type, challenge, origin, host, presence and verification of the
user, signature.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, Final

from django.utils.crypto import constant_time_compare, salted_hmac

from dashboard.errors import Invalid
from dashboard.identity.second_factor import passkeys
from dashboard.identity.second_factor.passkeys import Credential

TAKEN: Final = "passkey_challenges"  # of the session: those that were answered
RANDOM, SINCE = 16, 8  # bytes of a challenge before its authentication code
SECONDS: Final = 300
ANSWER_MAX: Final = 20_000
ADD, SIGN_IN, CONFIRM = "add", "sign-in", "confirm"
INSTALL: Final = "Passkeys come with an extra: pip install '.[sso]'."


class Refused(Exception):
    """The answer of an authenticator does not count."""


def unavailable(request: Any) -> str:
    """Explain in a sentence why passkeys are unavailable here; empty if they are available."""
    if find_spec("fido2") is None:
        return INSTALL
    try:
        ip_address(_host(request).strip("[]"))
    except ValueError:
        return ""
    return "Passkeys belong to the name of a site, and this page was opened by an address."


def begin_adding(request: Any, user: Any) -> str:
    """Options to create a passkey with, as JSON for the browser."""
    from fido2.webauthn import PublicKeyCredentialUserEntity

    name = user.get_username()
    options, _ = _server(request).register_begin(
        PublicKeyCredentialUserEntity(id=str(user.pk).encode(), name=name, display_name=name),
        _known(user),
        resident_key_requirement=_word("ResidentKeyRequirement", "discouraged"),
        user_verification=_word("UserVerificationRequirement", "required"),
        challenge=_challenge(request, user, ADD),
    )
    return json.dumps(dict(options)["publicKey"])


def begin_using(request: Any, user: Any, purpose: str) -> str:
    """Options to use a passkey with, as JSON; empty where there is none, or none can be used."""
    if unavailable(request) or not (known := _known(user)):
        return ""
    options, _ = _server(request).authenticate_begin(
        known,
        user_verification=_word("UserVerificationRequirement", "required"),
        challenge=_challenge(request, user, purpose),
    )
    return json.dumps(dict(options)["publicKey"])


def created(request: Any, user: Any, raw: str) -> Credential:
    """The new credential of an answer; raises Refused, and Invalid for what is too long."""
    from fido2.webauthn import RegistrationResponse

    def check(content: Mapping[str, Any]) -> Credential:
        answer = RegistrationResponse.from_dict(content)
        state = _taken(request, user, ADD, answer.response.client_data)
        data = _server(request).register_complete(state, answer)
        credential = data.credential_data
        if credential is None:
            raise Refused("There is no credential in it.")
        return Credential(credential.credential_id, bytes(credential), data.counter)

    return _checked(raw, check)


def use(request: Any, user: Any, purpose: str, raw: str) -> None:
    """Let a passkey of a user count, once; raises Refused, and Invalid for what is too long."""
    if why := unavailable(request):
        raise Refused(why)
    from fido2.webauthn import AuthenticationResponse

    known = _known(user)

    def check(content: Mapping[str, Any]) -> tuple[bytes, int, bytes]:
        answer = AuthenticationResponse.from_dict(content)
        state = _taken(request, user, purpose, answer.response.client_data)
        used = _server(request).authenticate_complete(state, known, answer)
        counter = answer.response.authenticator_data.counter
        return used.credential_id, counter, answer.response.client_data.challenge

    if passkeys.use(user, *_checked(raw, check)) != passkeys.USED:
        raise Refused("It was used before, or is a copy.")


def _checked[T](raw: str, check: Callable[[Mapping[str, Any]], T]) -> T:
    if len(raw) > ANSWER_MAX:
        raise Invalid("$.credential", f"is longer than {ANSWER_MAX} characters")
    try:
        return check(json.loads(raw))
    except Exception as error:
        raise Refused(str(error)) from error


def _challenge(request: Any, user: Any, purpose: str, head: bytes = b"") -> bytes:
    """A new challenge; with the `head` of one (random bytes, seconds), what it has to be."""
    head = head or secrets.token_bytes(RANDOM) + int(time.time()).to_bytes(SINCE)
    text = f"{request.session.session_key} {purpose} {user.pk} {head.hex()}"
    return head + salted_hmac("gatepost.passkey", text, algorithm="sha256").digest()


def _taken(request: Any, user: Any, purpose: str, client: Any) -> dict[str, Any]:
    """Let the challenge that an answer is about count never again; raises Refused."""
    from fido2.utils import websafe_encode

    sent, now = bytes(client.challenge), int(time.time())
    head = sent[: RANDOM + SINCE]
    right = constant_time_compare(_challenge(request, user, purpose, head), sent)
    since = int.from_bytes(head[RANDOM:])
    if not (right and request.session.session_key and 0 <= now - since <= SECONDS):
        raise Refused("It was not requested here, or too long ago.")
    challenge = websafe_encode(sent)
    used = request.session.get(TAKEN, {})
    if challenge in used:
        raise Refused("It was answered before.")
    recent = {one: at for one, at in used.items() if now - at <= SECONDS}
    request.session[TAKEN] = recent | {challenge: since}
    if client.cross_origin:
        raise Refused("The page was embedded in another one.")
    return {"challenge": challenge, "user_verification": "required"}


def _known(user: Any) -> list[Any]:
    from fido2.webauthn import AttestedCredentialData

    return [AttestedCredentialData(data) for data in passkeys.credentials_of(user.pk)]


def _server(request: Any) -> Any:
    from fido2.server import Fido2Server
    from fido2.webauthn import PublicKeyCredentialRpEntity

    origin = f"{request.scheme}://{request.get_host()}"
    site = PublicKeyCredentialRpEntity(id=_host(request), name="Gatepost")
    return Fido2Server(site, verify_origin=lambda sent: sent == origin)


def _host(request: Any) -> str:
    host = str(request.get_host())
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def _word(kind: str, word: str) -> Any:
    from fido2 import webauthn

    return getattr(webauthn, kind)(word)
