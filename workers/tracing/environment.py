"""The standard variables OTEL_* that name a collector and what spans say of this installation."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import unquote

SERVICE: Final = "service.name"
_PREFIX: Final = "OTEL_EXPORTER_OTLP"


def is_on() -> bool:
    """Spans are exported: a collector is named, and nothing switches the export off."""
    disabled = _read("OTEL_SDK_DISABLED").lower() == "true"
    return not disabled and _read("OTEL_TRACES_EXPORTER") != "none" and bool(endpoint())


def endpoint() -> str:
    """The address that takes spans; "" where none is named."""
    own, base = _read(f"{_PREFIX}_TRACES_ENDPOINT"), _read(f"{_PREFIX}_ENDPOINT")
    return own or (f"{base.rstrip('/')}/v1/traces" if base else "")


def headers() -> dict[str, str]:
    """Headers of each request, such as the key of a vendor; by lower-case name."""
    pairs = _pairs(_read(f"{_PREFIX}_TRACES_HEADERS") or _read(f"{_PREFIX}_HEADERS"))
    return {name.lower(): value for name, value in pairs.items()}


def is_compressed() -> bool:
    """Bodies are sent with gzip."""
    wanted = _read(f"{_PREFIX}_TRACES_COMPRESSION") or _read(f"{_PREFIX}_COMPRESSION")
    return wanted == "gzip"


def resource() -> dict[str, str]:
    """Attributes of what sends spans; `service.name` is gatepost where nothing else is set."""
    made = {SERVICE: "gatepost"} | _pairs(_read("OTEL_RESOURCE_ATTRIBUTES"))
    name = _read("OTEL_SERVICE_NAME")
    return made | ({SERVICE: name} if name else {})


def _read(name: str) -> str:
    return os.environ.get(name, "").strip()


def _pairs(text: str) -> dict[str, str]:
    """Read `name=value,name=value`, percent-encoded; what is no pair is passed over."""
    made = (part.partition("=") for part in text.split(","))
    return {
        unquote(name.strip()): unquote(value.strip()) for name, sep, value in made if sep and name
    }
