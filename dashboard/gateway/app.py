"""The gateway as an ASGI application: `/mcp/NAME/` stands before the MCP server of this name.

Async at this edge only. Everything that reads or writes the database is a short call in a thread,
which looks anew at the token, the roles, the server and the tool.
"""

from __future__ import annotations

import re
import time
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError

from dashboard.errors import ActionError
from dashboard.http.body_limits import Message as AsgiMessage
from dashboard.http.body_limits import Receive, Send
from dashboard.live import metrics

from .gateway import of_loop
from .responses import Responder
from .session import Session
from .upstream import wire

log = structlog.get_logger("gatepost.mcp")
PATH: Final = "/mcp/*"
_NAMED: Final = re.compile(r"/mcp/([a-z0-9-]{1,40})/?")
BODY_BYTES: Final = 5 * 1024 * 1024


async def application(scope: AsgiMessage, receive: Receive, send: Send) -> None:
    """Answer one HTTP request below /mcp/."""
    began = time.perf_counter()
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }
    respond = Responder(send, headers.get("accept", ""))
    try:
        await _answer(scope, headers, receive, respond)
    except wire.Refused as error:
        await respond.end(error.answer(None), error.status)
    except ActionError as error:
        await respond.end(_problem(error), error.status, _headers_of(error))
    except (OperationalError, InterfaceError):
        refused = wire.Refused(wire.INTERNAL_ERROR, "The database does not answer; try again.")
        await respond.end(refused.answer(None), 503, {"retry-after": "5"})
    except Exception:
        log.exception("mcp.failed")
        refused = wire.Refused(wire.INTERNAL_ERROR, "Something went wrong here; it is logged.")
        await respond.end(refused.answer(None), 500)
    seconds = time.perf_counter() - began
    metrics.observe("mcp", scope["method"], respond.status or 499, seconds)
    log.info("mcp.answered", method=scope["method"], status=respond.status, ms=seconds * 1000)


async def _answer(
    scope: AsgiMessage, headers: dict[str, str], receive: Receive, respond: Responder
) -> None:
    match = _NAMED.fullmatch(scope["path"])
    if match is None:
        raise wire.Refused(wire.INVALID_REQUEST, "The address is /mcp/NAME/.", 404)
    session = Session(of_loop(), dict(scope), headers, match[1], respond)
    if scope["method"] == "DELETE":
        await session.end()
        return
    if scope["method"] != "POST":
        # A stream without a request would only carry news that nobody has asked for.
        refused = wire.Refused(wire.INVALID_REQUEST, "Messages are sent by POST.")
        await respond.end(refused.answer(None), 405, {"allow": "POST, DELETE"})
        return
    await session.take(await _body(receive), receive)


async def _body(receive: Receive) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise wire.Refused(wire.PARSE_ERROR, "The message broke off.", 400)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_BYTES:
            raise wire.Refused(
                wire.INVALID_REQUEST, f"A message has at most {BODY_BYTES:,} bytes.", 413
            )
        if not message.get("more_body", False):
            return b"".join(parts)


def _problem(error: ActionError) -> wire.Message:
    return wire.Refused(wire.INVALID_REQUEST, error.detail).answer(None)


def _headers_of(error: ActionError) -> dict[str, str]:
    if error.status == 401:
        return {"www-authenticate": 'Bearer realm="gatepost"'}
    return {"retry-after": str(error.retry_after)} if error.retry_after else {}
