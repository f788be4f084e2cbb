"""The messages of a thread that is a conversation: with a model, or between several agents."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.addresses import thread_address
from checkpoints.queries import SentRow
from checkpoints.views import CheckpointRow
from dashboard.html.conversation import Source, channel_of, lines, window
from dashboard.identity.people import people
from dashboard.wording.sentences import decider, person
from dashboard.wording.text import number
from dashboard.wording.usages import usage_text

type Roles = frozenset[str]


def thread_conversation(page: Any, roles: Roles) -> dict[str, Any]:
    """Region thread-conversation; without a conversation it has no lines."""
    state = page.state.state
    channel = channel_of(page.version.channels, state, page.thread.message_channel)
    context = {"thread": page.thread, "past": page.past, "talk_before": page.messages_before}
    if not channel:
        return {**context, "talk": [], "talk_count": "", "talk_older": 0}
    items = state[channel]
    shown = window(items, page.messages_before)
    requests = gates.for_thread(page.thread.id)
    sources = _Sources(page, channel, items, requests).of(shown)
    drawn = lines(
        items,
        shown,
        summary=state.get("summary"),
        sources=sources,
        requests=requests,
        activities=page.activities,
        status=page.thread.status,
    )
    return {
        **context,
        "talk": list(drawn),
        "talk_count": _count(shown, len(items)),
        "talk_older": shown.start + 1 if shown.start else 0,
    }


def _count(shown: range, total: int) -> str:
    """“41 to 80 of 96 messages”, or “6 messages” where all are shown."""
    many = "1 message" if total == 1 else f"{number(total)} messages"
    if len(shown) == total:
        return many
    return f"{number(shown.start + 1)} to {number(shown.stop)} of {many}"


def conversation_key(page: Any) -> Hashable:
    """The key of region thread-conversation: the state, and the status of requests."""
    channels = page.version.channels.values()
    if all(spec.get("reducer") != "append" for spec in channels):
        return None
    requests = tuple((row.id, row.status) for row in page.approvals)
    shown = page.checkpoint.id if page.checkpoint else None
    return shown, page.past, page.messages_before, page.thread.status, page.thread.version, requests


class _Sources:
    """Finds out where messages come from, newest checkpoint first; what is not known stays open."""

    def __init__(
        self, page: Any, channel: str, items: Sequence[Any], requests: Sequence[ApprovalRow]
    ) -> None:
        self._page, self._channel, self._items = page, channel, items
        self._requests = requests
        self._usage = _usage(page)
        self._names: dict[str, str] = {}
        self._agents: dict[UUID, str] = {page.version.id: page.version.agent}

    def of(self, shown: range) -> dict[int, Source]:
        """{index: where the message comes from} of messages on a page."""
        path = self._page.path
        added = queries.added_items([(row.thread, row.id) for row in path], self._channel)
        threads = {row.thread for row in path if row.source == "input" and row.number}
        sent = queries.sent_items(threads, self._channel) if threads else {}
        actors = [row.actor for rows in sent.values() for row in rows]
        self._names = people([self._page.thread.started_by, *actors])
        results: dict[int, Source] = {}
        end = len(self._items)
        for row in path:
            count = added.get(row.id, 0)
            whole = count is None or row.parent is None
            start = 0 if whole or count is None else max(0, end - count)
            if not (whole and row.source not in ("input", "step")):
                for index in range(max(start, shown.start), min(end, shown.stop)):
                    by = sent.get(row.id, [])
                    at = index - start
                    results[index] = self._of(index, row, by[at] if at < len(by) else None)
            end = start
            if end <= shown.start:
                break
        return results

    def _of(self, index: int, row: CheckpointRow, sent: SentRow | None) -> Source:
        source = Source(
            at=row.created_at,
            number=row.number,
            checkpoint=thread_address(row.thread, checkpoint=row.id),
            branch=row.branch,
            step=row.step,
        )
        if sent is not None:
            name, href = self._sender(sent)
            return replace(source, name=name, href=href, at=sent.at)
        item = self._items[index]
        role = item.get("role") if isinstance(item, Mapping) else ""
        if role == "assistant":
            name, href = self._agent(row)
            usage = self._usage.get((row.thread, row.branch, row.step), "")
            return replace(source, name=name, href=href, usage=usage)
        if role != "user":
            return source
        for request in self._requests:
            at_step = (request.branch, request.step) == (row.branch, row.step)
            if at_step and request.outcome == "respond":
                return replace(source, name=decider(request))
        if index == 0 or row.number == 0:
            # The goal of the one who started the thread, or the messages that it began with.
            actor = self._page.thread.started_by
            if actor.startswith("user:"):
                return replace(source, name=person(actor, self._names, imported=row.imported))
        return source

    def _sender(self, sent: SentRow) -> tuple[str, str]:
        """(name, address): of an agent the page of its thread."""
        if sent.sent_by:
            return sent.sent_by["agent"], thread_address(UUID(sent.sent_by["thread"]))
        return person(sent.actor, self._names, imported=sent.imported), ""

    def _agent(self, row: CheckpointRow) -> tuple[str, str]:
        version = row.agent_version_id
        if version not in self._agents:
            self._agents[version] = queries.agent_version(version).agent
        own = row.thread == self._page.thread.id
        return self._agents[version], "" if own else thread_address(row.thread)


def _usage(page: Any) -> dict[tuple[UUID, int, int], str]:
    """The usage text of each step with one model call."""
    taken: dict[tuple[UUID, int, int], list[str]] = {}
    for row in page.activities:
        if row.kind == "model" and row.state == "done" and isinstance(row.usage, Mapping):
            key = (row.thread, row.branch, row.step)
            taken.setdefault(key, []).append(usage_text({"usage": row.usage}).removeprefix(", "))
    return {key: texts[0] for key, texts in taken.items() if len(texts) == 1}
