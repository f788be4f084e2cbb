"""Secrets that are shown before they are stored: signed, for one person and a quarter of an hour.

Nothing is stored of an app that was never confirmed, and nobody brings a secret of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.core import signing

from dashboard.errors import Invalid
from dashboard.identity.second_factor import codes

SALT: Final = "gatepost.second-factor"
SECONDS: Final = 900
TICKET_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class ProposedFactor:
    """A secret for an authenticator app, also as `otpauth:` address; `ticket` adds it."""

    secret: str
    link: str
    ticket: str

    @property
    def groups(self) -> str:
        """The secret in groups of four, as people read it."""
        return " ".join(self.secret[i : i + 4] for i in range(0, len(self.secret), 4))


def propose(user: Any) -> ProposedFactor:
    """A new secret for a user."""
    return _proposal(user, codes.new_secret())


def proposed(user: Any, ticket: str) -> ProposedFactor:
    """The proposal of a ticket; raises Invalid for an old one, or one of somebody else."""
    if len(ticket) > TICKET_MAX:
        raise Invalid("$.ticket", f"is longer than {TICKET_MAX} characters")
    try:
        content = signing.loads(ticket, salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        content = {}
    if content.get("user") != user.pk:
        raise Invalid("$.ticket", "is no longer valid: begin again with a new secret")
    return _proposal(user, content["secret"])


def _proposal(user: Any, secret: str) -> ProposedFactor:
    ticket = signing.dumps({"user": user.pk, "secret": secret}, salt=SALT)
    return ProposedFactor(secret, codes.link_of(secret, user.get_username()), ticket)
