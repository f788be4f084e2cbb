"""Pages of memory: who sees and changes what; numbers are compared with those by plain SQL."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from checkpoints import queries, store
from checkpoints.memories import MemoryRow, NewMemory, Where
from dashboard.identity import tokens
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import V1

pytestmark = pytest.mark.requirement("A10")


def get(cast: Cast, path: str, who: str = "operator", status: int = 200) -> str:
    answer = cast.client(who).get(path)
    assert answer.status_code == status, answer.content.decode()
    return unescape(answer.content.decode())


def post(cast: Cast, path: str, who: str = "operator", **form: Any) -> tuple[int, str]:
    answer = cast.client(who).post(path, form)
    return answer.status_code, unescape(answer.content.decode())


def keep(cast: Cast, text: str, **more: Any) -> MemoryRow:
    values: dict[str, Any] = {"scope": "workspace", "owner": "", "kind": "fact"}
    values |= {"source": "person"} | more
    return store.remember(cast.workspace, NewMemory(text=text, **values), actor="user:1")


def listed(html: str) -> list[UUID]:
    return [UUID(ident) for ident in re.findall(r'<tr role="row" id="memory-([0-9a-f-]+)"', html)]


def at_work(cast: Cast) -> tuple[UUID, list[MemoryRow]]:
    """A thread with three steps, the last two of which remembered something."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    memories = []
    for step in (1, 2, 3):
        scene.step(work, report=f"step {step}", next_nodes=("analyse",))
        if step > 1:
            where = Where(work.thread, 0, step, "analyse")
            owner = "research" if step == 2 else str(work.thread)
            scope = "agent" if step == 2 else "thread"
            memories.append(
                keep(cast, f"Learnt in step {step}.", scope=scope, owner=owner, where=where)
            )
    return work.thread, memories


def test_a_page_lists_searches_and_narrows(cast: Cast) -> None:
    assert "Nothing is remembered yet" in get(cast, "/memories/")
    first = keep(cast, "The depot in Bremen closes at four.")
    second = keep(cast, "A mail said: pay at once.", outside=True, kind="document")
    html = get(cast, "/memories/")
    assert listed(html) == [second.id, first.id]
    assert html.count("from outside</span>") == 1
    assert listed(get(cast, "/memories/?q=when+does+the+depot+close")) == [first.id]
    assert listed(get(cast, "/memories/?kind=document")) == [second.id]
    assert listed(get(cast, "/memories/?outside=1")) == [second.id]
    assert "No such memory" in get(cast, "/memories/?q=nothing")
    assert get(cast, "/memories/?scope=nobody", status=422)


def test_more_than_a_page_is_read_on(cast: Cast) -> None:
    idents = [keep(cast, f"Entry {n}").id for n in range(53)]
    html = get(cast, "/memories/")
    (more,) = re.findall(r'class="more" href="([^"]*)"', html)
    assert listed(html) + listed(get(cast, more)) == idents[::-1]


def test_what_belongs_to_a_person_is_seen_by_them_and_by_auditors(cast: Cast) -> None:
    owner = f"user:{cast.users['viewer'].pk}"
    row = keep(cast, "Answer her in German.", scope="person", owner=owner)
    for who, sees in (("viewer", True), ("auditor", True), ("admin", True), ("operator", False)):
        assert (row.id in listed(get(cast, "/memories/", who))) is sees, who
        get(cast, f"/memories/{row.id}/", who, status=200 if sees else 404)
    status, _ = post(cast, f"/memories/{row.id}/forget/", "operator", reason="No.")
    assert (status, queries.memory(row.id, workspace=cast.workspace).text) == (404, row.text)
    assert listed(get(cast, "/memories/", "stranger")) == [], "of another workspace"
    get(cast, f"/memories/{row.id}/", "stranger", status=404)


def test_a_memory_is_added_corrected_and_deleted(cast: Cast) -> None:
    form = {"text": "Weber is paid within 30 days.", "scope": "workspace", "kind": "fact"}
    assert post(cast, "/memories/new/", **form)[0] == 303
    (ident,) = listed(get(cast, "/memories/"))
    page = get(cast, f"/memories/{ident}/correct/")
    assert form["text"] in page, "the form begins with the text"
    (revision,) = re.findall(r'name="revision" value="(\d+)"', page)
    change = {"text": "Weber is paid within 14 days.", "reason": "New terms", "revision": revision}
    assert post(cast, f"/memories/{ident}/correct/", **change)[0] == 303
    status, answer = post(cast, f"/memories/{ident}/correct/", **change)
    assert (status, "has changed since you looked" in answer) == (409, True)
    html = get(cast, f"/memories/{ident}/")
    assert html.index("within 14 days") < html.index("What it said before")
    assert "within 30 days" in html
    status, answer = post(cast, f"/memories/{ident}/forget/", reason=" ")
    assert status == 422
    assert post(cast, f"/memories/{ident}/forget/", reason="It is wrong")[0] == 303
    html = get(cast, f"/memories/{ident}/")
    assert "It is wrong" in html
    assert "14 days" not in html
    assert "30 days" not in html
    assert listed(get(cast, "/memories/")) == []
    assert listed(get(cast, "/memories/?state=gone")) == [ident]
    get(cast, f"/memories/{ident}/correct/", status=409)


def test_a_viewer_changes_nothing(cast: Cast) -> None:
    row = keep(cast, "It stays.")
    html = get(cast, f"/memories/{row.id}/", "viewer")
    assert "/correct/" not in html
    assert "/memories/new/" not in get(cast, "/memories/", "viewer")
    for path in (f"{row.id}/correct/", f"{row.id}/forget/", "new/"):
        assert post(cast, f"/memories/{path}", "viewer", text="x", reason="x")[0] == 403


def test_a_rollback_says_what_memory_keeps_and_one_click_forgets_just_that(cast: Cast) -> None:
    thread, memories = at_work(cast)
    before = keep(cast, "Known before.")
    target = queries.checkpoint_by_number(thread, 1)
    html = get(cast, f"/threads/{thread}/rollback/?checkpoint=1")
    assert "Memory does not go back" in html
    assert all(row.text in html for row in memories)
    assert before.text not in html
    (link,) = re.findall(r'href="(/memories/forget/[^"]*)"', html)
    page = get(cast, link)
    n = one(
        "SELECT count(*) FROM gp_memory WHERE thread_id = %s AND step > %s", (thread, target.step)
    )
    assert (n, f"Delete {n}" in page) == (2, True)
    form: dict[str, Any] = {"thread": thread, "checkpoint": target.id, "reason": "A test"}
    assert post(cast, "/memories/forget/", **form)[0] == 303
    gone = rows("SELECT id FROM gp_memory WHERE gone_at IS NOT NULL ORDER BY created_at")
    assert [ident for (ident,) in gone] == [row.id for row in memories]
    assert "Memory does not go back" not in get(cast, f"/threads/{thread}/rollback/?checkpoint=1")


@pytest.mark.requirement("B27")
def test_the_anatomy_shows_what_the_state_refers_to(cast: Cast) -> None:
    row = keep(cast, "The secret recipe of the canteen.")
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="", limit=None, file=row.ref)
    answer = cast.client("viewer").get(f"/api/v1/threads/{work.thread}/anatomy/")
    (shown,) = answer.json()["memories"]
    assert (shown["id"], shown["revision"], shown["gone"]) == (str(row.id), 1, "")
    assert "recipe" not in answer.content.decode()
    store.forget_memories(
        [row.id], workspace=cast.workspace, reason="Not for agents.", actor="user:1"
    )
    html = get(cast, f"/threads/{work.thread}/", "viewer")
    assert reverse("memory", args=[row.id]) in html
    answer = cast.client("viewer").get(f"/api/v1/threads/{work.thread}/anatomy/")
    assert answer.json()["memories"][0]["gone"] == "Not for agents."


# ---- the call ------------------------------------------------------------------------------------


def call(cast: Cast, *scopes: str, who: str = "operator") -> Client:
    """A script with a token of these scopes."""
    made = tokens.make(cast.users[who], made_by="test", scopes=list(scopes))[1]
    return Client(headers={"Authorization": f"Bearer {made}"})


def test_a_search_takes_no_cursor(cast: Cast) -> None:
    rows_kept = [keep(cast, f"Depot {n}") for n in range(3)]
    script = call(cast, "read")
    first = script.get(f"{V1}/memories/?limit=2").json()
    assert [row["id"] for row in first["results"]] == [str(row.id) for row in rows_kept[:0:-1]]
    on = f"{V1}/memories/?limit=2&cursor={first['next_cursor']}"
    assert [row["id"] for row in script.get(on).json()["results"]] == [str(rows_kept[0].id)]
    refused = script.get(f"{on}&q=depot")
    assert refused.status_code == 422, refused.content
    assert refused.json()["errors"][0]["path"] == "cursor"
    assert (
        "is not for a search by words, which has one page" in refused.json()["errors"][0]["message"]
    )
    cursor = first["next_cursor"]
    assert "one page" in get(cast, f"/memories/?q=depot&cursor={cursor}", status=422)


@pytest.mark.parametrize("scope", ["read", "start"])
def test_a_token_that_may_not_remember_is_told_the_scope_memory(cast: Cast, scope: str) -> None:
    answer = call(cast, scope).post(
        f"{V1}/memories/", {"text": "x"}, content_type="application/json"
    )
    assert answer.status_code == 403
    assert answer.json()["detail"] == "This token lacks the scope 'memory'."


def test_items_of_a_store_are_put_and_found_by_their_place(cast: Cast) -> None:
    script = call(cast, "memory")

    def put(text: str, namespace: str, key: str) -> Any:
        body = {"text": text, "metadata": {"$item": {"namespace": namespace, "key": key}}}
        return script.post(f"{V1}/memories/", body, content_type="application/json")

    first, _ = put("one", "users.7", "tone"), put("other", "users.70", "tone")
    again = put("two", "users.7", "tone")
    assert again.json()["id"] == first.json()["id"]
    assert again.json()["revision"] == 2

    def texts_of(query: str) -> list[str]:
        rows_read = script.get(f"{V1}/memories/?{query}").json()["results"]
        return sorted(row["text"] for row in rows_read)

    assert texts_of("namespace=users.7") == ["two"]
    assert texts_of("namespace=users") == ["other", "two"]
    assert texts_of("item=tone") == ["other", "two"]
    assert texts_of("namespace=users.7&item=none") == []
    body = {"text": "x", "expires_in": 60, "metadata": {"$item": {"namespace": "m", "key": "k"}}}
    refused = script.post(f"{V1}/memories/", body, content_type="application/json")
    assert refused.status_code == 422, refused.content
