"""Ceremonies of WebAuthn: challenges that the server remembers, and answers of authenticators.

A challenge is in the session that asked for it, for one purpose and person, counts once and for
five minutes. The library `fido2` of the extra `sso` checks the answer: type, challenge, origin,
host, presence and verification of the user, signature.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, Final

from dashboard.errors import Invalid

from . import passkeys
from .passkeys import Credential

PENDING: Final = "passkey_challenges"
PENDING_MAX: Final = 4  # pages of one login that wait for a passkey at the same time
SECONDS: Final = 300
ANSWER_MAX: Final = 20_000
ADD, SIGN_IN, CONFIRM = "add", "sign-in", "confirm"
INSTALL: Final = "Passkeys come with an extra: pip install 'gatepost[sso]'."


class Refused(Exception):
    """The answer of an authenticator does not count."""


def unavailable(request: Any) -> str:
    """Why there are no passkeys here, as a sentence; empty where there are."""
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
    options, state = _server(request).register_begin(
        PublicKeyCredentialUserEntity(id=str(user.pk).encode(), name=name, display_name=name),
        _known(user),
        resident_key_requirement=_word("ResidentKeyRequirement", "discouraged"),
        user_verification=_word("UserVerificationRequirement", "required"),
    )
    _remember(request, user, ADD, state)
    return json.dumps(dict(options)["publicKey"])


def begin_using(request: Any, user: Any, purpose: str) -> str:
    """Options to use a passkey with, as JSON; empty where there is none, or none can be used."""
    if unavailable(request) or not (known := _known(user)):
        return ""
    options, state = _server(request).authenticate_begin(
        known, user_verification=_word("UserVerificationRequirement", "required")
    )
    _remember(request, user, purpose, state)
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


def forget(request: Any) -> None:
    """Let no challenge of this session count any more."""
    request.session.pop(PENDING, None)


def _checked[T](raw: str, check: Callable[[Mapping[str, Any]], T]) -> T:
    if len(raw) > ANSWER_MAX:
        raise Invalid("$.credential", f"is longer than {ANSWER_MAX} characters")
    try:
        return check(json.loads(raw))
    except Exception as error:
        raise Refused(str(error)) from error


def _remember(request: Any, user: Any, purpose: str, state: Mapping[str, Any]) -> None:
    pending = {
        "challenge": state["challenge"],
        "purpose": purpose,
        "user": user.pk,
        "at": int(time.time()),
    }
    request.session[PENDING] = [*request.session.get(PENDING, []), pending][-PENDING_MAX:]


def _taken(request: Any, user: Any, purpose: str, client: Any) -> dict[str, Any]:
    """Take the challenge that an answer is about out of the session; raises Refused."""
    from fido2.utils import websafe_encode

    sent = websafe_encode(client.challenge)
    pending = request.session.get(PENDING, [])
    request.session[PENDING] = [one for one in pending if one["challenge"] != sent]
    for one in pending:
        wanted = (sent, purpose, user.pk)
        fresh = 0 <= time.time() - one["at"] <= SECONDS
        if (one["challenge"], one["purpose"], one["user"]) == wanted and fresh:
            if client.cross_origin:
                raise Refused("The page was inside of another one.")
            return {"challenge": sent, "user_verification": "required"}
    raise Refused("Nobody asked for it here, or too long ago.")


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
