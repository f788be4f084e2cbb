"""Filters and paths of SCIM: as much of their grammar as directories send; pure."""

from __future__ import annotations

import json
import re
from typing import Final

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard.errors import ActionError

_EQUALS: Final = re.compile(
    r'\s*([A-Za-z][\w.:$-]{0,200})\s+eq\s+("(?:[^"\\]|\\.){0,500}")\s*', re.IGNORECASE
)
_PATH: Final = re.compile(
    r"([A-Za-z]\w{0,100})(?:\[(.{1,600})\])?(?:\.([A-Za-z]\w{0,100}))?", re.DOTALL
)
_EXTENSION: Final = re.compile(r"urn:[\w.:$-]{1,300}", re.IGNORECASE)
_CORE: Final = re.compile(r"urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):", re.IGNORECASE)


class WrongFilter(ActionError):
    """A filter that is not understood."""

    status, code, title = 400, "invalid-filter", "The filter is not understood"


class WrongPath(ActionError):
    """A path that is not understood."""

    status, code, title = 400, "invalid-path", "The path is not understood"


def equals(text: str) -> tuple[str, str]:
    """(attribute in small letters, value) of `attribute eq "value"`; raises WrongFilter."""
    match = _EQUALS.fullmatch(text)
    if match is None:
        raise WrongFilter('Filters have the form: attribute eq "value".')
    try:
        value = json.loads(match[2])
    except ValueError:
        raise WrongFilter("The value of the filter is not JSON text.") from None
    try:
        deltas.check(value, "filter")
    except InvalidValue as error:
        raise WrongFilter(f"The value of the filter: {error.reason}.") from None
    return _CORE.sub("", match[1]).lower(), str(value)


def parsed(path: str) -> tuple[str, str, str]:
    """(attribute, filter, sub-attribute), in small letters but the filter; raises WrongPath.

    `members[value eq "7"]`, `name.givenName`, `emails[type eq "work"].value`, `active`. A path
    of a schema that we do not keep (`urn:…:enterprise:2.0:User:manager`) is one attribute.
    """
    plain = _CORE.sub("", path.strip())
    if _EXTENSION.fullmatch(plain):
        return plain.lower(), "", ""
    match = _PATH.fullmatch(plain)
    if match is None:
        raise WrongPath("The path is not understood.")
    return match[1].lower(), match[2] or "", (match[3] or "").lower()
