"""A browser and its system in a few words, from the User-Agent header."""

from __future__ import annotations

from typing import Final

AGENT_MAX: Final = 400
UNKNOWN: Final = "an unknown program"

# In this order: Edge and Opera also name Chrome, which also names Safari.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python", "a Python program"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def device_of(agent: str) -> str:
    """Name browser and system, such as "Firefox on Linux"; of fixed words only."""
    browser = next((word for mark, word in _BROWSERS if mark in agent), UNKNOWN)
    system = next((word for mark, word in _SYSTEMS if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def cleaned(agent: str) -> str:
    """The header as it is stored: printable, of at most AGENT_MAX characters."""
    return "".join(c for c in agent if c.isprintable() and not 0xD800 <= ord(c) < 0xE000)[
        :AGENT_MAX
    ]
