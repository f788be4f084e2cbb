"""docs/howto/mcp-gateway.md: its blocks are run in one shell, and what stands below is compared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dashboard.identity import tokens
from tests.contract.test_howto_api import PAGE, differences
from tests.support.cast import make_cast
from tests.support.site import started_site
from tests.unit.dashboard.gateway.calls.bench import Upstream

pytestmark = pytest.mark.nightly


@pytest.mark.interop("MCP client")
def test_the_page_does_what_it_says(
    real_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = make_cast()
    behind = Upstream(tmp_path)
    token = tokens.make(cast.users["operator"], made_by="test", scopes=["work"])[1]
    monkeypatch.setenv("UPSTREAM", behind.url)
    monkeypatch.setenv("TOKEN", token)
    try:
        with started_site(slots=0, GATEPOST_MCP_HOLD_SECONDS="0.5") as site:
            others = differences(site, PAGE.with_name("mcp-gateway.md"))
    finally:
        behind.stop()
    assert not others, "\n\n".join(others)
    assert (tmp_path / "outside.txt").read_text().count("\n") == 1
    assert os.environ["TOKEN"] == token
