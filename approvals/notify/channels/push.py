"""Web push: messages encrypted for one browser (RFC 8291), signed for its push service (RFC 8292).

The push service carries what it cannot read. The key that signs (VAPID) follows from SECRET_KEY:
all processes have the same one, and nothing has to be stored. A browser's subscription is bound to
it.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas

from .addresses import Target

MESSAGE_MAX: Final = 3_000  # bytes before encryption; push services take 4,096 after it
TTL_SECONDS: Final = 24 * 3600  # for so long a push service keeps it for a phone that is off
_TOKEN_SECONDS: Final = 12 * 3600
_RECORD: Final = 4_096
_CURVE: Final = ec.SECP256R1()
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def encrypted(
    message: bytes,
    *,
    p256dh: str,
    auth: str,
    salt: bytes = b"",
    private: ec.EllipticCurvePrivateKey | None = None,
) -> bytes:
    """The body of a push message as `aes128gcm`, for the browser with these keys.

    `salt` and `private` are new for each message; tests name those of the RFC's example.
    """
    theirs = bytes_of(p256dh, "p256dh", 65)
    own = private or ec.generate_private_key(_CURVE)
    salt = salt or os.urandom(16)
    mine = _point(own.public_key())
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, theirs))
    secret = _derived(shared, bytes_of(auth, "auth", 16), b"WebPush: info\0" + theirs + mine, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + _RECORD.to_bytes(4) + len(mine).to_bytes(1) + mine
    return header + AESGCM(key).encrypt(nonce, message + b"\x02", None)


def headers(address: Target, *, now: datetime) -> Mapping[str, str]:
    """The headers that go with such a body to a push service."""
    claims = {
        "aud": address.shown,
        "exp": int(now.timestamp()) + _TOKEN_SECONDS,
        "sub": settings.GATEPOST_BASE_URL,
    }
    return {
        "Authorization": f"vapid t={_token(claims)}, k={public_key()}",
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(TTL_SECONDS),
        "Urgency": "high",
    }


def public_key() -> str:
    """The key that browsers subscribe with."""
    return _text(_point(_signing_key().public_key()))


def bytes_of(text: str, path: str, size: int) -> bytes:
    """A browser's key from base64url; raises InvalidValue for another size, or no point."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if len(raw) != size:
            raise ValueError
        if size == 65:
            ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, raw)
    except (ValueError, binascii.Error):
        raise InvalidValue(path, "is not a key of a browser") from None
    return raw


def _signing_key() -> ec.EllipticCurvePrivateKey:
    # 48 bytes: taken modulo the order of the curve, no key is likelier than another one.
    seed = _derived(settings.SECRET_KEY.encode(), b"", b"gatepost-vapid-1", 48)
    return ec.derive_private_key(int.from_bytes(seed) % (_ORDER - 1) + 1, _CURVE)


def _token(claims: Mapping[str, object]) -> str:
    parts = (deltas.canonical({"typ": "JWT", "alg": "ES256"}), deltas.canonical(dict(claims)))
    signed = ".".join(map(_text, parts))
    r, s = decode_dss_signature(_signing_key().sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_text(r.to_bytes(32) + s.to_bytes(32))}"


def _derived(secret: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=size, salt=salt or None, info=info).derive(secret)


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
