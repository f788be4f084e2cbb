"""Credentials in what people and agents elsewhere send: refused with their path, never stored."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.conf import settings

from checkpoints.state import credentials
from checkpoints.state.credentials import Hit
from checkpoints.views import AgentRow
from dashboard.errors import Invalid

LEAVE_OUT = "leave it out, nothing of it is stored"


def check_credentials(
    path: str, value: Any, *, within: str = "", exempt: Collection[str] = ()
) -> None:
    """Raise Invalid for a value that holds a credential; `path` is where the value stands."""
    hit = credential_in(value, path, exempt=exempt)
    if hit:
        raise Invalid(hit.path, f"holds {hit.what}: {LEAVE_OUT}", within=within)


def credential_in(value: Any, path: str = "$", *, exempt: Collection[str] = ()) -> Hit | None:
    """The first credential in a value that this installation refuses; `exempt` are paths."""
    if settings.GATEPOST_CREDENTIALS != "refuse":
        return None
    registered = settings.GATEPOST_SECRET_VALUES
    return credentials.find(value, path, registered=registered, exempt=exempt)


def without_credentials(text: str) -> str:
    """A text of an error with each credential masked."""
    return credentials.masked(text, settings.GATEPOST_SECRET_VALUES)


def exempt_of(agent: AgentRow, call: str = "") -> list[str]:
    """The paths that an agent lets through, of its state or of one of its calls."""
    allowed = agent.graph.get("secrets_allowed", {})
    if call:
        return [one.removeprefix(f"{call}:") for one in allowed if one.startswith(f"{call}:")]
    return list(allowed)
