"""docs/howto/memory.md: its agent remembers and recalls, people look after it by every way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.performing import Performance
from tests.support.cast import make_cast


@pytest.mark.slow
@pytest.mark.requirement("C37")
def test_an_agent_has_a_memory(
    real_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Performance("memory", make_cast())
    (tmp_path / "notes.py").write_text(page.code('Graph("assistant"'))
    monkeypatch.syspath_prepend(tmp_path)
    exec(compile(page.code("bench = Harness"), "play.py", "exec"), {})

    made = page.run("./manage.py memories remember", "operator")
    assert (made["scope"], made["owner"]) == ("agent", "assistant")
    assert page.run("./manage.py memories list --scope", "viewer")["results"] == [made]
    assert page.run("./manage.py memories list -q", "viewer")["results"] == [made]
    scopes = ("read", "memory")
    added = page.call(
        'curl -H "Authorization: Bearer $TOKEN" -H "Content-Type', "operator", None, 201, scopes
    )
    answer = page.call('curl -H "Authorization: Bearer $TOKEN" "$GATEPOST', "viewer", None, 200, ())
    assert {one["id"] for one in answer["results"]} == {made["id"], added["id"]}
    page.complete(
        {
            "tool ==": "a policy: tests/unit/workers/node/test_memories.py holds by it",
            '{"$item"': "metadata: tests/unit/dashboard/memories/test_memory_pages.py puts by them",
            "GATEPOST_": "a setting: tests/unit/workers/slot/test_vectors.py has a server for it",
            "./manage.py vectors": "tests/unit/dashboard/memories/test_vectors.py fills a store",
        }
    )
