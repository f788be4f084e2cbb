"""Asking the record by API, page and command: answers, their events, what is on record, rights."""

from __future__ import annotations

import html
import json
from typing import Any
from uuid import UUID

import pytest

from checkpoints import store
from checkpoints.log import remains
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.people.test_people_as_code import answer as command
from tests.unit.dashboard.records.exports.population import populate

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("B41")]


def ask(cast: Cast, who: str, question: str, expected: int = 200, **more: Any) -> Any:
    made = cast.client(who).post(
        "/api/v1/records/questions/",
        json.dumps({"question": question, **more}),
        content_type="application/json",
    )
    assert made.status_code == expected, made.content
    return made.json()


def tell(work: Any, *texts: str) -> None:
    """Thoughts of an agent."""
    events = [
        store.NewEvent(EventKind.THOUGHT_RECORDED, {"node": "analyse", "text": text}, work.owner)
        for text in texts
    ]
    store.record(work, events)


def record(cast: Cast, *texts: str, agent: str = "research") -> UUID:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent(agent)))
    tell(work, *texts)
    return UUID(str(work.thread))


def test_an_answer_is_a_sentence_with_the_event_that_it_rests_on(cast: Cast) -> None:
    requests = populate(cast)
    thread = requests[0].thread
    result = ask(cast, "viewer", "Who approved the payment?", thread=str(thread))
    assert result["in_record"] is True
    assert result["method"] == "extraction"
    (first, *_) = result["sentences"]
    assert "manager" in first["text"]
    kind = "SELECT kind FROM gp_event WHERE thread_id = %s AND seq = %s"
    assert one(kind, (first["thread"], first["seq"])) == "approval.decided" == first["kind"]
    assert first["address"] == f"/threads/{thread}/?event={first['seq']}#event-{first['seq']}"
    assert cast.client("viewer").get(first["address"].partition("#")[0]).status_code == 200
    assert result["log"] == f"/threads/{thread}/"


def test_what_is_not_in_the_record_is_said_to_be_not_in_it(cast: Cast) -> None:
    populate(cast)
    result = ask(cast, "auditor", "Who paid the zeppelin?")
    assert (result["in_record"], result["sentences"]) == (False, [])
    assert result["missing"] == ["zeppelin"]


def test_a_scope_is_a_thread_an_agent_or_a_time(cast: Cast) -> None:
    first = record(cast, "The harbour of Kiel has 12 cranes.")
    second = record(cast, "The harbour of Brest has 15 cranes.", agent="shipping")
    question = "How many cranes has the harbour?"
    scopes: tuple[tuple[dict[str, str], set[UUID]], ...] = (
        ({}, {first, second}),
        ({"thread": str(first)}, {first}),
        ({"agent": "shipping"}, {second}),
        ({"agent": "nobody"}, set()),
        ({"since": "2020-01-01T00:00:00Z"}, {first, second}),
        ({"until": "2020-01-01T00:00:00Z"}, set()),
    )
    for scope, threads in scopes:
        result = ask(cast, "operator", question, 200, **scope)
        assert {UUID(s["thread"]) for s in result["sentences"]} == threads, scope
    faults = {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    assert ask(cast, "operator", question, 422, **faults)["errors"][0]["path"] == "$.until"


def test_nobody_is_answered_from_another_workspace(cast: Cast) -> None:
    thread = record(cast, "The harbour of Kiel has 12 cranes.")
    question = "How many cranes has the harbour of Kiel?"
    assert ask(cast, "viewer", question)["in_record"] is True
    assert ask(cast, "stranger", question)["in_record"] is False
    ask(cast, "stranger", question, 404, thread=str(thread))
    made = cast.client("nobody").post("/api/v1/records/questions/", {"question": question})
    assert made.status_code == 403


@pytest.mark.requirement("B42")
def test_question_and_answer_are_on_record_and_the_log_is_a_click_away(cast: Cast) -> None:
    record(cast, "The harbour of Kiel has 12 cranes.")
    result = ask(cast, "operator", "How many cranes has the harbour of Kiel?")
    (data,) = [
        json.loads(row[0])
        for row in rows("SELECT data::text FROM gp_workspace_event WHERE kind = 'record.asked'")
    ]
    assert data["question"] == result["id"]
    assert data["sources"] == [[s["thread"], s["seq"]] for s in result["sentences"]]
    assert "Kiel" not in json.dumps(data)  # an erasure could not reach it there
    page = page_of(cast, "operator", f"/questions/{result['id']}/")
    assert "12 cranes" in page
    source = result["sentences"][0]
    assert f'href="{source["address"]}"' in page
    assert 'href="/?agent=' in page or 'href="/"' in page
    # Auditors read what others asked; other people do not.
    assert "12 cranes" in page_of(cast, "auditor", f"/questions/{result['id']}/")
    assert cast.client("viewer").get(f"/questions/{result['id']}/").status_code == 404
    assert cast.client("stranger").get(f"/questions/{result['id']}/").status_code == 404
    assert "harbour of Kiel" in page_of(cast, "operator", "/questions/")
    assert "harbour of Kiel" not in page_of(cast, "viewer", "/questions/")


def page_of(cast: Cast, who: str, address: str) -> str:
    shown = cast.client(who).get(address)
    assert shown.status_code == 200, shown.content
    return html.unescape(shown.content.decode())


def test_a_page_asks_and_leads_to_the_answer(cast: Cast) -> None:
    thread = record(cast, "The harbour of Kiel has 12 cranes.")
    client = cast.client("viewer")
    form = page_of(cast, "viewer", f"/questions/?thread={thread}")
    assert f'value="{thread}"' in form
    values = {"question": "How many cranes has the harbour?", "thread": str(thread)}
    made = client.post("/questions/", values)
    assert made.status_code == 303, made.content
    page = html.unescape(client.get(made["Location"]).content.decode())
    assert "12 cranes" in page
    assert f'href="/threads/{thread}/"' in page
    unknown = client.post("/questions/", {"question": "Who paid the zeppelin?"})
    page = html.unescape(client.get(unknown["Location"]).content.decode())
    assert "This is not in the record." in page
    assert "zeppelin" in page
    assert client.post("/questions/", {"question": " "}).status_code == 422


def test_the_thread_and_the_records_have_the_box(cast: Cast) -> None:
    thread = record(cast, "The harbour of Kiel has 12 cranes.")
    for who, address, scope in (
        ("viewer", f"/threads/{thread}/", f"?thread={thread}"),
        ("auditor", "/admin/search/", ""),
    ):
        page = page_of(cast, who, address)
        assert f'href="/questions/{scope}"' in page, address
    assert 'value="research"' in page_of(cast, "viewer", "/questions/?agent=research")


def test_by_command(cast: Cast) -> None:
    record(cast, "The harbour of Kiel has 12 cranes.")
    result = command("record", "ask", "How many cranes has the harbour of Kiel?", "--as", "viewer")
    assert "12 cranes" in result["sentences"][0]["text"]


@pytest.mark.requirement("G02")
def test_an_erasure_blanks_question_and_answer(cast: Cast) -> None:
    thread = record(cast, "The harbour of Kiel has 12 cranes.")
    result = ask(cast, "operator", "How many cranes has the harbour of Kiel?")
    text = "SELECT string_agg(q::text, ' ') FROM gp_record_question q"
    assert "12 cranes" in one(text)
    (part,) = [p for p in remains.parts() if p.name == "history_index"]
    rows(part.erase, (thread,))
    assert "cranes" not in one(text)
    page = page_of(cast, "operator", f"/questions/{result['id']}/")
    assert "was erased" in page
    assert one("SELECT count(*) FROM gp_indexed_event WHERE thread_id = %s", (thread,)) == 0
