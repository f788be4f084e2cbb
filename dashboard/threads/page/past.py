"""Regions of a thread's page: its state, also while it cannot be read, and lists of its past."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from checkpoints import queries
from checkpoints.queries.activities import troubled_activities, usage_by_step
from checkpoints.views import ActivityRow, ArtifactRow, CheckpointRow
from dashboard.html import lineage
from dashboard.html.places import Sides
from dashboard.html.time_bar import timebar
from dashboard.identity.administrator import AUDIT
from dashboard.threads.page import errors, published
from dashboard.threads.page.encrypted_channels import encrypted_channels
from dashboard.threads.page.rights import Roles, rights_of
from dashboard.threads.page.values import event_sides, point, sides_of
from dashboard.wording.usages import usage_text

if TYPE_CHECKING:
    from dashboard.threads.page.thread import ThreadPage

SAVE_POINTS = 8  # shown without a click


def thread_state(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-state."""
    return {
        "thread": page.thread,
        "checkpoint": page.checkpoint,
        "state": page.state.state,
        "before": {} if page.anatomy else page.before_state.state,
        "schema": page.version.schema,
        "unread": page.state.unread,
        "before_unread": None if page.state.unread or page.anatomy else page.before_state.unread,
        "tab": page.tab,
        "anatomy": page.anatomy,
        "places": page.places,
        "past": page.past,
        "sides": _sides(page, roles),
    }


def _sides(page: ThreadPage, roles: Roles) -> Sides | None:
    """Addresses of the parts of the shown state and of the one before it."""
    shown = page.checkpoint
    if shown is None or page.state.unread or page.anatomy:
        return None
    old = "" if shown.parent is None else f"{shown.parent_thread}:{shown.parent_number}"
    state, notes = page.state.state, _encrypted(page, shown, roles)
    return sides_of(point(shown), state, old, page.before_state.state, notes)


def _encrypted(page: ThreadPage, shown: CheckpointRow, roles: Roles) -> dict[str, SafeString]:
    """Notes behind the encrypted channels: who may read each, and the way there."""
    notes = {}
    for channel in encrypted_channels(page.version.channels, page.state.state):
        link: str | SafeString = ""
        if channel.is_readable(roles):
            query = urlencode({"channel": channel.name, "checkpoint": shown.number})
            address = f"{reverse('thread_reveal', args=[shown.thread])}?{query}"
            link = format_html(' <a class="link" href="{}">Show…</a>', address)
        notes[channel.name] = format_html('<span class="x">({})</span>{}', channel.words, link)
    return notes


def state_key(page: ThreadPage) -> Hashable:
    """The key of region thread-state: a checkpoint never changes, only what is known of it."""
    ephemeral = page.thread.version if page.thread.is_ephemeral else None
    return _shown(page), page.past, page.tab, _integrity(page), ephemeral


def thread_artifacts(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-artifacts; while the state cannot be read, those of recorded results."""
    return {
        "thread": page.thread,
        "artifacts": _artifacts(page),
        "state_unread": page.state.unread is not None,
        "published": published.files(page.thread, page.activities),
        "past": page.past,
    }


def artifacts_key(page: ThreadPage) -> Hashable:
    """The key of region thread-artifacts: the state, the recorded activities, the files."""
    lies = tuple((f.slug, f.name) for f in published.files(page.thread, page.activities))
    return _shown(page), tuple((a.id, a.state) for a in page.activities), lies


def _integrity(page: ThreadPage) -> tuple[str, bool | None]:
    result = page.thread.integrity
    return page.missing, None if result is None else result.intact


def _shown(page: ThreadPage) -> UUID | None:
    return page.checkpoint.id if page.checkpoint else None


def _past(page: ThreadPage) -> UUID | None:
    return page.past.id if page.past else None


def _artifacts(page: ThreadPage) -> list[ArtifactRow]:
    """Files that the shown state and the recorded results refer to, each once."""
    results: dict[str, ArtifactRow] = {}
    for value in ([*page.state.with_files.values()], *(a.result for a in page.activities)):
        for ref in _references(value):
            results.setdefault(ref.sha256, ref)
    return list(results.values())


def _references(value: Any) -> Iterator[ArtifactRow]:
    # With a stack of its own, not a call for each item of a long list.
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            sha = value.get("$artifact")
            if isinstance(sha, str):
                yield ArtifactRow(
                    sha,
                    str(value.get("name") or sha[:12]),
                    str(value.get("media_type") or ""),
                    size if isinstance(size := value.get("size"), int) else 0,
                    "",
                )
                continue
            value = list(value.values())
        if isinstance(value, list | tuple):
            left += [item for item in reversed(value) if isinstance(item, dict | list | tuple)]


def thread_time(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-time."""
    bar = timebar(
        page.rows,
        thread=page.thread,
        selected=_past(page),
        times=page.times,
        tip=page.tip,
        limit=page.shown_rows,
        forks=page.forks,
    )
    return {"thread": page.thread, "timebar": bar, "past": page.past}


def thread_lineage(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-lineage."""
    drawn = lineage.layout(
        page.rows,
        thread=page.thread,
        selected=_past(page),
        forks=page.forks,
        times=page.times,
        limit=page.shown_rows,
        tip=page.tip,
    )
    cut = len(page.rows) >= page.read_rows
    return {
        "thread": page.thread,
        "lineage": drawn,
        "lineage_cut": cut,
        "past": page.past,
        "step_usage": _step_usage(page, [row.checkpoint for row in drawn.rows]),
    }


def _step_usage(page: ThreadPage, rows: Sequence[CheckpointRow]) -> dict[UUID, str]:
    """{checkpoint: tokens and cost of the step that it ended}, in words."""
    own = {(r.branch, r.step): r.id for r in rows if r.thread == page.thread.id}
    if not own or not (page.thread.tokens or page.thread.cost != "0"):
        return {}
    since = min(step for _, step in own)
    used = usage_by_step(page.thread.id, since)
    # An edit has the step of the checkpoint before it, whose calls these were.
    return {
        own[at]: usage_text({"usage": usage}).removeprefix(", ")
        for at, usage in used.items()
        if at in own
    }


def thread_forks(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-forks."""
    colours = lineage.colours_of_forks(page.forks)
    return {"thread": page.thread, "forks": page.forks, "colours": colours}


def thread_activities(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-activities; with ?kind=errors those that failed or were tried again."""
    rows = _save_points(page)
    shown = rows[:SAVE_POINTS]
    return {
        "thread": page.thread,
        "activities": shown,
        "points_cursor": shown[-1].id if len(rows) > len(shown) else None,
        "points_before": page.points_before,
        "points_query": {"cp": page.past and page.past.id, "kind": page.kind or None},
        "past": page.past,
        "only_errors": page.kind == errors.WORD,
        "rights": rights_of(roles),
    }


def _save_points(page: ThreadPage) -> list[ActivityRow]:
    """Those of the region, and at least one more where there are older ones."""
    before = UUID(page.points_before) if page.points_before else None
    limit, troubled, thread = SAVE_POINTS + 1, page.kind == errors.WORD, page.thread.id
    if before is None and not troubled:
        return page.activities
    if page.past:
        return queries.activities_until(
            thread, page.past.id, limit=limit, before=before, troubled=troubled
        )
    read = troubled_activities if troubled else queries.activities
    return read(thread, limit=limit, before=before)


def thread_events(page: ThreadPage, roles: Roles) -> dict[str, Any]:
    """Region thread-events."""
    return {
        "thread": page.thread,
        "events": page.events.rows,
        "kinds": page.kinds,
        "opened": page.event,
        "opened_sides": next(
            (event_sides(e) for e in page.events.rows if e.seq == page.event), None
        ),
        "people": page.people,
        "events_cursor": page.events.next_cursor,
        "events_query": {"cp": page.past and page.past.id, "kind": page.kind or None},
        "filtered": bool(page.kind or page.past)
        or page.before is not None
        or page.event is not None,
        "step_events": page.step_events,
        "troubles": errors.troubles(page.events.rows, thread=page.thread, rows=page.rows)
        if page.kind == errors.WORD
        else {},
        "only_errors": page.kind == errors.WORD,
        "past": page.past,
        "may_audit": not AUDIT.isdisjoint(roles),
    }
