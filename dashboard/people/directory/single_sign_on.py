"""Sign in at the provider: there, and back with an account and its roles."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from dashboard.configuration.sign_in import SINGLE_SIGN_ON
from dashboard.errors import ActionError
from dashboard.identity.rate_limits import STRANGERS, address_of
from dashboard.kit.pages.base import SeeOther, page_of_ours, refused
from dashboard.people.accounts.users import LIMITS, SUBJECT_MAX
from dashboard.people.directory.arrivals import Arrival, arrive
from dashboard.people.sso import provider
from dashboard.people.sso.claims import named_by, names, text

NEXT: Final = "sso_next"


@login_not_required
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    """Send the person to the provider; where they wanted to go is kept in their session."""
    try:
        STRANGERS.spend(address_of(request))
        wanted = request.GET.get("next", "")
        request.session[NEXT] = page_of_ours(request, wanted, settings.LOGIN_REDIRECT_URL)
        return provider.begin(request)
    except ActionError as error:
        return _refused(request, error)


@login_not_required
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Take somebody in whom the provider vouches for; everybody else gets a page that says why."""
    try:
        STRANGERS.spend(address_of(request))
        person = arrival_of(provider.claims_of(request))
        wanted = request.session.pop(NEXT, settings.LOGIN_REDIRECT_URL)
        _use_up(request)
        user = arrive(person, actor=f"sso:{urlsplit(person.issuer).hostname}")
    except ActionError as error:
        return _refused(request, error)
    login(request, user, SINGLE_SIGN_ON)
    # Roles follow the groups at each sign-in, so a login must not last for ever.
    request.session.set_expiry(int(provider.oidc().hours * 3600))
    return SeeOther(wanted)


def arrival_of(claims: dict[str, object]) -> Arrival:
    """Somebody as their claims say; raises SignInFailed without a subject or a name."""
    oidc = provider.oidc()
    subject = text(claims, "sub", SUBJECT_MAX + 1)
    named = named_by(
        claims,
        oidc.username_claim,
        name_max=LIMITS["username"] + 1,
        email_max=LIMITS["email"],
    )
    if not 0 < len(subject) <= SUBJECT_MAX or not named.username:
        raise provider.SignInFailed(
            f"The provider sent no user: it has to send `sub` and `{oidc.username_claim}`."
        )
    return Arrival(
        issuer=oidc.issuer,
        subject=subject,
        username=named.username,
        name_is_vouched=named.vouched,
        email=named.email,
        first_name=text(claims, "given_name", LIMITS["first_name"]),
        last_name=text(claims, "family_name", LIMITS["last_name"]),
        groups=names(claims, oidc.groups_claim),
    )


def _use_up(request: HttpRequest) -> None:
    """Let what began here count once; of requests at the same moment, one.

    The library takes its state out of a session that each of them has read; a row is deleted once.
    """
    session = request.session
    if not Session.objects.filter(session_key=session.session_key).delete()[0]:
        session.modified = False  # the cookie is by now that of who signed in
        raise provider.SignInFailed(
            "This sign-in was used already. Start again from the sign-in page."
        )
    session.cycle_key()


def _refused(request: HttpRequest, error: ActionError) -> HttpResponse:
    return refused(request, error, back=settings.LOGIN_URL, label="To the sign-in page")
