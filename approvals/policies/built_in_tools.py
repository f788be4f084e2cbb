"""Names of the tools that every agent has and none announces, for policies."""

from __future__ import annotations

from typing import Final

WEB_READ: Final = "web.read"
BUILT_IN: Final = frozenset((WEB_READ,))
