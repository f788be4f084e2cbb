"""Logging to stderr through structlog; secrets never reach a line."""

import logging.config
import re
from collections.abc import MutableMapping
from typing import Any

import structlog

MASK = "[masked]"
_SECRET_NAME = re.compile(r"password|passwd|secret|token|authorization|cookie|api_?key|csrf", re.I)
_NOT_SECRET = {"tokens", "saved_tokens", "token_count", "lease_token_matches"}
_SECRET_TEXT = re.compile(
    r"(?P<url>(?<=://)[^/\s:@]*:[^/\s@]+(?=@))"  # user:password@ in an address
    r"|(?P<link>(?<=sesame=)[\w\-=]+)"  # one-time login links
    r"|(?P<bearer>(?<=[Bb]earer )[\w\-.~+/=]+)"
)


def masked(value: Any) -> Any:
    """The value with what looks like a secret replaced; lists and dicts are copied."""
    if isinstance(value, str):
        return _SECRET_TEXT.sub(MASK, value)
    if isinstance(value, dict):
        return {
            key: MASK
            if isinstance(key, str) and key not in _NOT_SECRET and _SECRET_NAME.search(key)
            else masked(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return (
            type(value)(masked(item) for item in value) if type(value) in (list, tuple) else value
        )
    return value


def mask_secrets(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The last step before a line is written."""
    inner = {key: value for key, value in event.items() if not key.startswith("_")}
    return {**event, **masked(inner)}


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
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            # Django's own handlers would print each line a second time.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            "axes": {"level": "WARNING"},
            "uvicorn.access": {"level": "WARNING"},
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
