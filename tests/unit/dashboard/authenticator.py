"""An authenticator in software: it creates passkeys and signs challenges, also wrongly."""

from __future__ import annotations

import json
import secrets
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from dashboard.identity.second_factor import passkeys
from dashboard.identity.second_factor.passkeys import Credential, PasskeyRow

SITE = "http://testserver"
FLAGS = AuthenticatorData.FLAG
VERIFIED = FLAGS.UP | FLAGS.UV


class Authenticator:
    """One key pair; it counts its signatures from `count` on."""

    def __init__(self, count: int = 0) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.ident = secrets.token_bytes(16)
        self.count = count
        cose: Any = ES256
        public = cose.from_cryptography_key(self.key.public_key())
        self.data = AttestedCredentialData.create(bytes(16), self.ident, public)

    def create(self, options: str, *, site: str = SITE, flags: Any = VERIFIED) -> str:
        """The answer to options to create a passkey with."""
        asked_for = json.loads(options)
        data = self._data(asked_for["rp"]["id"], flags | FLAGS.AT, bytes(self.data))
        client = self._client("webauthn.create", asked_for, site)
        attestation = AttestationObject.create("none", data, {})
        return self._answer(clientDataJSON=client, attestationObject=attestation)

    def sign(
        self, options: str, *, site: str = SITE, flags: Any = VERIFIED, host: str = "", **more: Any
    ) -> str:
        """The answer to options to use a passkey with; the count rises."""
        asked_for = json.loads(options) | more
        self.count += 1
        data = self._data(host or asked_for["rpId"], flags)
        client = self._client("webauthn.get", asked_for, site)
        signature = self.key.sign(bytes(data) + client.hash, ec.ECDSA(SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=data, signature=signature)

    def added(self, user: Any, name: str = "Laptop") -> PasskeyRow:
        """The row of its passkey, added for a user past the browser."""
        credential = Credential(self.ident, bytes(self.data), self.count)
        return passkeys.add(user, name, credential, actor=f"user:{user.pk}")

    def _data(self, host: str, flags: Any, credential: bytes = b"") -> AuthenticatorData:
        digest = sha256(host.encode()).digest()
        data: AuthenticatorData = AuthenticatorData.create(digest, flags, self.count, credential)
        return data

    def _client(self, kind: str, options: Any, site: str) -> CollectedClientData:
        challenge = websafe_decode(options["challenge"])
        return CollectedClientData.create(
            kind, challenge, site, cross_origin=options.get("cross", False)
        )

    def _answer(self, **parts: bytes) -> str:
        ident = websafe_encode(self.ident)
        response = {name: websafe_encode(part) for name, part in parts.items()}
        answer = {"id": ident, "rawId": ident, "type": "public-key", "response": response}
        return json.dumps(answer)
