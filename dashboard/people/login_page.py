"""Signing in: password and code, one-time link, and signing out."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods
from sesame.utils import get_user

from dashboard.configuration.sign_in import PASSWORDS
from dashboard.errors import Conflict, Forbidden, Invalid
from dashboard.identity import rate_limits
from dashboard.identity.second_factor.records import has_factor
from dashboard.identity.user_changes import renew_password
from dashboard.kit.pages.base import SeeOther, refused
from dashboard.people.logins import attempts, ceremonies
from dashboard.people.logins.listeners import BESIDE, WITH_CODE, WITH_PASSKEY

BY_LINK = "dashboard.identity.backends.Links"


@method_decorator(sensitive_post_parameters("password"), name="dispatch")
class SignIn(LoginView):
    """Name and password; axes counts the failures."""

    template_name = "registration/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Which ways to sign in are open."""
        ways = {"oidc": settings.GATEPOST_OIDC, "passwords": settings.GATEPOST_PASSWORDS}
        return super().get_context_data(**kwargs) | ways

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Refused where passwords are switched off."""
        if not settings.GATEPOST_PASSWORDS:
            return refused(request, Forbidden("Passwords are switched off here."))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """In, or on to the code where the person has a second factor."""
        user = form.get_user()
        renew_password(user, form.cleaned_data["password"])
        if has_factor(user.pk):
            attempts.begin_step(self.request, user, self.get_success_url())
            return SeeOther(reverse("login_code"))
        return super().form_valid(form)

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 401 if form.is_bound else 200
        return response


@sensitive_post_parameters("code", "passkey")
@login_not_required
@require_http_methods(["GET", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """Ask for the code, or a passkey, after the right password; then begin.

    Until then there is no login: the session only says who may enter a code, for ten minutes.
    """
    step = attempts.in_step(request) if settings.GATEPOST_PASSWORDS else None
    if step is None:
        return SeeOther(reverse("login"))
    user, wanted = step
    error = ""
    if request.method == "POST":
        beside, answer = WITH_CODE, request.POST.get("passkey", "")
        try:
            if answer:
                beside = WITH_PASSKEY
                attempts.use_passkey(request, user, ceremonies.SIGN_IN, answer)
            else:
                attempts.use_code(request, user, request.POST.get("code", ""))
        except (attempts.WrongCode, Conflict) as refusal:
            error = refusal.detail
        except Invalid as refusal:
            error = f"The {'passkey' if answer else 'code'} {refusal.reason}."
        else:
            attempts.end_step(request)
            setattr(request, BESIDE, beside)
            login(request, user, PASSWORDS)
            return SeeOther(wanted)
    passkey = ceremonies.begin_using(request, user, ceremonies.SIGN_IN)
    context = {"error": error, "passkey": passkey}
    return render(request, "registration/code.html", context, status=401 if error else 200)


class SignOut(LogoutView):
    """Sign out; by POST only."""

    http_method_names = ["post"]


@login_not_required
@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest) -> HttpResponse:
    """Sign in by a link that works once: GET ?sesame=<token> shows a button, POST uses it up.

    So the link survives programs that look at links in mails and chats. The token is bound to the
    time of the last login. Two uses at the same moment are put in a row by the lock on the user, so
    that the second finds it used.
    """
    token = (request.POST if request.method == "POST" else request.GET).get("sesame", "")
    seen = get_user(token, update_last_login=False) if token else None
    if seen is not None and request.method == "GET":
        context = {"token": token, "name": seen.get_username()}
        return render(request, "registration/one_time.html", context)
    if seen is not None:
        with transaction.atomic():
            get_user_model()._default_manager.select_for_update().get(pk=seen.pk)
            user = get_user(token, update_last_login=False)
            if user is not None:
                login(request, user, BY_LINK)  # sets last_login, which ends the token
                return SeeOther(settings.LOGIN_REDIRECT_URL)
    return render(request, "registration/welcome.html", status=403)


def locked(request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
    """Answer for axes after too many failures."""
    context = {
        "status": 429,
        "title": "Too many attempts",
        "detail": "Too many wrong passwords for this name from this address. Wait a quarter of an "
        "hour, use a browser that you signed in with before, or a one-time link.",
        "back_url": settings.LOGIN_URL,
        "back_label": "To the sign-in page",
    }
    response = render(request, "error.html", context, status=429)
    response["Retry-After"] = str(rate_limits.QUARTER)
    return response


@login_not_required
@require_GET
def favicon(_request: HttpRequest) -> HttpResponse:
    """Browsers ask for it by this name whatever a page says."""
    return HttpResponseRedirect(f"{settings.STATIC_URL}dashboard/favicon.ico")
