"""Logging to stderr through structlog; secrets never reach a line."""

import logging.config
import re
from collections.abc import Iterable, MutableMapping
from datetime import date
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

import structlog

from checkpoints.state import credentials

MASK = "[masked]"
_SECRET_NAME = re.compile(
    r"password|passwd|secret|token|authorization|cookie|api_?key|csrf|sesame|sessionid", re.I
)
_NOT_SECRET = {"tokens", "saved_tokens", "token_count", "lease_token_matches"}
# Rather too much than too little: what is masked here is still in the database or in the answer.
_SECRET_TEXT = re.compile(
    r"""(?ix)
    (?P<actor>\buser:[0-9]+/token:[a-z0-9]{8}(?![\w-]))    # whose prefix is no secret
  | (?<=://)[^\s'"<>]*:[^\s'"<>]*(?=@)                    # user:password@ in an address
  | (?<=\bgp_[a-z0-9]{8}_)[A-Za-z0-9_-]{20,}               # tokens of our API, but the prefix
  | (?<=\bwhsec_)[A-Za-z0-9+/=]{16,}                       # secrets of hooks
  | (?:(?<=\bbearer\s)|(?<=\bbasic\s))[\w\-.~+/=]{6,}
  | (?:(?<=\bauthorization[:=])|(?<=\bcookie[:=]))[^\r\n]+
  | (?P<name>\b(?:\w*password|passwd|\w*secret|\w*token|api[_-]?key|sessionid|sesame)
      ["')]?\s*[=:]\s*\(?) (?:'[^']*'|"[^"]*"|[^\s,;&'")}\]]+) # name=value, name: 'value'
    """
)
_registered: list[str] = []
PLAIN = (bool, int, float, type(None))
SPOKEN = (str, UUID, date, Decimal, PurePath)


def masked(value: Any) -> Any:
    """The value with what looks like a secret replaced; lists and dicts are copied.

    Anything that is no JSON is logged by its `repr`, and so is masked as well.
    """
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, dict):
        return {
            key: MASK
            if isinstance(key, str) and key not in _NOT_SECRET and _SECRET_NAME.search(key)
            else masked(item)
            for key, item in value.items()
        }
    if type(value) in (list, tuple):
        return type(value)(masked(item) for item in value)
    text = str(value) if isinstance(value, SPOKEN) else repr(value)
    text = _SECRET_TEXT.sub(lambda result: result["actor"] or (result["name"] or "") + MASK, text)
    return credentials.masked(text, _registered, mask=MASK)


def register(values: Iterable[str]) -> None:
    """Mask these values, too, wherever a line has them (GATEPOST_SECRET_NAMES)."""
    _registered[:] = values


def mask_secrets(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The last step before a line is written."""
    # Django adds the whole request to what it logs: address, query and all; uvicorn its text again.
    inner = {
        key: value
        for key, value in event.items()
        if not key.startswith("_") and key != "color_message" and not _is_request(value)
    }
    rest = {k: v for k, v in event.items() if k.startswith("_")}
    return {**rest, **masked(inner)}


def _is_request(value: Any) -> bool:
    return hasattr(value, "META") and hasattr(value, "path_info")


class WithoutTraceback(logging.Filter):
    """Leave the traceback out of a refusal: who asked for what is all that matters."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a line."""
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return True


def logging_config(*, level: str, form: str) -> dict[str, Any]:
    """Django's LOGGING: one handler, stderr; `form` is `console` or `json`."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [*shared, structlog.stdlib.ExtraAdder()],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    mask_secrets,
                    renderer,
                ],
            }
        },
        "filters": {"without_traceback": {"()": WithoutTraceback}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            # Django's own handlers would print each line a second time.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.request": {"filters": ["without_traceback"]},
            "django.server": {"handlers": [], "propagate": True},
            "axes": {"level": "WARNING"},
            # Servers bring handlers of their own; here they speak through ours, and the access
            # line of each request is dashboard.http.access_log's.
            "uvicorn": {"handlers": [], "level": "INFO", "propagate": True},
            "uvicorn.error": {"handlers": [], "propagate": True},
            "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": False},
            "celery": {"level": "WARNING"},
            "kombu": {"level": "WARNING"},
            # Logs paths, also below DEBUG; those of chats are secrets.
            "urllib3": {"level": "CRITICAL"},
            "httpx2": {"level": "WARNING"},
            # Says at INFO that its manager starts and ends: with each request.
            "mcp": {"level": "WARNING"},
        },
    }


def configure(config: dict[str, Any]) -> None:
    """Set up logging and structlog together (Django calls this at start)."""
    logging.config.dictConfig(config)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
