"""What is pushed: each kind of topic with its regions and its canonical page.

`settings.LIVE_TOPICS` names `TOPICS`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from approvals import queries as gates
from checkpoints import queries
from checkpoints.errors import NotFound
from dashboard.approvals import inbox
from dashboard.approvals import request_reads as approvals
from dashboard.board import board
from dashboard.board.incidents import incident_reads, list_reads
from dashboard.live.regions import LiveTopic, Region
from dashboard.threads.page import breakpoints, conversation, family, graph, past, thread
from dashboard.wire.topics import FAMILY, INCIDENT, INCIDENTS, Topic

BOARD, THREAD = "board/board.html", "threads/detail.html"
INBOX, APPROVAL = "approvals/inbox.html", "approvals/request.html"
LIST, ONE = "board/incidents/list.html", "board/incidents/detail.html"


def _ref(topic: Topic) -> UUID:
    """The id in a topic's name."""
    if topic.ref is None:
        raise NotFound(f"There is no topic {topic.name}.")
    return topic.ref


def _thread(topic: Topic) -> Topic:
    if not queries.in_workspace([_ref(topic)], workspace=topic.workspace):
        raise NotFound("There is no such thread in this workspace.")
    return topic


def _incident(topic: Topic) -> Topic:
    row = incident_reads.IncidentPage(topic.workspace, _ref(topic)).row
    return replace(topic, thread=row.workspace)


def _approval(topic: Topic) -> Topic:
    row = gates.approval(_ref(topic), workspace=topic.workspace)
    return replace(topic, thread=row.thread)


def _thread_marks(topics: Sequence[Topic]) -> Mapping[Topic, Any]:
    """One statement for all threads, and for the threads of requests."""
    of_thread: dict[UUID, list[Topic]] = defaultdict(list)
    for topic in topics:
        if topic.thread is not None:
            of_thread[topic.thread].append(topic)
    results: dict[Topic, Any] = {}
    for thread_id, mark in queries.thread_marks(list(of_thread)).items() if of_thread else ():
        results.update(dict.fromkeys(of_thread[thread_id], mark))
    return results


TOPICS: Final[Mapping[str, LiveTopic]] = {
    "board": LiveTopic(
        {
            "board-counts": Region(BOARD, board.board_counts, by_roles=True),
            "board-integrity": Region(BOARD, board.board_integrity),
            "board-stuck": Region(BOARD, board.board_stuck),
            "board-incidents": Region(BOARD, board.board_incidents),
            "board-breakers": Region(BOARD, board.board_breakers, by_roles=True),
            "board-budgets": Region(BOARD, board.board_budgets),
            "board-lanes": Region(BOARD, board.board_lanes, by_roles=True),
            "board-feed": Region(BOARD, board.board_feed),
        },
        page=lambda topic: board.BoardPage(workspace=topic.workspace),
        by_clock=True,
    ),
    "thread": LiveTopic(
        {
            "thread-head": Region(THREAD, thread.thread_head, by_roles=True),
            "thread-facts": Region(THREAD, thread.thread_facts, by_roles=True),
            "thread-time": Region(THREAD, past.thread_time),
            "thread-summary": Region(THREAD, graph.thread_summary),
            "thread-note": Region(THREAD, thread.thread_note, by_roles=True),
            "thread-damage": Region(THREAD, thread.thread_damage),
            "thread-progress": Region(THREAD, thread.thread_progress),
            "thread-lineage": Region(THREAD, past.thread_lineage),
            "thread-forks": Region(THREAD, past.thread_forks),
            "thread-conversation": Region(
                THREAD,
                conversation.thread_conversation,
                key=conversation.conversation_key,
            ),
            "thread-input": Region(THREAD, thread.thread_input, by_roles=True),
            "thread-state": Region(
                THREAD,
                past.thread_state,
                by_roles=True,
                key=past.state_key,
            ),
            "thread-activities": Region(THREAD, past.thread_activities, by_roles=True),
            "thread-events": Region(THREAD, past.thread_events),
            "thread-plan": Region(THREAD, graph.thread_plan),
            "thread-stop": Region(THREAD, breakpoints.thread_stop, by_roles=True),
            "thread-graph": Region(THREAD, graph.thread_graph),
            "thread-artifacts": Region(THREAD, past.thread_artifacts, key=past.artifacts_key),
        },
        page=lambda topic: thread.ThreadPage(topic.workspace, _ref(topic)),
        resolve=_thread,
        marks=_thread_marks,
    ),
    FAMILY: LiveTopic(
        {
            "thread-family": Region(THREAD, family.thread_family),
            "thread-children": Region(THREAD, family.thread_children),
        },
        page=lambda topic: family.FamilyPage(topic.workspace, _ref(topic)),
        resolve=_thread,
    ),
    "approvals": LiveTopic(
        {
            "inbox-boxes": Region(INBOX, inbox.inbox_boxes, by_roles=True, personal=True),
            "inbox-list": Region(INBOX, inbox.inbox_list, by_roles=True),
            "nav-approvals": Region("base.html", inbox.nav_approvals),
            "no-worker": Region("base.html", inbox.no_worker),
        },
        page=lambda topic: inbox.InboxPage(topic.workspace),
        by_clock=True,
    ),
    INCIDENTS: LiveTopic(
        {
            "incidents-list": Region(LIST, list_reads.incidents_list),
        },
        page=lambda topic: list_reads.IncidentsPage(topic.workspace),
        by_clock=True,
    ),
    INCIDENT: LiveTopic(
        {
            "incident-head": Region(ONE, incident_reads.incident_head),
            "incident-facts": Region(ONE, incident_reads.incident_facts),
            "incident-verbs": Region(
                ONE, incident_reads.incident_verbs, by_roles=True, personal=True
            ),
            "incident-newest": Region(ONE, incident_reads.incident_newest, by_roles=True),
        },
        page=lambda topic: incident_reads.IncidentPage(topic.workspace, _ref(topic)),
        resolve=_incident,
        by_clock=True,
    ),
    "approval": LiveTopic(
        {
            "approval-main": Region(APPROVAL, approvals.approval_main),
            "approval-changed": Region(APPROVAL, approvals.approval_changed),
            "approval-side": Region(APPROVAL, approvals.approval_side, by_roles=True),
        },
        page=lambda topic: approvals.ApprovalPage(topic.workspace, _ref(topic), topic.thread),
        resolve=_approval,
        marks=_thread_marks,
    ),
}
