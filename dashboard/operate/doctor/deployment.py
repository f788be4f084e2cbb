"""Checks of `doctor --deploy` beside `unsafe`: settings that are fine only on one machine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import check_password
from django.utils.csp import CSP

from checkpoints import queries
from dashboard.configuration.valkey import parse
from dashboard.identity import rate_limits
from dashboard.identity.second_factor import requirement
from dashboard.operate.embedded.checks import is_loopback
from dashboard.operate.packages import advisories
from dashboard.operate.packages.locked import packages
from gatepost_command import COMMAND

from .findings import Finding, Seen, ok, warning, wrong
from .unsafe import demo_file

HALF_A_YEAR = 180 * 24 * 3600
CSP_MIDDLEWARE = "django.middleware.csp.ContentSecurityPolicyMiddleware"
# Directives that fall back to nothing when they are left out.
CSP_NEEDED = {
    "default-src": CSP.SELF,
    "frame-ancestors": CSP.NONE,
    "object-src": CSP.NONE,
    "base-uri": CSP.NONE,
    "form-action": CSP.SELF,
}
CSP_LOOSE = (CSP.UNSAFE_INLINE, CSP.UNSAFE_EVAL, "*", "http:", "https:", "data:")
LIMITS = (
    *(limit.setting for limit in rate_limits.LIMITS),
    "GATEPOST_SOCKETS_PER_LOGIN",
    "GATEPOST_UPLOAD_MAX_BYTES",
    "GATEPOST_BODY_SECONDS",
)
# One hash takes half a second: the accounts that can do most, and what is tried first on them.
ACCOUNTS_MAX = 8
GUESSES = ("admin", "password", "gatepost", "changeme")


def public_names(_seen: Seen) -> Iterator[Finding]:
    """People come by a name that the installation knows, over TLS."""
    names = [host for host in settings.ALLOWED_HOSTS if not is_loopback(host.strip("[]"))]
    if not names:
        yield warning(
            "public name",
            "only names of this machine",
            "Set GATEPOST_ALLOWED_HOSTS to the names that people open.",
        )
    for host in names:
        if host.startswith("."):
            yield warning(
                "public name", f"every name under {host}", "Name each host in full instead."
            )
    plain = [
        url
        for url in (settings.GATEPOST_BASE_URL, *settings.CSRF_TRUSTED_ORIGINS)
        if urlsplit(url).scheme != "https"
    ]
    if plain:
        yield wrong(
            "links",
            f"without TLS: {', '.join(plain)}",
            "Let GATEPOST_BASE_URL and GATEPOST_TRUSTED_ORIGINS begin with https://.",
        )
    elif names:
        yield ok("links", settings.GATEPOST_BASE_URL)


def hsts(_seen: Seen) -> Iterator[Finding]:
    """Browsers that came once must not be led to a page without TLS."""
    seconds = settings.SECURE_HSTS_SECONDS
    if seconds < HALF_A_YEAR:
        yield wrong(
            "HSTS",
            f"{seconds} s" if seconds else "off",
            "Set GATEPOST_HTTPS=1 and leave GATEPOST_HSTS_SECONDS at a year (31536000).",
        )
    else:
        yield ok("HSTS", f"{seconds} s")


def cookies(_seen: Seen) -> Iterator[Finding]:
    """A login's cookie travels over TLS only, and neither scripts nor other sites use it."""
    faults = [
        name
        for name, good in (
            ("SESSION_COOKIE_SECURE", settings.SESSION_COOKIE_SECURE),
            ("CSRF_COOKIE_SECURE", settings.CSRF_COOKIE_SECURE),
            ("SESSION_COOKIE_HTTPONLY", settings.SESSION_COOKIE_HTTPONLY),
            ("SESSION_COOKIE_SAMESITE", settings.SESSION_COOKIE_SAMESITE in ("Lax", "Strict")),
            ("CSRF_COOKIE_SAMESITE", settings.CSRF_COOKIE_SAMESITE in ("Lax", "Strict")),
        )
        if not good
    ]
    if faults:
        yield wrong(
            "cookies",
            f"off: {', '.join(faults)}",
            "Set GATEPOST_HTTPS=1 and leave the cookie settings as Gatepost ships them.",
        )
    else:
        yield ok("cookies", "Secure, HttpOnly, SameSite")


def page_policy(_seen: Seen) -> Iterator[Finding]:
    """The Content-Security-Policy lets no script in but our own files."""
    policy: dict[str, Any] = settings.SECURE_CSP
    faults = [
        f"{name} is not {value}"
        for name, value in CSP_NEEDED.items()
        if list(policy.get(name, ())) != [value]
    ]
    for name in ("script-src", "style-src", "default-src"):
        faults += [f"{name} has {value}" for value in policy.get(name, ()) if value in CSP_LOOSE]
    if CSP_MIDDLEWARE not in settings.MIDDLEWARE:
        faults.append("no header is sent")
    if faults:
        yield wrong("page policy", "; ".join(faults), "Restore SECURE_CSP as Gatepost ships it.")
    elif "report-uri" not in policy:
        yield warning(
            "page policy",
            "violations are reported nowhere",
            "Restore report-uri in SECURE_CSP, so that attempts show up in the log.",
        )
    else:
        yield ok("page policy", "own files only, violations are logged")


def limits(_seen: Seen) -> Iterator[Finding]:
    """Limits bound what one sender may cost."""
    off = [name for name in LIMITS if not getattr(settings, name)]
    if off:
        yield wrong("limits", f"off: {', '.join(off)}", f"Unset {off[0]}: its default is a limit.")
    else:
        yield ok("limits", f"{len(LIMITS)} are on")


def passwords(seen: Seen) -> Iterator[Finding]:
    """Nobody who can do much signs in with a password that is tried first, or lies in a file."""
    people = get_user_model().objects.filter(is_active=True)
    weak = []
    for user in people.filter(is_superuser=True).order_by("pk")[:ACCOUNTS_MAX]:
        guesses = (user.get_username(), *GUESSES)
        if user.has_usable_password() and any(check_password(g, user.password) for g in guesses):
            weak.append(user.get_username())
    if weak:
        yield wrong(
            "passwords",
            f"easy to guess: {', '.join(weak)}",
            "Change them: `manage.py changepassword NAME`.",
        )
    path = demo_file(seen)
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError):
        lines = []
    noted = {pair[0]: pair[1] for pair in lines if len(pair) == 2}
    known = [
        user.get_username()
        for user in people.filter(username__in=noted)
        if check_password(noted[user.get_username()], user.password)
    ]
    if known:
        yield wrong(
            "passwords",
            f"{path.name} holds those of {', '.join(sorted(known))}",
            "Change them or deactivate these people, then delete the file.",
        )
    if not (weak or known):
        yield ok("passwords", "none of those that are tried first")


def valkey_login(seen: Seen) -> Iterator[Finding]:
    """Anyone who can speak to Valkey can read and forge doorbells, hints, counts and hot steps."""
    yield _password("Valkey's password", settings.REDIS_URL, "REDIS")
    yield _password("hot store's password", settings.HOT_URL, "GATEPOST_HOT")


def _password(name: str, url: str, setting: str) -> Finding:
    address = parse(url, name=f"{setting}_URL")
    if address.scheme == "unix":
        return ok(name, "a socket in the data folder")
    if not address.password:
        do = f"Start Valkey with --requirepass and set {setting}_PASSWORD."
        return wrong(name, "none", do)
    return ok(name, "set")


def credentials(_seen: Seen) -> Iterator[Finding]:
    """Keys and passwords in data are refused before the record has them for ever."""
    if settings.GATEPOST_CREDENTIALS == "refuse":
        yield ok("credentials", f"refused; {len(settings.GATEPOST_SECRET_VALUES)} registered")
    else:
        yield warning(
            "credentials",
            "what looks like a key or password is stored",
            "Unset GATEPOST_CREDENTIALS, here and where workers start.",
        )


def second_factors(_seen: Seen) -> Iterator[Finding]:
    """Everyone who must have a second factor has one; and those who decide should."""
    rules = queries.second_factor_rules()
    for workspace, name, _ in rules:
        if names := requirement.people_without(workspace):
            yield warning(
                "second factors",
                f"{name}: required and not set up by {', '.join(names)}",
                "They set one up when they sign in next; until then they can do nothing else.",
            )
    if settings.GATEPOST_PASSWORDS and not any(roles for _, _, roles in rules):
        yield warning(
            "second factors",
            "required of nobody",
            f"Call `{COMMAND} workspace second-factor reviewer,admin`.",
        )


def reach(_seen: Seen) -> Iterator[Finding]:
    """Proxies and webhooks are trusted no more widely than needed."""
    for network in settings.GATEPOST_TRUSTED_PROXIES:
        if ip_network(network).prefixlen == 0:
            yield wrong(
                "trusted proxies",
                f"{network}: everybody may claim any address",
                "Name the proxy's own address in GATEPOST_TRUSTED_PROXIES.",
            )
    if settings.GATEPOST_WEBHOOK_HTTP:
        yield warning(
            "webhooks", "may go out without TLS", "Unset GATEPOST_WEBHOOK_HTTP: news is readable."
        )
    if not any(settings.GATEPOST_WEBHOOK_PORTS):
        yield warning("webhooks", "may go to any port", "List the ports in GATEPOST_WEBHOOK_PORTS.")


def known_vulnerabilities(seen: Seen) -> Iterator[Finding]:
    """No package is one that an advisory names, by data that are not old."""
    known = advisories.newest(seen.data)
    bad = advisories.vulnerable(packages(Path(settings.BASE_DIR) / "requirements.lock"), known)
    for one in bad:
        yield wrong(
            "vulnerabilities",
            f"{one.package} {one.version}: {one.id}",
            f"Upgrade it to {one.fixed} or newer."
            if one.fixed
            else "Replace it: nothing is fixed.",
        )
    age = known.age(datetime.now(UTC).date())
    if age > advisories.OLD_DAYS or not known.complete:
        yield warning(
            "advisories",
            f"{'complete' if known.complete else 'collected by hand'}, {age} days old",
            f"Call `{COMMAND} advisories --refresh` where the network allows it.",
        )
    elif not bad:
        yield ok("vulnerabilities", f"none, by advisories of {known.as_of}")
