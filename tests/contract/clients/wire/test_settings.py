"""Settings of the client that cannot be used are refused by name, before anything is called."""

from __future__ import annotations

import pytest

from gatepost_client.wire.errors import NotConfigured
from gatepost_client.wire.settings import Settings


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "gatepost.example", "ftp://gatepost"])
def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("GATEPOST_URL", url)
    monkeypatch.setenv("GATEPOST_TOKEN", "gp_x")
    with pytest.raises(NotConfigured, match="GATEPOST_URL must begin with http"):
        Settings.from_environment()
