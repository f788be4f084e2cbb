"""Forks in which one recorded output is another one, as if its call had answered that.

The fork begins before the step of the call. The call stands in its record already, with the other
output, and so does all of the step that was recorded before it: nothing else differs when the step
is worked again. Effects are held: the fork asks before each that it comes to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from checkpoints.queries.activities import step_activities
from checkpoints.records import NewActivity, Position
from checkpoints.views import ActivityRow

from ..activities import ended, recorded
from ..forks import fork
from ..statement.moves import Insert, Move, NewEvent, perform

EXCHANGEABLE: Final = ("activity", "model", "effect")
# Drawn anew they would be other ones; other values of this kind may name what the base alone has.
_DRAWN: Final = ("now", "random", "uuid", "sleep")


def fork_with_output(
    call: ActivityRow,
    *,
    output: Any,
    checkpoint: UUID,
    actor: str,
    title: str = "",
    reason: str = "",
    budget: Mapping[str, Any] | None = None,
) -> UUID:
    """Begin a fork of the call's thread at `checkpoint`, before its step; writes nothing there."""
    with transaction.atomic():
        thread = fork(
            call.thread,
            checkpoint=checkpoint,
            changes={},
            actor=actor,
            title=title,
            reason=reason,
            budget=budget,
            exchanged=named(call),
        )
        beside = step_activities(call.thread, branch=call.branch, step=call.step)
        rows = written(call, output, beside, actor=actor)
        move = Move(thread)
        move.inserts = [insert for _, insert, _ in rows]
        move.events = [event for _, _, event in rows]
        perform(move)
    return thread


def named(call: ActivityRow) -> dict[str, Any]:
    """The name of the exchanged call in the fork's first event."""
    return {"activity": str(call.id), "node": call.node, "tool": call.tool, "step": call.step}


def written(
    call: ActivityRow, output: Any, beside: Iterable[ActivityRow], *, actor: str
) -> list[tuple[NewActivity, Insert, NewEvent]]:
    """The records with which the fork begins; `beside` is what the step has recorded."""
    newest = {(a.node, a.index, a.key): a for a in beside}
    rows = [
        (again := _again(a), *recorded(actor, again, result=a.result, usage=_spared(a)))
        for a in newest.values()
        if a.id != call.id and _comes_before(a, call)
    ]
    mark, exchanged = {"instead_of": str(call.id)}, _again(call)
    if call.kind == "effect":
        end = ended(actor, exchanged, state="done", result=output, usage=mark)
    else:
        end = recorded(actor, exchanged, result=output, usage=mark)
    return [*rows, (exchanged, *end)]


def _comes_before(a: ActivityRow, call: ActivityRow) -> bool:
    """Return whether a record cannot rest on the call: another node's, or one written before it."""
    if a.state != "done" or not (a.kind in ("activity", "model") or a.tool in _DRAWN):
        return False
    return a.node != call.node or a.started_at < call.started_at


def _again(a: ActivityRow) -> NewActivity:
    """The same call at the same place of a fork, where nothing was rolled back yet."""
    return NewActivity(
        id=uuid7(),
        position=Position(0, a.step, a.node, a.index, a.key),
        kind=a.kind,
        tool=a.tool,
        args=a.args,
        idempotency_key="",
    )


def _spared(a: ActivityRow) -> dict[str, Any] | None:
    """The usage of a reused result, as a worker records it; drawn values have none."""
    if a.kind == "value":
        return None
    took: Mapping[str, Any] = a.usage or {}
    tokens = took.get("tokens", took.get("reused_tokens"))
    cost = took.get("cost", took.get("reused_cost"))
    same = {name: took[name] for name in ("instead_of", "model", "config") if took.get(name)}
    spared = {"reused_tokens": tokens, "reused_cost": cost if cost != "0" else None}
    return {"reused_from": str(a.id), **same, **{k: v for k, v in spared.items() if v}}
