"""Memory of the workspace, inside of an agent or without one: remember, recall, forget.

The token needs the scope `memory`; that of an agent, `work`, remembers and recalls. Without
`settings` those of the environment. Each call raises Refused. A memory is the JSON of the API;
`outside` marks a text that came from outside: it is data and no instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from .wire import api
from .wire.flow import Flow
from .wire.settings import Settings
from .wire.transports import Blocking


def remember(
    text: str,
    *,
    scope: str = "workspace",
    owner: str = "",
    kind: str = "fact",
    metadata: Mapping[str, Any] | None = None,
    outside: bool = False,
    expires_in: int | None = None,
    key: str = "",
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Keep a text that agents can recall; with a `key` of yours it is there once.

    `owner` is a thread's id, an agent's name or a person (`user:7`), by the `scope`.
    """
    body = {"text": text, "scope": scope, "owner": owner, "kind": kind, "outside": outside}
    body |= {"metadata": dict(metadata)} if metadata else {}
    body |= {"expires_in": expires_in} if expires_in else {}
    body |= {"key": key or uuid4().hex}  # one for all attempts of this call
    result: dict[str, Any] = _perform(api.remember(body), settings)
    return result


def recall(
    words: str = "", *, k: int = 5, settings: Settings | None = None, **filters: str
) -> list[dict[str, Any]]:
    """Search the memory that agents have; without words the newest comes first.

    `filters` are those of the API, such as scope="agent", agent="payments".
    """
    query = {"q": words, "limit": str(k), "state": "kept", **filters}
    results: list[dict[str, Any]] = _perform(api.list_memories(query), settings)["results"]
    return results


def correct(
    memory: str, text: str, *, reason: str, settings: Settings | None = None
) -> dict[str, Any]:
    """Give a memory another text."""
    return _changed(memory, "correct", {"text": text, "reason": reason}, settings)


def forget(memory: str, *, reason: str, settings: Settings | None = None) -> dict[str, Any]:
    """Delete the text of a memory for good."""
    return _changed(memory, "forget", {"reason": reason}, settings)


def _changed(
    memory: str, verb: str, body: dict[str, Any], settings: Settings | None
) -> dict[str, Any]:
    result: dict[str, Any] = _perform(api.change_memory(memory, verb, body), settings)
    return result


def _perform(flow: Flow[Any], settings: Settings | None) -> Any:
    chosen = settings or Settings.from_environment()
    with Blocking(chosen.url, chosen.headers) as transport:
        return transport.perform(flow)
