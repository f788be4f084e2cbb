"""Codes of an authenticator app (TOTP, RFC 6238) and recovery codes; pure.

The arithmetic is that of `cryptography`. A recovery code has 80 random bits, so its plain SHA-256
can be stored like that of a token.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from typing import Any, Final

ISSUER: Final = "Gatepost"
DIGITS: Final = 6
PERIOD: Final = 30
SECRET_BYTES: Final = 20
# Codes of the period before and after count as well: clocks differ, and people type.
DRIFT: Final = (0, -1, 1)
RECOVERY_COUNT: Final = 10
RECOVERY_BYTES: Final = 10
RECOVERY_CHARS: Final = 16
CODE_MAX: Final = 40


@dataclass(frozen=True, slots=True)
class Squares:
    """A QR code as an SVG path over a square of `size` units."""

    size: int
    path: str


def new_secret() -> str:
    """A new secret in base32, as people type it into an app."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def link_of(secret: str, account: str) -> str:
    """The `otpauth:` address that an app takes the secret from."""
    return str(_totp(secret).get_provisioning_uri(account, ISSUER))


def period_of(secret: str, code: str, at: float) -> int | None:
    """The number of the period whose code this is, around a time in seconds; None for a wrong one.

    All are compared, each in constant time.
    """
    from cryptography.hazmat.primitives.twofactor import InvalidToken

    totp, raw, result = _totp(secret), plain(code).encode(), None
    for drift in DRIFT:
        period = int(at // PERIOD) + drift
        try:
            totp.verify(raw, period * PERIOD)
        except InvalidToken:
            continue
        result = period
    return result


def code_at(secret: str, at: float) -> str:
    """The code that an app shows at a time."""
    return str(_totp(secret).generate(int(at)).decode())


def new_recovery_codes() -> list[str]:
    """As many as somebody gets, each in four groups of four."""
    raw = [base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)) for _ in range(RECOVERY_COUNT)]
    texts = [text.decode().lower() for text in raw]
    return ["-".join(text[i : i + 4] for i in range(0, RECOVERY_CHARS, 4)) for text in texts]


def is_recovery(code: str) -> bool:
    """Distinguish a recovery code from one of an app by its length."""
    return len(plain(code)) == RECOVERY_CHARS


def digest_of(code: str) -> str:
    """The hash of a recovery code, however it is spaced and in either case."""
    return sha256(plain(code).lower().encode()).hexdigest()


def plain(code: str) -> str:
    """A code without the spaces and hyphens between its groups."""
    return "".join(c for c in code if c.isascii() and c.isalnum())


def squares_of(text: str) -> Squares | None:
    """The QR code of a text; None where the package of the extra is not installed."""
    if find_spec("qrcode") is None:
        return None
    import qrcode  # of the extra `sso`

    rows = _matrix(qrcode, text)
    dark = (f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, on in enumerate(row) if on)
    return Squares(len(rows), "".join(dark))


def _matrix(module: Any, text: str) -> list[list[bool]]:
    made = module.QRCode(border=4)
    made.add_data(text)
    made.make(fit=True)
    result: list[list[bool]] = made.get_matrix()
    return result


def _totp(secret: str) -> Any:
    # Here: 20 ms that other starts need not wait for.
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.totp import TOTP

    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), PERIOD)  # noqa: S303
