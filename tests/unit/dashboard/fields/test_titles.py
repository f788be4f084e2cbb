"""A thread without a title gets one from the input, where the agent says from what."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.store.statement.moves import Move, perform
from dashboard.fields.titles import LONGEST, title_from
from dashboard.threads.rename import RENAME, Rename
from dashboard.threads.start import start_thread
from gatepost_agents.deep_research.state import DeepResearch
from gatepost_agents.dependency_audit.state import DependencyAudit
from gatepost_agents.market_research.agent import Research
from gatepost_agents.outreach.state import Outreach
from gatepost_agents.payments.state import Payments
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, rows

SCHEMA = {
    "properties": {
        "limit": {"type": "integer", "x-title": True},
        "question": {"type": "string", "x-title": True},
        "secret": {"type": "string"},
    }
}


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ({"question": "Why is  the\nsky blue?"}, "Why is the sky blue?"),
        ({"question": "   ", "secret": "not this"}, ""),
        ({"limit": 3, "secret": "not this"}, ""),
        ({"question": "a" * 500}, "a" * (LONGEST - 1) + "…"),
        ({"question": "word " * 50}, "word " * 22 + "word…"),
        ({}, ""),
    ],
)
def test_the_title_is_the_text_that_the_agent_names(value: dict[str, Any], title: str) -> None:
    assert title_from(SCHEMA, value) == title
    assert len(title) <= LONGEST


@pytest.mark.parametrize(
    ("state", "channel"),
    [(Research, "question"), (DeepResearch, "question"), (Outreach, "looking_for")],
)
def test_agents_that_ship_name_one(state: Any, channel: str) -> None:
    text = "How does Celery retry a task?"
    assert title_from(state.model_json_schema(), {channel: text}) == text


FILE = {"$artifact": "0" * 64, "name": "november.csv", "size": 3, "media_type": "text/csv"}


@pytest.mark.parametrize(
    ("state", "value", "title"),
    [
        (Payments, {"file": FILE, "due_by": "2026-11-30"}, "Invoices of november.csv"),
        (Payments, {"due_by": "2026-11-30"}, "Invoices due by 2026-11-30"),
        (Payments, {"due_by": "", "only": ["S-101", "S-102"]}, "Invoices of S-101, S-102"),
        (Payments, {"only": [], "most": 5}, ""),
        (DependencyAudit, {"file": FILE | {"name": "uv.lock"}}, "Packages of uv.lock"),
        (DependencyAudit, {}, ""),
    ],
)
def test_a_sentence_is_filled_with_a_file_a_day_or_a_list(
    state: Any, value: dict[str, Any], title: str
) -> None:
    assert title_from(state.model_json_schema(), value) == title


@pytest.mark.parametrize("wanted", [False, 1, "", "without a place", ["{}"]])
def test_other_values_of_x_title_name_nothing(wanted: object) -> None:
    assert title_from({"properties": {"a": {"x-title": wanted}}}, {"a": "text"}) == ""


def test_the_first_channel_is_that_of_the_author() -> None:
    schema = {
        "properties": {"a": {"x-title": True}, "zebra": {"x-title": "Of {}"}},
        "x-order": ["zebra", "a"],
    }
    assert title_from(schema, {"a": "text", "zebra": "stripes {}"}) == "Of stripes {}"


def announce_asked() -> None:
    """An agent whose question is the title of its threads."""
    schema = {"type": "object", "properties": {"question": {"type": "string", "x-title": True}}}
    store.announce_version(
        agent="asked", version=1, fingerprint="f", label="Asked", description="",
        schema_version=1, schema=schema, channels={"question": {"reducer": "last_value"}},
        graph={"entry": ["work"], "nodes": [{"name": "work", "then": []}]}, tools={},
        queue="nobody",
    )  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(("entered", "title"), [("", "Why?"), ("  ", "Why?"), (" Mine ", "Mine")])
def test_the_start_page_sends_a_title_only_where_one_was_entered(
    cast: Cast, entered: str, title: str
) -> None:
    announce_asked()
    form = {"agent": "asked", "f-question": "Why?", "title": entered}
    answer = cast.client("operator").post("/threads/new/", form)
    assert answer.status_code == 303
    ident = UUID(answer["Location"].strip("/").split("/")[-1])
    assert queries.thread(ident, workspace=cast.workspace).title == title


@pytest.mark.django_db
def test_a_title_that_somebody_gave_stays(cast: Cast) -> None:
    announce_asked()
    who = cast.actor("operator")
    for named, title in (("", "Why?"), ("Mine", "Mine"), ("Why?", "Why?")):
        ident = start_thread(who, agent="asked", input={"question": "Why?"}, title=named)
        assert queries.thread(ident, workspace=cast.workspace).title == title
        driver = drive(ident)
        data = {"node": "work", "title": "Known now"}
        driver.step(events=[NewEvent(EventKind.TITLE_SUGGESTED, data, "worker:1")])
        later = queries.thread(ident, workspace=cast.workspace).title
        assert later == (title if named else "Known now")
        RENAME.run(who, Rename(title="Yours"), ident)
        driver.step(events=[NewEvent(EventKind.TITLE_SUGGESTED, data, "worker:1")])
        assert queries.thread(ident, workspace=cast.workspace).title == "Yours"
        assert verify_thread(ident).intact
        forge = "UPDATE gp_thread SET automatic_title = title WHERE id = %s RETURNING 1"
        assert rows(forge, (ident,))
        assert (
            "the thread's automatic_title is not what the log records" in verify_thread(ident).what
        )


@pytest.mark.django_db
def test_former_code_renames_a_thread_with_an_automatic_title(cast: Cast, agent: UUID) -> None:
    ident = start_thread(cast.actor("operator"), agent="research", input={"goal": "tea"})
    driver = drive(ident)
    # As the code of before does it: it knows no automatic titles.
    move = Move(ident, events=[NewEvent(EventKind.THREAD_RENAMED, {"title": "Mine"}, "user:2")])
    move.set("title", "Mine")
    assert perform(move) is not None
    data = {"node": "work", "title": "Known now"}
    driver.step(events=[NewEvent(EventKind.TITLE_SUGGESTED, data, "worker:1")])
    assert queries.thread(ident, workspace=cast.workspace).title == "Mine"
    assert verify_thread(ident).intact
