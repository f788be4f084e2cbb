"""`doctor THREAD`: the explanation of the page, the facts, and the very commands that help."""

from __future__ import annotations

import io
import json
import shlex
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection

from approvals import gates
from approvals import queries as requests
from approvals.rules.terms import Seat, Terms
from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from tests.support.cast import Cast
from tests.unit.dashboard import scene


def explained(thread: UUID) -> Any:
    out = io.StringIO()
    call_command("doctor", str(thread), "--json", stdout=out)
    return json.loads(out.getvalue())


def commands(report: Any) -> list[str]:
    return [remedy["command"] for remedy in report["remedies"]]


def do(command: str) -> None:
    """Type it, as the person would."""
    first, *words = shlex.split(command)
    assert first == "./manage.py"
    call_command(*words, stdout=io.StringIO(), stderr=io.StringIO())


def test_the_same_explanation_as_the_api(cast: Cast, agent: UUID) -> None:
    thread = scene.waiting(cast.workspace, agent).thread
    page = cast.client("operator").get(f"/api/v1/threads/{thread}/").json()
    payload = explained(thread)
    assert payload["why_waiting"] == page["why_waiting"]
    assert payload["status"] == page["status"]


def test_after_an_escalation_the_deadline_that_counts_is_named(cast: Cast, agent: UUID) -> None:
    """The sentence, the command and the page of the thread name the second one, not the first."""
    terms = Terms(on_expiry="escalate", escalate_to=Seat(), escalate_for=90_000)
    row = scene.waiting(cast.workspace, agent, expires_in=3600.0, terms=terms, policy_version="p@1")
    assert row.deadline is not None
    assert (
        f"it expires at {row.deadline:%Y-%m-%d %H:%M:%S} UTC."
        in (explained(row.thread)["why_waiting"]["sentence"])
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_approval SET decide_by = clock_timestamp() - interval '1 second' "
            "WHERE id = %s",
            [row.id],
        )
    assert gates.expire_due() == 1
    now = requests.approval(row.id, workspace=row.workspace)
    assert now.decide_by is not None
    assert now.decide_by != now.deadline == row.deadline
    counts = f"{now.decide_by:%Y-%m-%d %H:%M:%S} UTC"
    payload = explained(row.thread)
    assert payload["why_waiting"]["sentence"].endswith(f"it expires at {counts}.")
    assert (
        payload["facts"]["approvals"][0]["decide_by"][:19] == f"{now.decide_by:%Y-%m-%dT%H:%M:%S}"
    )
    out = io.StringIO()
    call_command("doctor", str(row.thread), stdout=out, stderr=out)
    assert f"(until {counts})" in out.getvalue()
    page = cast.client("manager").get(f"/threads/{row.thread}/").content.decode()
    note = page.partition(f'id="open-{row.id}"')[2].partition("</a>")[0]
    assert f"{now.decide_by:%Y-%m-%dT%H:%M:%S}" in note
    assert f"{row.deadline:%Y-%m-%dT%H:%M:%S}" not in note


def test_a_gate_names_its_request_and_the_command_decides_it(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent, expires_in=3600.0)
    payload = explained(row.thread)
    (request,) = payload["facts"]["approvals"]
    assert (request["id"], bool(request["deadline"])) == (str(row.id), True)
    assert payload["facts"]["last_event"]["kind"] == "thread.suspended"
    yes = f"./manage.py approve {row.id} --verdict approve"
    assert yes in commands(payload)
    do(yes)
    assert queries.thread(row.thread, workspace=cast.workspace).status is Status.QUEUED


def test_a_queued_thread_and_the_workers(cast: Cast, agent: UUID) -> None:
    before = scene.start(cast.workspace, agent)
    thread = scene.start(cast.workspace, agent)
    payload = explained(thread)
    assert payload["why_waiting"]["kind"] == "no_worker"
    assert (payload["facts"]["before_in_queue"], payload["facts"]["turns_of_others"]) == (1, 0)
    assert payload["remedies"][0]["command"] == "make up"
    scene.alive(scene.make_agent(version=2))
    payload = explained(thread)
    assert payload["why_waiting"]["kind"] == "no_code"
    assert (payload["facts"]["workers"], payload["facts"]["workers_with_code"]) == (1, 0)
    assert commands(payload)[0] == "./manage.py agent show research"
    do(commands(payload)[0])
    store.announce_worker("w2", host="h", pid=2, slots=1, queues=["other"], agents=[agent])
    payload = explained(thread)
    assert (payload["facts"]["workers_with_code"], payload["facts"]["workers_with_both"]) == (1, 0)
    assert payload["why_waiting"]["kind"] == "no_worker"
    assert "serves the queue gatepost" in payload["why_waiting"]["sentence"]
    store.announce_worker("w3", host="h", pid=3, slots=1, queues=["gatepost"], agents=[agent])
    payload = explained(before)
    assert payload["facts"]["workers_with_both"] == 1
    assert payload["why_waiting"]["kind"] == "queue"
    assert "./manage.py doctor" in commands(payload)


def test_a_lease_that_ran_out(cast: Cast, agent: UUID) -> None:
    scene.alive(agent)
    work = scene.lease(scene.start(cast.workspace, agent))
    payload = explained(work.thread)
    assert payload["why_waiting"]["kind"] == "working"
    assert payload["facts"]["lease_owner"] == "worker:1:boot"
    assert (payload["facts"]["fence"], payload["facts"]["lease_expired"]) == (1, False)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_thread SET lease_until = now() - interval '1 minute'")
    payload = explained(work.thread)
    assert payload["why_waiting"]["kind"] == "lease"
    assert payload["facts"]["lease_expired"] is True


@pytest.mark.parametrize(
    ("leave_by", "helps", "status"),
    [
        (EventKind.THREAD_PAUSED, "resume", Status.QUEUED),
        (EventKind.THREAD_FAILED, "retry", Status.QUEUED),
        (EventKind.THREAD_PARKED, "retry", Status.QUEUED),
    ],
)
def test_what_helps_does_help(
    cast: Cast, agent: UUID, leave_by: EventKind, helps: str, status: Status
) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="one")
    scene.step(work, report="two", leave_by=leave_by)
    payload = explained(work.thread)
    (command,) = [c for c in commands(payload) if c.split()[2] == helps]
    for other in commands(payload):
        if "--preview" in other or " events " in other:
            do(other)
    do(command)
    assert queries.thread(work.thread, workspace=cast.workspace).status is status


def test_told_in_words_and_refused_plainly(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    out = io.StringIO()
    call_command("doctor", str(row.thread), stdout=out)
    payload = dict(line.split("\t", 1) for line in out.getvalue().splitlines() if line)
    assert payload["status"] == "waiting"
    assert payload["lease"] == "nobody"
    assert payload["Say yes."] == f"./manage.py approve {row.id} --verdict approve"
    err = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "ffff0000", stdout=io.StringIO(), stderr=err)
    assert ended.value.code == 3
    assert err.getvalue().startswith("No thread's id begins with ffff0000")
