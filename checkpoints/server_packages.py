"""Packages of the extra `server`: an author's environment may be without them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

INSTALL: Final = "the extra: pip install '.[server]'."
CHATS: Final = "apprise"
SPANS: Final = "opentelemetry.proto"
TIME_STAMPS: Final = "rfc3161_client"


def is_installed(module: str) -> bool:
    """True if it can be imported; only the packages around it are imported to see that."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False
