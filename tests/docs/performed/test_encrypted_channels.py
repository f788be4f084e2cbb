"""docs/howto/encrypted-channels.md: its agent runs, readers read by every way, keys go round."""

from __future__ import annotations

import contextlib
import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from checkpoints import queries
from dashboard.identity import tokens
from tests.contract.secrets import grep
from tests.docs.performing import Performance
from tests.support.cast import make_cast
from tests.support.site import started_site
from tests.unit.workers.conftest import Bench
from workers.code.registry import announce

WORD = "iron deficiency, grade 2"


@pytest.mark.slow
def test_a_channel_is_encrypted_and_read(
    real_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = make_cast()
    page = Performance("encrypted-channels", cast)
    (tmp_path / "page_cases.py").write_text(page.code("cases = Graph("))
    monkeypatch.syspath_prepend(tmp_path)
    import page_cases  # type: ignore[import-not-found]

    bench = Bench(announce(page_cases.cases, {}, []), cast.workspace)
    thread = bench.start(patient="Ada", diagnosis=WORD)
    assert bench.advance(thread).status == "succeeded"
    html = unescape(cast.client("operator").get(f"/threads/{thread}/").content.decode())
    page_html = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "encrypted (readable by auditor and admin)" in page_html
    state = cast.client("operator").get(f"/api/v1/threads/{thread}/state/").json()["state"]
    assert list(state["diagnosis"]) == ["$encrypted"]
    assert grep.everywhere(WORD) == set(), "it stands nowhere in plain"

    # On the page, by command, by call, by the client: readers only, and each reading is recorded.
    names: dict[str, Any] = {"case-17": thread}
    shown = cast.client("auditor").post(f"/threads/{thread}/reveal/", {"channel": "diagnosis"})
    assert WORD in shown.content.decode()
    first = "gatepost threads reveal case-17 diagnosis"
    assert page.run(first, "auditor", **names)["value"] == WORD
    second = f"{first} --checkpoint 2 --json"
    assert "no such checkpoint" in page.run(second, "auditor", code=3, **names).lower()
    at_start = page.run(second, "auditor", **names, **{"--checkpoint 2": "--checkpoint 1"})
    assert (at_start["value"], at_start["number"]) == (WORD, 1)
    refused = page.run(first, "operator", code=1, **names)
    assert WORD not in refused
    scopes = {"THREAD": thread, "scopes": ("read", "reveal")}
    assert page.call("curl ", "auditor", **scopes)["value"] == WORD
    page.call("curl ", "operator", status=403, **scopes)
    page.call("curl ", "auditor", status=403, THREAD=thread, scopes=("read",))
    token = tokens.make(cast.users["auditor"], made_by="user:0", scopes=("read", "reveal"))[1]
    with started_site(slots=0) as site:
        monkeypatch.setenv("GATEPOST_URL", site.url)
        monkeypatch.setenv("GATEPOST_TOKEN", token)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(page.code("gatepost_client import reveal"), {"thread": str(thread)})
    assert printed.getvalue() == f"{WORD}\n"
    log = queries.workspace_events(cast.workspace, limit=50).rows
    readings = [event for event in log if event.kind == "channel.revealed"]
    assert len(readings) == 5
    assert WORD not in str([event.data for event in log])

    before = queries.thread(thread, workspace=cast.workspace).head
    page.run("encryption rotate")
    assert queries.thread(thread, workspace=cast.workspace).head == before, "states stay"
    assert page.run(first, "admin", **names)["value"] == WORD
    page.complete()
