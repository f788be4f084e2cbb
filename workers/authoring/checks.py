"""Checks of what an author passes, and how a value of theirs is shown in a sentence."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from typing import Any

from checkpoints.state.channels import Append, LastValue, Merge, Reducer
from checkpoints.state.encrypted import Encrypted
from checkpoints.state.searchable import CHANNELS_MAX, Searchable
from checkpoints.states import ROLES

from .errors import GraphError, StepFailed

SHOWN_MAX = 200
_PATH = re.compile(r"(?:[^:]+:)?\$(?:[.\[].+)?")
_REPR = reprlib.Repr(maxlevel=3, maxstring=SHOWN_MAX, maxother=SHOWN_MAX)


def shown(value: Any) -> str:
    """A value of the author's in a sentence: its repr, cut off; its type where that fails."""
    try:
        text = _REPR.repr(value)
    except Exception:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def is_number(value: Any) -> bool:
    """Answer True for an int or float, not for a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_text(value: Any, what: str) -> None:
    """Refuse what is no text; `what` begins the sentence."""
    if not isinstance(value, str):
        raise StepFailed(f"{what} must be text, not {type(value).__name__}.")


def check_exempt(paths: Any) -> None:
    """Refuse exceptions for secrets that name no path, or give no reason."""
    if not isinstance(paths, Mapping):
        raise GraphError("secrets_allowed takes a dict of paths and reasons.")
    for path, reason in paths.items():
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            raise GraphError(
                f'secrets_allowed: {shown(path)} is not a path; write "$.channel" or "tool:$.key".'
            )
        if not isinstance(reason, str) or not reason.strip():
            raise GraphError(f"secrets_allowed: {path!r} needs a reason as text.")


def check_message_channel(
    channel: str, fields: Mapping[str, Any], reducers: Mapping[str, Reducer]
) -> None:
    """Refuse a message channel that the state does not have, or that takes no items."""
    if channel not in fields:
        raise GraphError(f"The message channel {channel!r} is not a channel of the state.")
    if not isinstance(reducers[channel], Append):
        raise GraphError(
            f"The message channel {channel!r} must be an Append channel: "
            f"{channel}: Annotated[list[...], Append()] = []."
        )


def encrypted_of(
    fields: Mapping[str, Any], reducers: Mapping[str, Reducer]
) -> dict[str, Encrypted]:
    """The declaration of each encrypted channel; GraphError for one that cannot be encrypted.

    `fields` are those of a Pydantic model.
    """
    results: dict[str, Encrypted] = {}
    for name, info in fields.items():
        if Encrypted in info.metadata:
            raise GraphError(f"Channel {name!r}: write Encrypted(readers=(...)), not Encrypted.")
        named = [m for m in info.metadata if isinstance(m, Encrypted)]
        if not named:
            continue
        if len(named) > 1:
            raise GraphError(f"Channel {name!r} names Encrypted more than once.")
        readers = _readers(name, named[0].readers)
        if not isinstance(reducers[name], LastValue):
            raise GraphError(
                f"Channel {name!r} is encrypted and has the reducer {type(reducers[name]).__name__}"
                ": only a channel whose new value replaces the old one can be encrypted."
            )
        extra = info.json_schema_extra
        if isinstance(extra, Mapping) and extra.get("x-title"):
            raise GraphError(f"Channel {name!r} is encrypted and cannot be the title of a thread.")
        results[name] = Encrypted(readers)
    return results


def _readers(name: str, readers: Any) -> tuple[str, ...]:
    """The roles in the order of all, each once; GraphError for what is no list of roles."""
    if isinstance(readers, str) or not isinstance(readers, tuple | list | set | frozenset):
        raise GraphError(
            f'Channel {name!r}: readers of Encrypted is a list of roles: ("auditor", "admin").'
        )
    if not readers:
        raise GraphError(f"Channel {name!r} is encrypted and names no role that may read it.")
    for role in readers:
        if role not in ROLES:
            raise GraphError(
                f"Channel {name!r}: {shown(role)} is not a role; there are {', '.join(ROLES)}."
            )
    return tuple(role for role in ROLES if role in readers)


def searchable_of(fields: Mapping[str, Any], reducers: Mapping[str, Reducer]) -> tuple[str, ...]:
    """The searchable channels; GraphError for one that cannot be, and for too many.

    `fields` are those of a Pydantic model.
    """
    results = []
    for name, info in fields.items():
        if Searchable in info.metadata:
            raise GraphError(f"Channel {name!r}: write Searchable(), not Searchable.")
        if not any(isinstance(m, Searchable) for m in info.metadata):
            continue
        if any(isinstance(m, Encrypted) for m in info.metadata):
            raise GraphError(f"Channel {name!r} is encrypted and cannot be searchable.")
        if isinstance(reducers[name], Append | Merge):
            raise GraphError(
                f"Channel {name!r} is searchable and has the reducer "
                f"{type(reducers[name]).__name__}: only a channel whose new value replaces the old "
                "one can be searchable."
            )
        results.append(name)
    if len(results) > CHANNELS_MAX:
        raise GraphError(
            f"{len(results)} channels are searchable; at most {CHANNELS_MAX} of a state can be."
        )
    return tuple(sorted(results))


def check_prompts(temperature: Any, prompts: Any) -> None:
    """Raise GraphError for what is no temperature and no texts by name."""
    if temperature is not None and not is_number(temperature):
        raise GraphError(f"temperature={shown(temperature)} isn't a number.")
    texts = isinstance(prompts, Mapping) and all(
        isinstance(name, str) and isinstance(text, str) for name, text in prompts.items()
    )
    if not texts:
        raise GraphError('prompts is a dict of texts by name: prompts={"brief": "Be brief."}.')
