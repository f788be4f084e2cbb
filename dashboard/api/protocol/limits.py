"""How often the API may be called, by address first and then by token or login."""

from __future__ import annotations

from collections.abc import Callable

from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from dashboard.api.shapes.django_request import django_request
from dashboard.identity import rate_limits
from dashboard.identity.permissions import Grant
from dashboard.identity.rate_limits import Limit


def known(
    request: Request,
    authenticate: Callable[[Request], None],
    by_address: Limit = rate_limits.API_ADDRESS,
    by_account: Limit = rate_limits.API_ACCOUNT,
) -> None:
    """Sign in and count the call; raises TooMany and AuthenticationFailed.

    Calls of strangers have a limit of their own, which is looked at before a token is.
    """
    address = rate_limits.address_of(django_request(request))
    by_address.spend(address)
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
    grant = request.auth
    who = f"token:{grant.prefix}" if isinstance(grant, Grant) else f"user:{request.user.pk}"
    by_account.spend(who)


def hook(request: Request, hook_id: str) -> None:
    """Count a delivery, by its hook and by its address; raises TooMany."""
    rate_limits.HOOKS.spend(f"address:{rate_limits.address_of(django_request(request))}")
    rate_limits.HOOKS.spend(f"hook:{hook_id[:100]}")
