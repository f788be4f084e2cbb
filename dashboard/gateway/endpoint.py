"""The client behind a message and the server it goes to, looked up anew each time."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from django.core.handlers.asgi import ASGIRequest

from checkpoints.errors import NotFound
from dashboard.errors import ActionError, Forbidden, Malformed, Missing
from dashboard.identity import tokens
from dashboard.identity.permissions import actor_of, require
from dashboard.identity.rate_limits import (
    REPORTS_ACCOUNT,
    REPORTS_ADDRESS,
    STRANGERS,
    address_of,
)

from .conversations import CONVERSATION, Client
from .registry import queries

CONVERSATION_HEADER = "gatepost-conversation"


class Unknown(ActionError):
    """Nobody is known to have sent this."""

    status, code, title = 401, "unauthenticated", "Unauthorized"


def client_of(
    scope: Mapping[str, Any], headers: Mapping[str, str], name: str, tool: str = ""
) -> Client:
    """The client behind a message, and the tool that it calls; raises ActionError.

    A bearer token and nothing else: a browser's login would let any page call tools. Calls are
    counted by address before the token is looked at, then by token.
    """
    address = address_of(ASGIRequest(dict(scope), BytesIO()))
    REPORTS_ADDRESS.spend(address)
    STRANGERS.look(address)
    scheme, _, token = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() != "bearer":
        STRANGERS.spend(address)
        raise Unknown("Send a token of Gatepost: `Authorization: Bearer gp_...`.")
    try:
        user, grant = tokens.presented(token.strip())
    except tokens.Refused as error:
        STRANGERS.spend(address)
        raise Unknown(str(error)) from error
    actor = actor_of(user, grant)
    REPORTS_ACCOUNT.spend(f"token:{grant.prefix}")
    require(actor, "work")
    conversation = headers.get(CONVERSATION_HEADER, "")
    if not CONVERSATION.fullmatch(conversation):
        raise Malformed("Gatepost-Conversation takes up to 80 of a-z, 0-9, ., _ and -.")
    try:
        server, row = queries.server_with_tool(name, tool, workspace=actor.workspace)
    except NotFound as error:
        raise Missing(error.message) from error
    if not server.active:
        raise Forbidden(f"An admin has switched {name!r} off.")
    return Client(actor, server, conversation, row)
