"""Failures of a model's server; one that passes is asked again (workers.step.retries)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from checkpoints.errors import GatepostError

MESSAGE_MAX = 300
NO_REASON = "no reason"


class ModelFailed(GatepostError):
    """A model's server refused or failed; `status_code` and `headers` are its answer's.

    `body` is the object that it answered with, {} where there was none.
    """

    def __init__(
        self,
        message: str,
        status_code: int,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = headers
        self.body = body or {}


class BadAnswer(GatepostError):
    """A model's server answered something else than its protocol says; it is not asked again."""


class BrokenOff(httpx2.RemoteProtocolError):
    """An answer came in part; the retry policy asks again."""

    def __init__(self) -> None:
        super().__init__("The model's answer broke off before its end.")


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error as a server words it; `status` and `seconds` to wait None where it names none."""

    message: str
    status: int | None = None
    seconds: float | None = None


# The words of servers for errors whose status is not in the body as a number.
STATUS_OF = {
    "overloaded": 529,
    "overloaded_error": 529,
    "engine_overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_reached_error": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "throttlingexception": 429,
    "api_error": 500,
    "server_error": 500,
    "internal": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "unavailable": 503,
    "service_unavailable": 503,
    "serviceunavailable": 503,
    "timeout": 504,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "invalid_request_error": 400,
    "badrequesterror": 400,
    "bad_request": 400,
    "invalid_argument": 400,
    "context_length_exceeded": 400,
    "content_filter": 400,
    "json_validate_failed": 400,
    "failed_precondition": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "insufficient_credits": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found": 404,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
}
# MiniMax answers 200 with a number of its own.
_MINIMAX = {1001: 504, 1002: 429, 1004: 401, 1008: 402, 1026: 400, 1027: 400, 1039: 429, 2013: 400}
_MESSAGES = ("message", "msg", "error_message", "error_msg", "status_msg", "detail", "title")
_ANSWERS = ("choices", "content", "delta", "message", "type")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*s?")


def error_in(
    value: Mapping[str, Any], name: str = "", *, is_refused: bool = False
) -> ServerError | None:
    """The error that an object of an answer reports, None for an answer; `name` of its event.

    `is_refused`: the status said already that it is one.
    """
    base = value.get("base_resp")
    if isinstance(base, Mapping) and base.get("status_code"):
        code = base["status_code"]
        status = _MINIMAX.get(code, 500) if isinstance(code, int) else 500
        return ServerError(_line(base.get("status_msg") or f"error {code}"), status)
    error = value.get("error")
    if error or is_refused or _is_error(value, name):
        about = error if isinstance(error, Mapping) else {"message": error} if error else value
        if isinstance(about.get("error"), Mapping):  # wrapped once more by a gateway
            about = about["error"]
        errors = about.get("errors")
        if not _message_of(about) and isinstance(errors, list) and errors:
            about = errors[0] if isinstance(errors[0], Mapping) else {"message": errors[0]}
        return ServerError(
            _message_of(about) or _message_of(value) or _first(about, "type", "code") or NO_REASON,
            _status_of(about) or _status_of(value),
            _seconds_of(about),
        )
    return None


def _is_error(value: Mapping[str, Any], name: str) -> bool:
    if name == "error" or value.get("type") == "error" or value.get("object") == "error":
        return True
    if value.get("success") is False or value.get("status") == "error":
        return True
    is_answer = any(value.get(key) is not None for key in _ANSWERS if key != "message")
    return not is_answer and any(isinstance(value.get(key), str | list) for key in _MESSAGES)


def _first(about: Mapping[str, Any], *names: str) -> str:
    return next((str(about[name]) for name in names if about.get(name)), "")


def _message_of(about: Mapping[str, Any]) -> str:
    """The words of an error, with those of the provider behind a gateway."""
    words: Any = next((about[name] for name in _MESSAGES if about.get(name)), "")
    if isinstance(words, list):  # FastAPI's form
        words = "; ".join(_entry(entry) for entry in words)
    if isinstance(words, Mapping):
        words = _message_of(words) or json.dumps(words)
    metadata = about.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if raw:
        inner = _inner(raw)
        words = f"{words}: {inner}" if words and inner not in str(words) else words or inner
    return _line(words)


def _entry(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return str(entry)
    path = entry.get("loc")
    return f"{'.'.join(map(str, path))}: {entry.get('msg')}" if path else _message_of(entry)


def _inner(raw: Any) -> str:
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return str(raw)
    error = error_in(value, is_refused=True) if isinstance(value, Mapping) else None
    return error.message if error else str(raw)


def _status_of(about: Mapping[str, Any]) -> int | None:
    for name in ("status_code", "code", "status", "http_code"):
        code = about.get(name)
        if isinstance(code, str) and code.isdecimal() and len(code) == 3:
            code = int(code)
        if type(code) is int and 400 <= code < 600:
            return code
    for name in ("code", "type", "status"):
        if status := STATUS_OF.get(str(about.get(name)).lower()):
            return status
    return None


def _seconds_of(about: Mapping[str, Any]) -> float | None:
    """Seconds to wait that stand in the body: Google's RetryInfo, headers that routers quote."""
    metadata = about.get("metadata")
    quoted = metadata.get("headers") if isinstance(metadata, Mapping) else None
    wishes = [about.get("retry_after")]
    if isinstance(quoted, Mapping):
        wishes += [v for k, v in quoted.items() if str(k).lower() == "retry-after"]
    details = about.get("details")
    if isinstance(details, list):
        wishes += [item.get("retryDelay") for item in details if isinstance(item, Mapping)]
    for wish in wishes:
        if wish is not None and (match := _SECONDS.fullmatch(str(wish).strip())):
            return float(match[1])
    return None


def _line(words: Any) -> str:
    line = " ".join(str(words).split())
    return line if len(line) <= MESSAGE_MAX else f"{line[:MESSAGE_MAX]}…"


def message_of(text: str) -> str:
    """The message of an error's body, in one line."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _line(text)
    if isinstance(value, list) and value:  # Google's form
        value = value[0]
    error = error_in(value, is_refused=True) if isinstance(value, Mapping) else None
    return error.message if error and error.message != NO_REASON else _line(text)


def failure_of(error: ServerError, headers: Mapping[str, str], *, is_amid: bool) -> ModelFailed:
    """The failure that a server reports under status 200, in place of an answer or amid one."""
    status = error.status or 500
    where = "failed amid its answer" if is_amid else f"answered 200 with an error ({status})"
    known = {"retry-after": str(error.seconds)} if error.seconds is not None else headers
    return ModelFailed(f"The model's server {where}: {error.message}", status, known)
