"""Limit API calls, by address first, then by token or login, and by person.

Each answer says how the limits stand, in the fields of the IETF draft "RateLimit header fields for
HTTP": `RateLimit-Policy: "token";q=6000;w=60` and `RateLimit: "token";r=5998;t=41`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from dashboard.identity import rate_limits
from dashboard.identity.permissions import Grant
from dashboard.identity.rate_limits import (
    API_PERSON,
    STRANGERS,
    Limit,
    LimitState,
    TooMany,
    Use,
)
from dashboard.kit.shapes.django_request import django_request

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
    uses = [Use(by_address, address, "address")]
    if "Authorization" in request.headers:
        uses.append(Use(STRANGERS, address, more=0))
    row, *strangers = rate_limits.count(*uses)
    _note(request, by_address, row)
    for state in strangers:
        if state is not None and state.left <= 0:
            raise TooMany(STRANGERS.message, state.seconds)
    try:
        authenticate(request)
    except AuthenticationFailed:
        STRANGERS.spend(address)
        raise
    if not request.user.is_authenticated:
        STRANGERS.spend(address)
        return
    grant, person = request.auth, f"user:{request.user.pk}"
    if isinstance(grant, Grant):
        account = Use(by_account, f"token:{grant.prefix}", "token")
    else:
        account = Use(by_account, person, "login")
    if by_account is not rate_limits.API_ACCOUNT:
        _note(request, by_account, *rate_limits.count(account))
        return
    row, of_person = rate_limits.count(account, Use(API_PERSON, person, "person"))
    if row is not None and row.left < 0:
        API_PERSON.give_back(person)  # a token that runs wild keeps nobody's others out
    _note(request, by_account, row)
    _note(request, API_PERSON, of_person)


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


def _note(request: Request, limit: Limit, row: LimitState | None) -> None:
    """Keep how a limit stands for the answer; raises TooMany beyond it."""
    if row is None:
        return
    setattr(request, _STANDINGS, [*getattr(request, _STANDINGS, []), row])
    if row.left < 0:
        raise TooMany(limit.message, row.seconds)
