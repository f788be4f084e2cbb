"""Opens what a report cites, without the agent's own code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any


def opened(citation: Mapping[str, Any]) -> str:
    """The lines that a citation names, from the file of the installed package."""
    located = metadata.distribution(citation["package"]).locate_file(citation["file"])
    raw = Path(str(located)).read_bytes()
    assert hashlib.sha256(raw).hexdigest() == citation["sha256"]
    lines = raw.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(lines[citation["line"] - 1 : citation["end"]])


def check_each(citations: Iterable[Mapping[str, Any]]) -> int:
    """How many citations there are, each of them opened and compared."""
    count = 0
    for citation in citations:
        version = metadata.distribution(citation["package"]).version
        assert citation["version"] == version
        assert opened(citation) == citation["text"], (citation["file"], citation["line"])
        count += 1
    return count
