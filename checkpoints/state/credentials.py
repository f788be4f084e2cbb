"""Credentials in what is about to be written: known forms, names of keys, registered values; pure.

Rather too little than too much: a value that is refused stops somebody's work, so each form has a
mark that hardly anything else has. A hit names the path and the form, never the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .values import at

MASK: Final = "***"
# Shorter texts hold no credential that has a form of its own.
FORM_MIN: Final = 16
# A registered value has to be unlike a word that texts have by chance.
REGISTERED_MIN, REGISTERED_VARIETY = 12, 6
KEYED_MIN, KEYED_MAX = 8, 8_192
DEPTH_MAX: Final = 128  # values are refused elsewhere long before
_PLAIN: Final = (bool, int, float, type(None))

# (mark, form, name): the form is looked for only in texts that have the mark, which is fast.
FORMS: Final = tuple(
    (mark, re.compile(form), name)
    for marks, form, name in (
        (("AKIA", "ASIA"), r"(?<![A-Za-z0-9])A(?:K|S)IA[A-Z2-7]{16}(?![A-Za-z0-9])", "an AWS key"),
        (
            ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
            r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{36,255}(?![A-Za-z0-9])",
            "a GitHub token",
        ),
        (("github_pat_",), r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", "a GitHub token"),
        (("glpat-",), r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,}", "a GitLab token"),
        (("xox",), r"(?<![A-Za-z0-9])xox[abeoprs]-[0-9]+-[A-Za-z0-9-]{10,}", "a Slack token"),
        (
            ("hooks.slack.com/services/",),
            r"hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}",
            "a Slack webhook",
        ),
        (
            ("k_live_", "k_test_"),
            r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
            "a Stripe key",
        ),
        (
            ("sk-",),
            r"(?<![A-Za-z0-9_-])sk-(?:(?:proj|ant|svcacct|admin|or)-[A-Za-z0-9_-]{20,}"
            r"|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{32,})",
            "a model provider's key",
        ),
        (("AIza",), r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])", "a Google key"),
        (("npm_",), r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", "an npm token"),
        (("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{50,}", "a PyPI token"),
        (("PRIVATE KEY",), r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----", "a private key"),
        (
            ("eyJ",),
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}",
            "a JSON Web Token",
        ),
        (("gp_",), r"(?<![A-Za-z0-9])gp_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", "a token of Gatepost"),
        (("whsec_",), r"(?<![A-Za-z0-9])whsec_[A-Za-z0-9+/]{32,}={0,2}", "a webhook's secret"),
    )
    for mark in marks
)
_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
# Names of keys without underscores, hyphens and capitals.
KEYS: Final = frozenset(
    (
        *("password", "passwd", "passphrase", "apikey", "xapikey", "clientsecret", "secretkey"),
        *("secretaccesskey", "awssecretaccesskey", "privatekey", "accesstoken", "refreshtoken"),
        *("authtoken", "bearertoken", "authorization", "proxyauthorization"),
    )
)
# Whether a text can have a mark at all: most texts have none, and are looked through only here.
_PLAIN_MARKS: Final = ("AKIA", "ASIA", "AIza", "eyJ", "PRIVATE KEY", "hooks.slack.com/services/")
_UNDERSCORED: Final = re.compile(r"gh[pousr]_|github_pat_|k_(?:live|test)_|npm_|gp_|whsec_")
_HYPHENED: Final = re.compile(r"glpat-|xox[abeoprs]-|sk-|pypi-AgE")
_PLACEHOLDER: Final = re.compile(
    r"""(?ix) [*x.•#-]+ | \[?(?:masked|redacted|hidden|withheld|removed|none|null|unset)\]?
      | <.*> | \$?\{.*\} | \$[a-z_]+ | %\w+% | (?:env|file|vault|secret|ref|arn|op|sops):.*"""
)
_SCHEMES: Final = re.compile(r"(?i)(?:basic|bearer|token|apikey|digest)\s+(.+)", re.DOTALL)
_CLASSES: Final = (re.compile(r"[a-z]"), re.compile(r"[A-Z]"), re.compile(r"[0-9]"))
_OTHER: Final = re.compile(r"[^A-Za-z0-9\s]")


@dataclass(frozen=True, slots=True)
class Hit:
    """A credential: its path, and what it looks like."""

    path: str
    what: str


def registrable(values: Iterable[str]) -> tuple[str, ...]:
    """Those values that cannot be in a text by chance, longest first."""
    good = {
        value
        for value in (v.strip() for v in values)
        if len(value) >= REGISTERED_MIN and len(set(value)) >= REGISTERED_VARIETY
    }
    return tuple(sorted(good, key=lambda value: (-len(value), value)))


def form_of(text: str) -> str:
    """Name the form of a credential in a text; "" where there is none."""
    if len(text) >= FORM_MIN and _has_mark(text):
        for mark, form, name in FORMS:
            if mark in text and form.search(text):
                return name
    return ""


def _has_mark(text: str) -> bool:
    a, b, c, d, e, f = _PLAIN_MARKS
    return bool(
        a in text or b in text or c in text or d in text or e in text or f in text
        or ("_" in text and _UNDERSCORED.search(text))
        or ("-" in text and _HYPHENED.search(text))
    )  # fmt: skip


def masked(text: str, registered: Iterable[str] = (), *, mask: str = MASK) -> str:
    """A text with each credential of a known form, and each registered value, replaced.

    Of a private key everything up to its end, or to the end of the text, is.
    """
    for value in registered:
        text = text.replace(value, mask)
    if len(text) >= FORM_MIN:
        if "PRIVATE KEY" in text:
            text = _KEY_BLOCK.sub(mask, text)
        for sign, form, _ in FORMS:
            if sign in text:
                text = form.sub(mask, text)
    return text


def find(
    value: Any, path: str = "$", *, registered: Collection[str] = (), exempt: Collection[str] = ()
) -> Hit | None:
    """The first credential in a JSON value, or in one that becomes JSON; `exempt` are paths."""
    if not _is_suspect(value, registered):
        return None

    def judge(text: str, key: str) -> str:
        if any(one in text for one in registered):
            return "a registered secret"
        if name := form_of(text):
            return f"what looks like {name}"
        return f"what looks like a credential named {key!r}" if is_keyed(key, text) else ""

    return next(_hits(value, path, "", judge, tuple(registered), tuple(exempt), 0), None)


def find_values(value: Any, known: Collection[str], path: str = "$") -> Hit | None:
    """The first text or name in a value that holds one of these, however short they are."""

    def judge(text: str, _key: str) -> str:
        return "a secret" if any(one in text for one in known) else ""

    return next(_hits(value, path, "", judge, tuple(known), (), 0), None)


def _is_suspect(value: Any, registered: Collection[str]) -> bool:
    """Say whether a closer look is worth it; without paths and exceptions, so that it is fast."""
    if isinstance(value, str):
        return _is_suspect_text(value, registered)
    rest: list[tuple[Any, int]] = [(value, 0)]
    while rest:
        one, depth = rest.pop()
        if depth > DEPTH_MAX:
            continue
        if isinstance(one, list | tuple):
            items: Iterable[Any] = one
        else:
            named = one if isinstance(one, dict) else _fields(one)
            items = named.values()
            for name, item in named.items():
                label = str(name)
                if (item and names_a_secret(label)) or (
                    len(label) >= REGISTERED_MIN and _is_suspect_text(label, registered)
                ):
                    return True
        for item in items:
            if isinstance(item, str):
                if len(item) >= REGISTERED_MIN and _is_suspect_text(item, registered):
                    return True
            elif not isinstance(item, _PLAIN):
                rest.append((item, depth + 1))
    return False


def _is_suspect_text(text: str, registered: Iterable[str]) -> bool:
    if len(text) >= FORM_MIN and _has_mark(text):
        return True
    return any(map(text.__contains__, registered))


def _hits(
    value: Any,
    path: str,
    key: str,
    judge: Callable[[str, str], str],
    hidden: tuple[str, ...],
    exempt: tuple[str, ...],
    depth: int,
) -> Iterator[Hit]:
    """The hits in a value in its order; `hidden` is masked in paths."""
    if depth > DEPTH_MAX or (exempt and is_exempt(path, exempt)):
        return
    if isinstance(value, str):
        if what := judge(value, key):
            yield Hit(path, what)
        return
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            # A list under such a name holds credentials, too.
            yield from _hits(item, at(path, index), key, judge, hidden, exempt, depth + 1)
        return
    named = value if isinstance(value, dict) else _fields(value)
    for name, item in named.items():
        label = str(name)
        inner = at(path, masked(label, hidden))
        if what := judge(label, ""):
            yield Hit(inner, what)
        yield from _hits(item, inner, label, judge, hidden, exempt, depth + 1)


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a Pydantic model, which becomes an object; nothing of other values."""
    if isinstance(getattr(type(value), "__pydantic_fields__", None), dict):
        return dict(vars(value))
    return {}


def is_exempt(path: str, exempt: Iterable[str]) -> bool:
    """Say whether a path is one of these, or lies below one."""
    return any(path == one or (path.startswith(one) and path[len(one)] in ".[") for one in exempt)


@lru_cache(4_096)
def names_a_secret(key: str) -> bool:
    """Say whether a name is one that credentials have."""
    return key.lower().replace("_", "").replace("-", "") in KEYS


def is_keyed(key: str, value: str) -> bool:
    """Say whether a text under such a name is a credential: no word, type or placeholder."""
    if not names_a_secret(key):
        return False
    text = value.strip()
    if scheme := _SCHEMES.fullmatch(text):
        text = scheme[1].strip()
    if not KEYED_MIN <= len(text) <= KEYED_MAX or _PLACEHOLDER.fullmatch(text):
        return False
    if any(c.isspace() for c in text):
        return False
    kinds = sum(bool(one.search(text)) for one in (*_CLASSES, _OTHER))
    return kinds >= 2
