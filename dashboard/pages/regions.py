"""The regions of the pages: one context function each, which feeds page, fragment and push.

A region is a partial of a template with the same name as the id of its element. What it shows
depends on the page's reads and on roles, never on the person or the request, so one rendering
serves every socket of a rights class and is byte for byte what the page holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError
from django.template.loader import render_to_string

from approvals import queries as gates
from checkpoints import queries
from checkpoints.errors import NotFound
from dashboard.wire.topics import INCIDENT, OF_THREAD, Topic

from . import approvals, board, breakpoints, inbox, thread, thread_regions
from .parts import budgets, conversation, graph, incident, incidents
from .rights import Roles
from .tree import family

log = structlog.get_logger("gatepost.regions")


class Page(Protocol):
    """The reads of a page; `seq` numbers the look, `mark` differs when there is more to see."""

    topic: str

    @property
    def seq(self) -> int: ...

    @property
    def mark(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page: the kind of topic it belongs to, its template, what it needs to know.

    `by_roles` says that it differs with the reader's roles; a `personal` one differs with the
    person and is fetched by their page, never pushed. `key` gives a value that is the same
    only while the region is, for those that are dear to render.
    """

    topic: str
    template: str
    context: Callable[[Any, Roles], dict[str, Any]]
    by_roles: bool = False
    key: Callable[[Any], Hashable] | None = None
    personal: bool = False


BOARD, THREAD = "thread/list.html", "thread/detail.html"
INBOX, APPROVAL = "inbox/list.html", "approval/detail.html"
INCIDENTS, ONE_INCIDENT = "incident/list.html", "incident/detail.html"

REGIONS: dict[str, Region] = {
    "board-counts": Region("board", BOARD, board.board_counts, by_roles=True),
    "board-integrity": Region("board", BOARD, board.board_integrity),
    "board-stuck": Region("board", BOARD, board.board_stuck),
    "board-incidents": Region("board", BOARD, board.board_incidents),
    "board-breakers": Region("board", BOARD, board.board_breakers, by_roles=True),
    "board-budgets": Region("board", BOARD, budgets.board_budgets),
    "board-lanes": Region("board", BOARD, board.board_lanes, by_roles=True),
    "board-feed": Region("board", BOARD, board.board_feed),
    "thread-head": Region("thread", THREAD, thread.thread_head, by_roles=True),
    "thread-facts": Region("thread", THREAD, thread.thread_facts, by_roles=True),
    "thread-time": Region("thread", THREAD, thread_regions.thread_time),
    "thread-summary": Region("thread", THREAD, graph.thread_summary),
    "thread-note": Region("thread", THREAD, thread.thread_note, by_roles=True),
    "thread-damage": Region("thread", THREAD, thread.thread_damage),
    "thread-progress": Region("thread", THREAD, thread.thread_progress),
    "thread-lineage": Region("thread", THREAD, thread_regions.thread_lineage),
    "thread-forks": Region("thread", THREAD, thread_regions.thread_forks),
    "thread-family": Region("family", THREAD, family.thread_family),
    "thread-children": Region("family", THREAD, family.thread_children),
    "thread-conversation": Region(
        "thread",
        THREAD,
        conversation.thread_conversation,
        key=conversation.conversation_key,
    ),
    "thread-input": Region("thread", THREAD, thread.thread_input, by_roles=True),
    "thread-state": Region(
        "thread",
        THREAD,
        thread_regions.thread_state,
        by_roles=True,
        key=thread_regions.state_key,
    ),
    "thread-activities": Region("thread", THREAD, thread_regions.thread_activities, by_roles=True),
    "thread-events": Region("thread", THREAD, thread_regions.thread_events),
    "thread-plan": Region("thread", THREAD, graph.thread_plan),
    "thread-stop": Region("thread", THREAD, breakpoints.thread_stop, by_roles=True),
    "thread-graph": Region("thread", THREAD, graph.thread_graph),
    "thread-artifacts": Region(
        "thread", THREAD, thread_regions.thread_artifacts, key=thread_regions.artifacts_key
    ),
    "inbox-boxes": Region("approvals", INBOX, inbox.inbox_boxes, by_roles=True, personal=True),
    "inbox-list": Region("approvals", INBOX, inbox.inbox_list, by_roles=True),
    "nav-approvals": Region("approvals", "base.html", inbox.nav_approvals),
    "no-worker": Region("approvals", "base.html", inbox.no_worker),
    "incidents-list": Region("incidents", INCIDENTS, incidents.incidents_list),
    "incident-head": Region(INCIDENT, ONE_INCIDENT, incident.incident_head),
    "incident-facts": Region(INCIDENT, ONE_INCIDENT, incident.incident_facts),
    "incident-verbs": Region(
        INCIDENT, ONE_INCIDENT, incident.incident_verbs, by_roles=True, personal=True
    ),
    "incident-newest": Region(INCIDENT, ONE_INCIDENT, incident.incident_newest, by_roles=True),
    "approval-main": Region("approval", APPROVAL, approvals.approval_main),
    "approval-changed": Region("approval", APPROVAL, approvals.approval_changed),
    "approval-side": Region("approval", APPROVAL, approvals.approval_side, by_roles=True),
}
_OF_TOPIC: dict[str, frozenset[str]] = {
    kind: frozenset(
        name for name, region in REGIONS.items() if region.topic == kind and not region.personal
    )
    for kind in {region.topic for region in REGIONS.values()}
}


def of_topic(kind: str) -> frozenset[str]:
    """The regions that follow topics of this kind and can be pushed."""
    return _OF_TOPIC.get(kind, frozenset())


def context(page: Page, template: str, roles: Roles) -> dict[str, Any]:
    """The context of the whole page: the contexts of all its regions in one flat dict."""
    results: dict[str, Any] = {}
    for region in REGIONS.values():
        if region.template == template:
            results |= region.context(page, roles)
    return results


def render(page: Page, name: str, roles: Roles) -> str:
    """One region as HTML."""
    region = REGIONS[name]
    return render_to_string(f"{region.template}#{name}", region.context(page, roles))


Memo = dict[str, tuple[Hashable, str]]


def render_for(
    page: Page, wanted: Mapping[Roles, frozenset[str]], memo: Memo
) -> dict[Roles, dict[str, str]]:
    """Regions for several sets of roles, each rendered once; `memo` keeps dear ones between looks.

    Only for pages without a filter, whose looks follow each other. A region that cannot be rendered
    is left out: the others are as good as without it.
    """
    shared: dict[str, str | None] = {}
    results: dict[Roles, dict[str, str]] = {}
    for roles, names in wanted.items():
        results[roles] = {}
        for name in sorted(names):
            if REGIONS[name].by_roles:
                html = _attempted(page, name, roles, memo)
            else:
                if name not in shared:
                    shared[name] = _attempted(page, name, roles, memo)
                html = shared[name]
            if html is not None:
                results[roles][name] = html
    return results


def _attempted(page: Page, name: str, roles: Roles, memo: Memo) -> str | None:
    try:
        return _remembered(page, name, roles, memo)
    except (DatabaseError, InterfaceError):
        raise  # nothing at all can be read
    except Exception:
        log.exception("region.failed", region=name, topic=topic_name(page))
        return None


def _remembered(page: Page, name: str, roles: Roles, memo: Memo) -> str:
    key = REGIONS[name].key
    if key is None:
        return render(page, name, roles)
    now = key(page)
    known = memo.get(name)
    if known is None or known[0] != now:
        known = (now, render(page, name, roles))
        if not getattr(page, "passing", False):
            memo[name] = known
    return known[1]


def resolve(topic: Topic) -> Topic:
    """The topic as found in its workspace, with the thread it belongs to; raises NotFound."""
    if topic.ref is None:
        return topic
    if topic.kind in OF_THREAD:
        if not queries.in_workspace([topic.ref], workspace=topic.workspace):
            raise NotFound("There is no such thread in this workspace.")
        return topic
    if topic.kind == INCIDENT:
        row = incident.IncidentPage(topic.workspace, topic.ref).row
        return replace(topic, thread=row.workspace)
    return replace(topic, thread=gates.approval(topic.ref, workspace=topic.workspace).thread)


def topic_name(page: Page) -> str:
    """The name of the topic that a page follows."""
    ref = getattr(page, "id", None)
    return page.topic if ref is None else f"{page.topic}:{ref}"


def page_of(topic: Topic) -> Page:
    """The canonical page of a topic: no filter, the newest checkpoint."""
    if topic.kind == "board":
        return board.BoardPage(workspace=topic.workspace)
    if topic.kind == "approvals":
        return inbox.InboxPage(topic.workspace)
    if topic.kind == "incidents":
        return incidents.IncidentsPage(topic.workspace)
    if topic.ref is None:
        raise NotFound(f"There is no topic {topic.name}.")
    if topic.kind == "thread":
        return thread.ThreadPage(topic.workspace, topic.ref)
    if topic.kind == "family":
        return family.FamilyPage(topic.workspace, topic.ref)
    if topic.kind == INCIDENT:
        return incident.IncidentPage(topic.workspace, topic.ref)
    return approvals.ApprovalPage(topic.workspace, topic.ref, topic.thread)


def marks(topics: Iterable[Topic]) -> Mapping[Topic, Any]:
    """The mark of each topic; one statement for all threads, one for each of the others."""
    results: dict[Topic, Any] = {}
    of_thread: dict[UUID, list[Topic]] = defaultdict(list)
    for topic in topics:
        if topic.kind == "board":
            results[topic] = queries.board_look(workspace=topic.workspace).mark
        elif topic.kind == "approvals":
            results[topic] = inbox.InboxPage(topic.workspace).mark
        elif topic.kind == "incidents":
            results[topic] = incidents.IncidentsPage(topic.workspace).mark
        elif topic.kind == "family" and topic.ref is not None:
            results[topic] = queries.family_mark(topic.ref, workspace=topic.workspace)[1]
        elif topic.kind == INCIDENT and topic.ref is not None:
            results[topic] = incident.IncidentPage(topic.workspace, topic.ref).mark
        elif topic.thread is not None:
            of_thread[topic.thread].append(topic)
    if of_thread:
        for thread_id, mark in queries.thread_marks(list(of_thread)).items():
            results.update(dict.fromkeys(of_thread[thread_id], mark))
    return results
