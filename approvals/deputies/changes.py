"""The only writer of deputies: named for a time, for one request, and removed.

Each verb writes its event into the workspace's log in the same transaction; that of one request is
also an event of its thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from checkpoints import store
from checkpoints.errors import InvalidValue, NotAllowedNow
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas
from checkpoints.states import EventKind
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows

from .. import outbox, queries
from ..errors import FourEyes, NotYours
from ..notify.recipients import Person, deciders
from ..queries import ApprovalRow, deputies
from ..rules.deputies import Mandate, turn_of
from ..rules.headlines import named
from ..rules.votes import Part
from .models import Deputy

REASON_MAX: Final = 500
DAYS_MAX: Final = 366
OF_ONE_MAX: Final = 20  # of one person, now and later


@dataclass(frozen=True, slots=True)
class Period:
    """From when until when; both with a time zone. No beginning: from now on."""

    begins: datetime | None
    ends: datetime


def name_deputy(
    workspace: UUID, person: str, deputy: str, period: Period, *, reason: str, actor: str
) -> UUID:
    """Let one reviewer act for another for a time; the id.

    `person` and `deputy` are `user:7`. Raises InvalidValue, also where the person has a deputy for
    a part of that time.
    """
    _check_reason(reason)
    with transaction.atomic():
        store.lock_workspaces([workspace])
        people = {one.id: one for one in deciders(workspace)}
        for path, who in (("person", person), ("deputy", deputy)):
            if who not in people:
                raise InvalidValue(path, "must be an active reviewer of this workspace")
        if person == deputy:
            raise InvalidValue("deputy", "must be somebody else")
        begins = _begins(period)
        taken = [row for row in deputies.listed(workspace, person=person) if row.person == person]
        if len(taken) >= OF_ONE_MAX:
            raise InvalidValue("person", f"has {OF_ONE_MAX} deputies already; remove some")
        for row in taken:
            if row.ends is not None and begins < row.ends and row.begins < period.ends:
                raise InvalidValue(
                    "begins",
                    f"{row.deputy_name} is the deputy from {row.begins:%d %b %Y %H:%M} "
                    f"to {row.ends:%d %b %Y %H:%M}",
                )
        made = Deputy(workspace_id=workspace, person=person, deputy=deputy, made_by=actor)
        until = {"begins": begins.isoformat(), "ends": period.ends.isoformat()}
        data = _both(people[person], people[deputy], reason) | until
        values = {"begins": begins, "ends": period.ends, "reason": reason}
        recorded_rows.save(made, values, K.DEPUTY_NAMED, actor=actor, data=data)
    return made.id


def remove_deputy(ident: UUID, *, workspace: UUID, actor: str) -> None:
    """End a deputy's right immediately, or take a request back; raises NotFound."""
    with transaction.atomic():
        store.lock_workspaces([workspace])
        row = deputies.deputy(ident, workspace=workspace)
        people = {"person": row.person, "person_name": row.person_name}
        data: dict[str, Any] = people | {"deputy": row.deputy, "deputy_name": row.deputy_name}
        if row.request is not None:
            data["approval"] = str(row.request)
        gone = Deputy(id=ident, workspace_id=workspace)
        recorded_rows.delete(gone, K.DEPUTY_REMOVED, actor=actor, data=data)


def hand_over(
    approval: UUID, *, workspace: UUID, person: str, actor: str, to: str, reason: str
) -> UUID:
    """Let another reviewer (by user name) act for a person in one open request; the deputy's id.

    It takes the place of whom the person handed it to before. The person may still decide it, but
    it is no longer in their inbox. Raises NotFound, NotYours where the person has no part in it,
    FourEyes where these keep the other one out, NotAllowedNow, InvalidValue.
    """
    _check_reason(reason)
    with transaction.atomic():
        row = queries.approval(approval, workspace=workspace)
        store.lock_thread(row.thread)
        # Read again: somebody may have decided between our first read and the lock.
        row = queries.approval(approval, workspace=workspace)
        if not row.open:
            raise NotAllowedNow("This request is closed; there is nothing left to hand over.")
        store.lock_workspaces([workspace])
        people = {one.id: one for one in deciders(workspace)}
        if person not in people:
            raise NotYours("Only a reviewer of this workspace can hand a request over.")
        owner, other = people[person], next((p for p in people.values() if p.name == to), None)
        if other is None:
            raise InvalidValue("to", "must be the user name of an active reviewer")
        if other.id == person:
            raise InvalidValue("to", "must be somebody else")
        _check_turn(row, owner, other)
        former = [r.id for r in deputies.listed(workspace, person=person) if _is(r, person, row)]
        for one in former:
            remove_deputy(one, workspace=workspace, actor=actor)
        made = Deputy(workspace_id=workspace, person=person, deputy=other.id, made_by=actor)
        values = {"approval_id": row.id, "begins": Now(), "reason": reason}
        data = _both(owner, other, reason) | {"approval": str(row.id)}
        recorded_rows.save(made, values, K.DEPUTY_NAMED, actor=actor, data=data)
        event = data | named(row.title, row.shown_sentence)
        store.add_event(row.thread, store.NewEvent(EventKind.TURN_HANDED_OVER, event, actor))
        progress = row.progress
        news = {"title": row.title, "stage": progress.stage, "stages": progress.stages}
        news |= {"to": other.id, "by_name": owner.shown, "reason": reason}
        outbox.add(
            "approval.turn", workspace=workspace, thread=row.thread, approval=row.id, data=news
        )
    return made.id


def _check_turn(row: ApprovalRow, owner: Person, other: Person) -> None:
    """Refuse a request in which the owner has nothing to give, or the other one may not act."""
    progress = row.progress
    part = progress.part(owner.id, owner.names)
    if part is Part.BARRED:
        raise FourEyes
    if part not in (Part.DUE, Part.LATER):
        raise NotYours("It is not your turn in this request, so you cannot hand it over.")
    if other.id in progress.barred:
        raise FourEyes(f"Four eyes keep {other.shown} out of this request; choose somebody else.")
    mandate = Mandate(owner.id, owner.shown, owner.names)
    result = turn_of(progress, other.id, other.names, lambda: [mandate], request=row.id)
    if result.part is Part.VOTED:
        raise NotAllowedNow(f"{other.shown} has approved this already, and one person counts once.")
    if result.part is Part.LATER and result.mandate is None:
        raise NotAllowedNow(
            f"{other.shown} has to approve in a later stage themselves; choose somebody else."
        )


def _is(row: deputies.DeputyRow, person: str, request: ApprovalRow) -> bool:
    return row.person == person and row.request == request.id


def _begins(period: Period) -> datetime:
    (row,) = fetch_named("SELECT statement_timestamp() AS now", ())
    begins: datetime = row.now if period.begins is None else max(period.begins, row.now)
    if period.ends <= begins:
        raise InvalidValue("ends", "must be later than the beginning, and than now")
    if period.ends - begins > timedelta(days=DAYS_MAX):
        raise InvalidValue("ends", f"must be at most {DAYS_MAX} days after the beginning")
    return begins


def _check_reason(reason: str) -> None:
    deltas.check(reason, "reason")
    if len(reason) > REASON_MAX:
        raise InvalidValue("reason", f"takes at most {REASON_MAX} characters")


def _both(owner: Person, other: Person, reason: str) -> dict[str, Any]:
    people = {"person": owner.id, "person_name": owner.shown}
    return people | {"deputy": other.id, "deputy_name": other.shown, "reason": reason}
