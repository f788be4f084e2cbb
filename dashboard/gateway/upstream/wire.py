"""Messages of MCP: JSON-RPC as the gateway reads and answers it; pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Set
from typing import Any, Final

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas

type Message = dict[str, Any]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
# The gateway's own: a request that waits for people, or that they or an admin refused.
NOT_ALLOWED: Final = -32000
MISSING_CAPABILITY: Final = -32021

TASKS: Final = "io.modelcontextprotocol/tasks"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_OF_REQUEST: Final = frozenset({VERSION, CAPABILITIES, META_CLIENT})
# Of `_meta` what the protocol itself defines is sent on to the server: anything else could change
# what a call does, and nobody was shown it.
_META_PREFIX: Final = "io.modelcontextprotocol/"
_META: Final = frozenset({"progressToken", "traceparent", "tracestate", "baggage"})
_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
# The member whose value the header Mcp-Name repeats.
NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}


class Refused(Exception):
    """A message that is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str, status: int = 200, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, data

    def answer(self, ident: Any) -> Message:
        """The error as the answer to a request."""
        error: Message = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": ident, "error": error}


def parse(raw: bytes) -> Message:
    """One message; raises Refused.

    The strict decoder: of a name that stands twice it could read another one than the server does.
    """
    try:
        message = deltas.decode_request(raw)
    except InvalidValue as error:
        raise Refused(PARSE_ERROR, f"The message can't be read: {error}", 400) from error
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, "One JSON-RPC 2.0 message is taken, and no batch.", 400)
    # A server that reads names more loosely would take `Method` for the method.
    if other := sorted(message.keys() - _MEMBERS):
        raise Refused(INVALID_REQUEST, f"{other[0]!r} is not a member of JSON-RPC.", 400)
    ident, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if ident is not None and (not isinstance(ident, str | int) or isinstance(ident, bool)):
        raise Refused(INVALID_REQUEST, "$.id must be a text or a whole number.", 400)
    is_answer = "result" in message or "error" in message
    if "method" in message and (is_answer or not isinstance(method, str)):
        raise Refused(INVALID_REQUEST, "$.method must be a text, and of no answer.", 400)
    if "method" not in message and not is_answer:
        raise Refused(INVALID_REQUEST, "$.method is missing.", 400)
    if not isinstance(params, dict):
        raise Refused(INVALID_PARAMS, "$.params must be an object.", 400)
    if not isinstance(params.get("_meta", {}), dict):
        raise Refused(INVALID_PARAMS, "$.params._meta must be an object.", 400)
    return message


def is_request(message: Message) -> bool:
    """True for a message that wants an answer."""
    return "method" in message and message.get("id") is not None


def result(ident: Any, value: Any) -> Message:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": ident, "result": value}


def meta_of(message: Message) -> Message:
    """`_meta` of a request; empty without one."""
    meta: Message = message.get("params", {}).get("_meta") or {}
    return meta


def is_modern(message: Message) -> bool:
    """True for a request with a protocol version of its own, as since 2026-07-28."""
    return VERSION in meta_of(message)


def knows_tasks(message: Message) -> bool:
    """True where the client declares the tasks extension with this request."""
    capabilities = meta_of(message).get(CAPABILITIES)
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return isinstance(extensions, dict) and TASKS in extensions


def passed_on(message: Message, *, governed: bool) -> Message:
    """The message as the server gets it: without tasks, which are the gateway's own.

    `governed`: people or policies decided about what they were shown of it.
    """
    params = message.get("params")
    if not isinstance(params, dict) or "_meta" not in params:
        return message
    meta = dict(params["_meta"])
    if governed:
        meta = {k: v for k, v in meta.items() if k.startswith(_META_PREFIX) or k in _META}
    if knows_tasks(message):
        capabilities = dict(meta[CAPABILITIES])
        extensions = {k: v for k, v in capabilities["extensions"].items() if k != TASKS}
        meta[CAPABILITIES] = capabilities | {"extensions": extensions}
    return message | {"params": params | {"_meta": meta}}


def tool_call(message: Message, known: Set[str]) -> tuple[str, dict[str, Any], bool]:
    """(tool, arguments, whether nothing else decides what the call does); raises Refused.

    `known` are the parameters that a call may have.
    """
    if not is_request(message):
        # A server may act on it all the same, and nobody could be given its outcome.
        raise Refused(INVALID_REQUEST, "$.id is missing: a tool call is a request.", 400)
    params = message.get("params", {})
    name, args = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not name:
        raise Refused(INVALID_PARAMS, "$.params.name must name a tool.")
    if args is not None and not isinstance(args, dict):
        raise Refused(INVALID_PARAMS, "$.params.arguments must be an object.")
    for other in sorted(params.keys() - known):
        raise Refused(INVALID_PARAMS, f"$.params.{other} is not a part of a tool call.")
    # `task` was the client's wish in 2025-11-25; the server ignores it since.
    plain = not params.keys() - {"name", "arguments", "_meta", "task"}
    return name, args or {}, plain


def text_result(text: str, *, modern: bool, is_error: bool = True) -> Message:
    """A result of a tool call that says a sentence to the agent."""
    value: Message = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return value | {"resultType": "complete"} if modern else value


def param_headers(schema: Any, args: Any) -> dict[str, str]:
    """The headers in which a call repeats arguments whose schema wants that (`x-mcp-header`)."""
    headers: dict[str, str] = {}
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not isinstance(args, Mapping):
        return headers
    for name, below in properties.items():
        if name not in args or not isinstance(below, Mapping):
            continue
        value = args[name]
        header = below.get("x-mcp-header")
        if isinstance(header, str) and isinstance(value, str | int):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            headers[f"mcp-param-{header}".lower()] = header_value(text)
        headers |= param_headers(below, value)
    return headers


def header_value(text: str) -> str:
    """A text as a header carries it."""
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="
