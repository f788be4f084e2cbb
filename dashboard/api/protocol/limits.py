"""Limit API calls, by address first, then by token or login, and by person.

Each answer says how the limits stand, in the fields of the IETF draft "RateLimit header fields for
HTTP": `RateLimit-Policy: "token";q=6000;w=60` and `RateLimit: "token";r=5998;t=41`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from dashboard.api.shapes.django_request import django_request
from dashboard.identity import rate_limits
from dashboard.identity.permissions import Grant
from dashboard.identity.rate_limits import Limit, LimitState, TooMany

POLICY: Final = "RateLimit-Policy"
LIMIT: Final = "RateLimit"
_STANDINGS: Final = "_gatepost_standings"


def known(
    request: Request,
    authenticate: Callable[[Request], None],
    by_address: Limit = rate_limits.API_ADDRESS,
    by_account: Limit = rate_limits.API_ACCOUNT,
) -> None:
    """Sign in and count the call; raises TooMany and AuthenticationFailed.

    Calls of strangers have a limit of their own, which is looked at before a token is. Reports of
    agents are counted by address and token alone.
    """
    address = rate_limits.address_of(django_request(request))
    _spend(request, by_address, address, "address")
    sent = "Authorization" in request.headers
    if sent:
        rate_limits.STRANGERS.check(address)
    try:
        authenticate(request)
    except AuthenticationFailed:
        rate_limits.STRANGERS.spend(address)
        raise
    if not request.user.is_authenticated:
        rate_limits.STRANGERS.spend(address)
        return
    grant, person = request.auth, f"user:{request.user.pk}"
    by_token = isinstance(grant, Grant)
    who = f"token:{grant.prefix}" if isinstance(grant, Grant) else person
    _spend(request, by_account, who, "token" if by_token else "login")
    if by_account is rate_limits.API_ACCOUNT:
        _spend(request, rate_limits.API_PERSON, person, "person")


def announce(request: Any, response: Any) -> None:
    """Put the fields into an answer; none where nothing is limited."""
    standings: list[LimitState] = getattr(request, _STANDINGS, [])
    if standings:
        response[POLICY] = ", ".join(f'"{s.name}";q={s.most};w={s.period}' for s in standings)
        response[LIMIT] = ", ".join(
            f'"{s.name}";r={max(0, s.left)};t={s.seconds}' for s in standings
        )


def hook(request: Request, hook_id: str) -> None:
    """Count a delivery, by its hook and by its address; raises TooMany."""
    rate_limits.HOOKS.spend(f"address:{rate_limits.address_of(django_request(request))}")
    rate_limits.HOOKS.spend(f"hook:{hook_id[:100]}")


def _spend(request: Request, limit: Limit, who: str, name: str) -> None:
    row = limit.spent(who, name)
    if row is None:
        return
    setattr(request, _STANDINGS, [*getattr(request, _STANDINGS, []), row])
    if row.left < 0:
        raise TooMany(limit.message, row.seconds)
