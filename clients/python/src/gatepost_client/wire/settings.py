"""Where Gatepost answers and who calls; from the environment unless a caller says otherwise."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

from .errors import NotConfigured

LEASE_SECONDS = 30.0


def _owner() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}"


@dataclass(frozen=True)
class Settings:
    """Address, token and habits of this process.

    `wait`: whether it stays while people decide; a number stays that many seconds. `lease_seconds`
    is how long nobody else takes a thread whose process died.
    """

    url: str
    token: str = field(repr=False)
    wait: bool | float = True
    lease_seconds: float = LEASE_SECONDS
    owner: str = field(default_factory=_owner)

    @classmethod
    def from_environment(cls) -> Settings:
        """Read GATEPOST_URL, GATEPOST_TOKEN, GATEPOST_WAIT and GATEPOST_LEASE_SECONDS."""
        url = os.environ.get("GATEPOST_URL", "http://127.0.0.1:8000")
        if not url.startswith(("http://", "https://")):
            raise NotConfigured(f"GATEPOST_URL must begin with http:// or https://, not {url!r}.")
        token = os.environ.get("GATEPOST_TOKEN", "")
        if not token:
            raise NotConfigured(
                "Set GATEPOST_TOKEN to a token with the scopes work and start "
                "(`gatepost token USER --scopes read,start,work`)."
            )
        wait: bool | float = True
        if text := os.environ.get("GATEPOST_WAIT", ""):
            wait = False if text in ("0", "no", "false") else float(text)
        seconds = float(os.environ.get("GATEPOST_LEASE_SECONDS", LEASE_SECONDS))
        return cls(url.rstrip("/"), token, wait, seconds)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {"Authorization": f"Bearer {self.token}"}
