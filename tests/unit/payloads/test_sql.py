"""Contents for whoever reads with SQL, and how much a thread takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries, store
from gatepost.contrib.graph_store import StateGraphStore
from tests.unit.checkpoints.builders import head_of, one, rows
from tests.unit.checkpoints.queries.test_state_plan import nodes

from .agents import LARGE, text_of
from .conftest import Storage


@pytest.mark.requirement("B13")
def test_states_are_found_by_what_is_in_them(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    storage = storage_of("database")
    thread = storage.bench.start(folder=str(tmp_path), index={"p": "q" * LARGE})
    storage.bench.advance(thread)
    result = rows(
        "SELECT checkpoint_id FROM agent_checkpoints WHERE thread_id = %s "
        "AND (convert_from(state_payload, 'UTF8')::jsonb ->> 'text') = %s "
        "ORDER BY created_at",
        [str(thread), text_of(1)],
    )
    numbers = {str(c.id): c.number for c in storage.bench.checkpoints(thread)}
    assert [numbers[ident] for (ident,) in result] == [2, 4]
    for row in storage.bench.checkpoints(thread):
        state = json.loads(one("SELECT gp_state(%s, %s)::text", [thread, row.id]))
        assert state == storage.bench.state_at(thread, row.id), "also what was added to a content"


@pytest.mark.requirement("B13")
def test_a_state_is_two_queries_by_keys_however_many_there_are(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    storage = storage_of("database")
    thread = storage.bench.start(folder=str(tmp_path))
    storage.bench.advance(thread)
    rows(
        "INSERT INTO gp_content (thread_id, sha256, workspace_id, body) "
        "SELECT gen_random_uuid(), md5(n::text), gen_random_uuid(), '7' "
        "FROM generate_series(1, 5000) n"
    )
    rows("ANALYZE gp_content")
    head = head_of(thread)
    with CaptureQueriesContext(connection) as seen:
        state = queries.state_at(thread, head)
    assert state["text"] == text_of(3)
    assert len(seen) == 2
    plan = one(f"EXPLAIN (ANALYZE, FORMAT JSON) {seen.captured_queries[1]['sql']}")
    (read,) = [n for n in nodes(plan[0]["Plan"]) if n.get("Relation Name") == "gp_content"]
    assert "Index" in read["Node Type"]
    assert read["Actual Rows"] == 1
    with CaptureQueriesContext(connection) as seen:
        queries.state_at(thread, queries.checkpoint_by_number(thread, 0).id)
    assert len([q for q in seen if "gp_content" in q["sql"]]) == 0, "nothing is fetched for nothing"


def test_what_lies_in_files_is_a_reference_in_sql_and_a_value_in_python(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    storage = storage_of("file")
    thread = storage.bench.start(folder=str(tmp_path))
    storage.bench.advance(thread)
    head = head_of(thread)
    state: dict[str, Any] = json.loads(one("SELECT gp_state(%s, %s)::text", [thread, head]))
    sha = queries.checkpoint(thread, head).delta["put"]["text"]["sha256"]
    assert state["text"] == {"$content": sha, "size": len(text_of(3)) + 2}
    checkpoint = StateGraphStore(connection).get_checkpoint(str(thread), str(head))
    assert checkpoint is not None
    assert checkpoint["text"] == text_of(3)


@pytest.mark.parametrize("kind", ["database", "file"])
def test_contents_count_as_storage_of_their_thread(
    storage_of: Callable[[str], Storage], tmp_path: Path, kind: str
) -> None:
    storage = storage_of(kind)
    thread = storage.bench.start(folder=str(tmp_path))
    storage.bench.advance(thread)
    before = queries.storage(thread)
    assert before.contents == 2
    noise = "".join(f"{i * i * 7919 % 100_003:06}" for i in range(5_000))
    store.edit(thread, changes={"text": noise}, reason="", actor="user:1")
    after = queries.storage(thread)
    assert after.contents == 3
    if kind == "file":
        assert after.file_bytes - before.file_bytes == len(noise) + 2
        folder = f"threads/{thread}/contents"
        sizes = [default_storage.size(f"{folder}/{n}") for n in default_storage.listdir(folder)[1]]
        assert after.file_bytes == sum(sizes)
        grew = after.bytes - before.bytes
        assert 0 < grew - (after.file_bytes - before.file_bytes) < 5_000
    else:
        assert after.file_bytes == 0
        assert after.bytes - before.bytes > 5_000, "compressed, it still takes space"
