"""Threads in trouble and who wants to hear of them, as the tests of incidents make them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.incidents import queries, responses, subscriptions
from approvals.incidents.queries import IncidentRow
from approvals.incidents.subscriptions import Choice
from approvals.incidents.sweep import sweep_incidents
from approvals.notify.texts.incident_kinds import ATTENTION, FAILED, OVER_BUDGET
from checkpoints import leases, store
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.approvals.news import endpoint
from tests.unit.dashboard import scene

ENDS = {
    FAILED: EventKind.THREAD_FAILED,
    ATTENTION: EventKind.THREAD_PARKED,
    OVER_BUDGET: EventKind.THREAD_PAUSED,
}
AT_CAP = "This thread has spent 1.20; the spend cap is 1.00. Raise the cap, then resume."


def fails(
    cast: Cast, reason: str, kind: str = FAILED, *, agent: str = "research", **more: Any
) -> UUID:
    """A thread that a worker has left in trouble."""
    thread: UUID = store.start(
        scene.make_agent(agent),
        input={"goal": "delays"},
        workspace=cast.workspace,
        actor="user:1",
        title="Delays",
        **more,
    )
    work = leases.acquire(thread, owner="worker:here")
    assert work is not None
    store.leave(work, ENDS[kind], reason=reason)
    return thread


def handled_incidents(cast: Cast) -> dict[str, UUID]:
    """Open incidents about which people did something, by what they did."""
    who = person(cast)
    scope: dict[str, Any] = {"workspace": cast.workspace, "person": who, "actor": who}
    for word in ("taken", "snoozed", "closed"):
        fails(cast, f"publish: {word}")
    sweep_incidents()
    made = {row.reason.removeprefix("publish: "): row.id for row in incidents(cast)}
    responses.take(made["taken"], **scope)
    responses.give_back(made["taken"], **scope)
    responses.take(made["taken"], **scope)
    responses.snooze(made["snoozed"], datetime.now(UTC) + timedelta(hours=1), **scope)
    responses.wake(made["snoozed"], workspace=cast.workspace, actor=who)
    responses.snooze(made["snoozed"], datetime.now(UTC) + timedelta(hours=2), **scope)
    responses.close(made["closed"], reason="known since Monday", **scope)
    return made


def person(cast: Cast, name: str = "operator") -> str:
    return f"user:{cast.users[name].pk}"


def subscribe(cast: Cast, name: str = "operator", **choice: Any) -> UUID:
    """A subscription of a person; by mail unless another endpoint is named."""
    where = choice.pop("endpoint", None) or mail(cast)
    return subscriptions.make(
        cast.workspace, Choice(endpoint=where, **choice), actor="user:1", person=person(cast, name)
    )


def mail(cast: Cast) -> UUID:
    """The endpoint that writes to people."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM gp_endpoint WHERE workspace_id = %s AND name = 'mail'", [cast.workspace]
        )
        row = cursor.fetchone()
    return row[0] if row else endpoint(cast, "email", name="mail")


def incidents(cast: Cast, **more: Any) -> list[IncidentRow]:
    return queries.incidents(queries.IncidentSelection(**more), workspace=cast.workspace)


def deliveries() -> list[tuple[str, str]]:
    """(kind of message, recipient) of all that was put on its way, in order."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, recipient FROM gp_delivery ORDER BY id")
        return list(cursor.fetchall())


def later(**by: Any) -> None:
    """Let so much time pass for incidents: everything noted so far lies further back."""
    words = ", ".join(f"{name} => %s::integer" for name in by)
    with connection.cursor() as cursor:
        for table, columns in {
            "gp_incident": ("opened_at", "last_at", "taken_at", "snoozed_until", "closed_at"),
            "gp_incident_notice": ("first_at", "last_at", "escalated_at"),
            "gp_delivery": ("next_at", "done_at"),
        }.items():
            moved = ", ".join(f"{c} = {c} - make_interval({words})" for c in columns)
            cursor.execute(f"UPDATE {table} SET {moved}", list(by.values()) * len(columns))
