"""The methods of MCP that pass the gateway, by their exact names.

One list for each direction. What is in no list never passes: a client gets -32601 for it, and so
does a server. The gateway itself answers `tasks/*`; `tools/call` and reads are begun as effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from . import wire
from .wire import Message

type Group = Literal["resources", "prompts", "completions"]
type Route = Literal["call", "task", "read", "passed"]

CALL: Final = "tools/call"
CALL_PARAMS: Final = frozenset(
    {"name", "arguments", "_meta", "task", "inputResponses", "requestState"}
)
TASKS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})


@dataclass(frozen=True, slots=True)
class Read:
    """A request that reads from a server: whose mode decides about it, and what it may carry."""

    group: Group
    params: frozenset[str]


def _read(group: Group, *params: str) -> Read:
    return Read(group, frozenset(params))


_INPUT = ("inputResponses", "requestState")
READS: Final[Mapping[str, Read]] = {
    "resources/list": _read("resources", "cursor"),
    "resources/templates/list": _read("resources", "cursor"),
    "resources/read": _read("resources", "uri", *_INPUT),
    "resources/subscribe": _read("resources", "uri"),
    "resources/unsubscribe": _read("resources", "uri"),
    "prompts/list": _read("prompts", "cursor"),
    "prompts/get": _read("prompts", "name", "arguments", *_INPUT),
    "completion/complete": _read("completions", "ref", "argument", "context"),
}
# What passes unasked: requests and notifications by which client and server get to know each other.
PASSED: Final = frozenset({"initialize", "ping", "server/discover", "tools/list"})
CLIENT_NOTIFICATIONS: Final = frozenset(
    {
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
    }
)
# What a server may ask or say while it answers. Whether its client does what is asked, the client's
# own user decides.
SERVER_REQUESTS: Final = frozenset(
    {"ping", "sampling/createMessage", "elicitation/create", "roots/list"}
)
SERVER_NOTIFICATIONS: Final = frozenset(
    {
        "notifications/cancelled",
        "notifications/progress",
        "notifications/message",
        "notifications/elicitation/complete",
        "notifications/resources/updated",
        "notifications/resources/list_changed",
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
    }
)


def route(message: Message) -> Route | None:
    """Say which way a client's message goes; None for a message that is in no list.

    A request is listed as a request, a notification as a notification: a server may act on either.
    """
    if "method" not in message:
        return "passed"  # the answer to what the server asked
    method = message["method"]
    if method == CALL:
        return "call"  # which refuses the call that no answer is wanted of
    if method in TASKS:
        return "task"
    if not wire.is_request(message):
        if method in CLIENT_NOTIFICATIONS:
            return "passed"
    elif method in READS:
        return "read"
    elif method in PASSED:
        return "passed"
    return None


def unlisted(message: Message) -> wire.Refused:
    """The answer to a client whose message is in no list."""
    status = 200 if wire.is_request(message) else 400
    text = f"No method {message['method']!r} passes this gateway."
    return wire.Refused(wire.METHOD_NOT_FOUND, text, status)


def read_params(message: Message) -> Message:
    """Parameters of a read, all seen by people and policies; raises Refused for any other."""
    params = {name: value for name, value in message.get("params", {}).items() if name != "_meta"}
    for other in sorted(params.keys() - READS[message["method"]].params):
        raise wire.Refused(
            wire.INVALID_PARAMS, f"$.params.{other} is not a part of {message['method']}."
        )
    return params


def passes_to_client(message: Message) -> bool:
    """True for what a server says before its answer, and the client may get."""
    method = message.get("method")
    if not isinstance(method, str):
        return False
    return method in (SERVER_REQUESTS if message.get("id") is not None else SERVER_NOTIFICATIONS)


def no_method(message: Message) -> Message:
    """The answer to a server that asked for what passes to no client."""
    return wire.Refused(wire.METHOD_NOT_FOUND, "No such method passes this gateway.").answer(
        message["id"]
    )
