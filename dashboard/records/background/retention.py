"""Apply retention rules: with each sweep a few threads that are due are archived and erased.

A thread goes with everything that was forked from it or started by it; where one of those is not
finished, not due, or under a legal hold, all of them wait. Each erasure names its rule. The rounds
go through the threads by id and begin anew, so one that has to wait keeps no other one waiting.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import transaction
from django.dispatch import receiver

from checkpoints import queries, store
from checkpoints.errors import ContentAway, NotAllowedNow
from checkpoints.payloads import disk
from checkpoints.postgres.guarded_rows import bound_waits, handle_each
from checkpoints.queries.erasures import requests, rules
from checkpoints.queries.erasures.rules import DueRow
from checkpoints.signals import retention_due
from dashboard.threads.capsules.exports import capsule_of

log = structlog.get_logger("gatepost.retention")
AT_ONCE: Final = 20
SECONDS: Final = 2.0
ACTOR: Final = "retention"
FOLDER: Final = "archive"
_FIRST: Final = UUID(int=0)
_last = _FIRST


@receiver(retention_due, dispatch_uid="dashboard.records.background.retention")
def apply_some(**_kwargs: Any) -> None:
    """Apply the rules to the next few threads, for a short time."""
    apply_rules(seconds=SECONDS)


def apply_rules(*, seconds: float | None = None) -> int:
    """Erase the next threads that are due, for at most these seconds; how many erasures."""
    global _last
    until = None if seconds is None else time.monotonic() + seconds
    page = rules.due(_last, limit=AT_ONCE)
    _last = page[-1].thread if len(page) == AT_ONCE else _FIRST

    def apply_one(due: tuple[UUID, UUID | None, DueRow]) -> int:
        global _last
        *_, row = due
        if until is not None and time.monotonic() > until:
            _last = _FIRST
            return 0
        try:
            return _apply(row)
        except (NotAllowedNow, ContentAway) as error:
            log.info("retention.waits", thread=str(row.thread), why=error.message)
            return 0

    return handle_each("retired", [(row.thread, row.thread, row) for row in page], apply_one)


def _apply(row: DueRow) -> bool:
    """Archive and erase a thread with all that came from it; False where something has to wait."""
    selection = requests.selection(row.thread, workspace=row.workspace, scope="thread")
    if not selection.threads or not rules.all_due(selection.ids, days=row.days):
        return False
    store.refuse_erasure(row.thread, selection)
    archived = {one: archive(one, row.workspace) for one in selection.ids} if row.archive else {}
    with transaction.atomic():
        bound_waits()
        made = store.request_erasure(
            row.thread,
            workspace=row.workspace,
            scope="thread",
            reason=row.sentence,
            actor=ACTOR,
            name="a retention rule",
            rule=row.rule,
        )
        # Its threads are closed by now, and an archive may have taken long.
        if made.selection != selection.digest or not _still_applies(row, selection.ids, archived):
            raise NotAllowedNow("Its threads or the rule have changed since they were looked at.")
    store.carry_out_erasure(made.id, workspace=row.workspace, seconds=SECONDS)
    return True


def _still_applies(row: DueRow, threads: Sequence[UUID], archived: Mapping[UUID, int]) -> bool:
    """Answer True if the rule still says that these are due, and no archive lacks an event."""
    rule = rules.rule_of(row.workspace, row.agent)
    if rule is None or not rule.active or (rule.days, rule.archive) != (row.days, row.archive):
        return False
    if not row.agent:  # the rule of agents without one of their own
        agent = queries.thread(row.thread, workspace=row.workspace).agent
        if rules.rule_of(row.workspace, agent) is not None:
            return False
    ends = {one: queries.thread(one, workspace=row.workspace).last_seq for one in archived}
    return ends == archived and rules.all_due(threads, days=row.days)


def archive(thread: UUID, workspace: UUID) -> int:
    """Put a capsule of a thread into the file store: the number of its last event.

    Raises ContentAway.

    One that lies there from an attempt before is replaced.
    """
    path = f"{FOLDER}/{workspace}/{thread}.zip"
    row = queries.thread(thread, workspace=workspace)
    try:
        with closing(capsule_of(row, None)) as capsule:
            if not disk.on_disk():
                disk.replaced(path)
            disk.store_file(capsule.chunks(), lambda _: path)
    except OSError as error:
        raise ContentAway(f"The storage takes no archive: {error.strerror}.") from error
    data = {"thread": str(thread), "seq": capsule.seq, "hash": capsule.hash, "archive": path}
    store.log_export(workspace, data=data | {"capsule": capsule.manifest_sha}, actor=ACTOR)
    return capsule.seq
