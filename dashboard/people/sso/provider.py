"""The client of the provider: sends people there, and checks what they come back with.

django-allauth speaks OpenID Connect (discovery, state, PKCE, tokens, keys); nothing of it is
stored. It is imported only where a provider is configured.
"""

from __future__ import annotations

from typing import Any, Final

import structlog
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from requests import RequestException, Session

from dashboard.configuration.sign_in import Oidc
from dashboard.errors import ActionError

from .provider_calls import ProviderCalls

log = structlog.get_logger("gatepost.sso")
PROVIDER: Final = "sso"
CANCELLED: Final = "cancelled"


class SignInFailed(ActionError):
    """The provider did not vouch for anybody; the sentence says what to do, the log says why."""

    status, code, title = 403, "sign-in-failed", "Signing in did not work"


def oidc() -> Oidc:
    """The configured provider; raises SignInFailed where there is none."""
    if settings.GATEPOST_OIDC is None:
        raise SignInFailed("There is no single sign-on here.")
    return settings.GATEPOST_OIDC


class _Verified(Exception):
    """The claims of a person, checked; leaves the library before it looks for a table."""

    def __init__(self, claims: dict[str, Any]) -> None:
        super().__init__("verified")
        self.claims = claims


class Adapter(DefaultSocialAccountAdapter):
    """Knows the one provider of the settings, and turns the library's failures into ours."""

    def get_requests_session(self) -> Session:
        """Everything that the library asks goes through this."""
        return ProviderCalls()

    def list_apps(self, request: Any, provider: Any = None, client_id: Any = None) -> list[Any]:
        """The provider of the settings alone: none can be slipped into a table."""
        (app,) = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
        made = SocialApp(
            **{key: app[key] for key in ("provider_id", "name", "client_id", "secret")},
            provider=OpenIDConnectProvider.id,
            settings=app["settings"],
        )
        return [made]

    def on_authentication_error(
        self,
        request: Any,
        provider: Any,
        error: Any = None,
        exception: Any = None,
        extra_context: Any = None,
    ) -> None:
        """Raise SignInFailed."""
        if error == CANCELLED:
            raise SignInFailed("The provider says that you did not agree to sign in.")
        # Only the kind: an answer of the provider may hold codes and tokens.
        log.warning("sign-in failed at the provider", error=type(exception).__name__)
        raise SignInFailed(
            "The provider did not confirm who you are, or this took longer than ten minutes. "
            "Start again from the sign-in page."
        )


class _CheckedAdapter(OpenIDConnectOAuth2Adapter):
    """The library's client with every check switched on."""

    def get_callback_url(self, request: Any, app: Any) -> str:
        """The address that the provider sends people back to."""
        address: str = request.build_absolute_uri(reverse("sso_callback"))
        return address

    def complete_login(self, request: Any, app: Any, token: Any, **kwargs: Any) -> Any:
        """Raise _Verified with the claims of both tokens, or OAuth2Error."""
        if not kwargs["response"].get("id_token"):
            raise OAuth2Error("no id_token")
        if str(self.openid_config["issuer"]).rstrip("/") != oidc().issuer:
            raise OAuth2Error("another issuer")
        # The library would trust the connection; the signature is checked as well.
        self.did_fetch_access_token = False
        data = super().complete_login(request, app, token, **kwargs).account.extra_data
        if data["userinfo"].get("sub") != data["id_token"].get("sub"):
            raise OAuth2Error("userinfo of somebody else")
        raise _Verified(data["id_token"] | data["userinfo"])


def begin(request: HttpRequest) -> HttpResponse:
    """Send somebody to the provider; raises SignInFailed where it does not answer."""
    provider = OpenIDConnectProvider(request, app=Adapter(request).list_apps(request)[0])
    provider.oauth2_adapter_class = _CheckedAdapter
    try:
        answer: HttpResponse = provider.redirect(request, process="login")
    except (RequestException, LookupError, ValueError) as error:
        log.warning("the provider does not answer", error=type(error).__name__)
        raise SignInFailed(
            f"{oidc().name} does not answer at the moment. Try again soon."
        ) from error
    return answer


def claims_of(request: HttpRequest) -> dict[str, Any]:
    """The claims of a person who comes back from the provider; raises SignInFailed."""
    try:
        OAuth2CallbackView.adapter_view(_CheckedAdapter(request, PROVIDER))(request)
    except _Verified as verified:
        return verified.claims
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        log.warning("the provider's answer cannot be read", error=type(error).__name__)
    raise SignInFailed("The provider's answer cannot be read. Ask the person who runs Gatepost.")
