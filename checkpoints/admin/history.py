"""Threads and everything that belongs to them, agents and workers: read only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import BigIntegerField, Func
from django.urls import reverse

from ..addresses import thread_address
from ..models import (
    Activity,
    AgentVersion,
    Artifact,
    Checkpoint,
    Content,
    Event,
    Thread,
    Worker,
)
from ..queries import verification
from ..states import ACTIVITY_KINDS, ACTIVITY_STATES, CHECKPOINT_SOURCES, EventKind, Status
from .filters import choice, ident, noun, since
from .lists import Records
from .paging import XID, Walk

BOARD = "Threads are started, steered, edited and rolled back on their own pages, not here."
WRITTEN = "The log is written with what happens and never changed afterwards."
BY_WORKSPACE = ident("workspace_id", "workspace")
BY_THREAD = ident("thread_id", "thread")
CHAIN = ("Chain", ("hash", "prev_hash", "data_hash", "salt"))


def of_thread(thread: UUID) -> list[tuple[str, str]]:
    """List (label, address) of the pages that show a thread and everything that belongs to it."""
    nouns = ("checkpoint", "content", "event", "activity")
    lists = (*(f"checkpoints_{noun}" for noun in nouns), "approvals_approval")
    return [
        ("Open the thread", thread_address(thread)),
        ("Raw record", reverse("admin:checkpoints_thread_change", args=[thread])),
        *(
            (f"Its {name}", f"{reverse(f'admin:{model}_changelist')}?thread_id={thread}")
            for name, model in zip(
                ("checkpoints", "contents", "events", "activities", "approvals"),
                lists,
                strict=True,
            )
        ),
    ]


def record_of(thread: UUID) -> str:
    """Describe the result and the time of the thread's last verification."""
    result = verification(thread)
    if result is None:
        return "Record: not verified yet"
    if not result.intact:
        return f"Record: damaged at event {result.broken_seq or 0:,}"
    at = result.checked_at.astimezone(UTC)
    return f"Record: intact, events 1 to {result.n_events:,}, checked {at:%Y-%m-%d %H:%M:%S} UTC"


@admin.register(Thread)
class ThreadRecords(Records):
    """One row for each thread: its agent, status and totals."""

    columns = ("title", "agent", "status", "step", "status_since", "started_by")
    record = "id"
    walks = (
        Walk(("status_since", "id"), ("workspace_id", "status")),
        Walk(("status_since", "id"), ("workspace_id",)),
        Walk(("id",)),
    )
    filters = (choice("status", Status), BY_WORKSPACE, ident("agent_version_id", "agent version"))
    search_exact = ("name", "agent")
    search_text = ("title",)
    actors = ("started_by", "wish_by")
    search_help_text = "Id or its beginning, name, agent, words of the title, who started it"
    groups = (
        ("What it is", ("id", "title", "name", "agent", "agent_version_id", "labels", "queue")),
        (
            "Current state",
            (
                "status",
                "status_since",
                "status_reason",
                "waiting_on",
                "wake_at",
                "step",
                "number",
                "branch",
                "head",
                "next_nodes",
                "version",
                "wish",
                "wish_by",
                "pause_at",
                "rollback",
            ),
        ),
        ("Where it comes from", ("started_by", "created_at", "base", "forked_from")),
        ("What it has cost", ("n_steps", "tokens", "cost", "tokens_saved", "state_bytes")),
        ("Lease", ("lease_owner", "lease_token", "lease_until", "fence", "crash_count")),
        ("Chain", ("chain_id", "last_seq", "last_hash", "prev_hash", "last_at")),
    )
    # Nothing writes it yet.
    never_shown = ("parent",)
    refusal = BOARD

    def related(self, row: Any) -> list[tuple[str, str]]:
        badge = (record_of(row.pk), f"{thread_address(row.pk)}#record")
        return [badge, *(pair for pair in of_thread(row.pk) if pair[0] != "Raw record")]

    def name_of(self, row: Any) -> str:
        return str(row.title)


@admin.register(Checkpoint)
class CheckpointRecords(Records):
    """Checkpoints of all threads; those of one thread in its own order."""

    columns = (
        "number",
        "thread_id",
        "source",
        "step",
        "branch",
        "nodes",
        "created_by",
        "created_at",
    )
    walks = (Walk(("number",), ("thread_id",)), Walk(("thread_id", "number")))
    key = ("thread_id", "number")
    filters = (choice("source", CHECKPOINT_SOURCES), BY_THREAD, BY_WORKSPACE)
    search_ids = ("thread_id",)
    begun = "thread_id"
    actors = ("created_by",)
    thread_column = "thread_id"
    search_help_text = "Thread id or its beginning, who wrote it"
    groups = (
        (
            "Current state",
            (
                "thread_id",
                "id",
                "number",
                "step",
                "branch",
                "source",
                "nodes",
                "next_nodes",
                "created_by",
                "created_at",
            ),
        ),
        ("What it changed", ("delta",)),
        ("Where it comes from", ("parent_thread", "parent_number", "parent", "branch_start")),
        ("Proof", ("state_hash", "delta_hash", "salt", "state_bytes")),
    )
    refusal = BOARD

    def related(self, row: Any) -> list[tuple[str, str]]:
        page = thread_address(row.thread_id, checkpoint=row.number)
        return [("Open at this checkpoint", page), *of_thread(row.thread_id)]


@admin.register(Content)
class ContentRecords(Records):
    """Large values of a state, stored once by their hash. Files are under Artifacts."""

    columns = ("thread_id", "sha256", "size")
    walks = (Walk(("sha256",), ("thread_id",)), Walk(("thread_id", "sha256")))
    key = ("thread_id", "sha256")
    filters = (BY_THREAD, BY_WORKSPACE)
    search_ids = ("thread_id",)
    search_exact = ("sha256",)
    begun = "thread_id"
    thread_column = "thread_id"
    search_help_text = "Thread id or its beginning, hash of the value"
    groups = (("What it is", ("thread_id", "sha256", "body")),)
    refusal = WRITTEN

    def prepare(self, rows: Sequence[Any]) -> None:
        """The size as well: a list reads no value for it."""
        super().prepare(rows)
        length = Func("body", function="octet_length", output_field=BigIntegerField())
        result = Content._default_manager.filter(
            thread_id__in={row.thread_id for row in rows}, sha256__in={row.sha256 for row in rows}
        ).values_list("thread_id", "sha256", length)
        sizes = {(thread, sha256): size for thread, sha256, size in result}
        for row in rows:
            row.size = sizes.get((row.thread_id, row.sha256))

    def size(self, row: Any) -> Any:
        """In bytes."""
        return self.site.cell(row, "size")

    def related(self, row: Any) -> list[tuple[str, str]]:
        return of_thread(row.thread_id)


@admin.register(Event)
class EventRecords(Records):
    """Every event of every thread, in the order of commit."""

    columns = ("at", "thread_id", "seq", "kind", "says", "actor")
    needs = ("data",)
    walks = (
        Walk(("seq",), ("thread_id",)),
        Walk((XID, "thread_id", "seq")),
        Walk(("thread_id", "seq")),
    )
    key = ("thread_id", "seq")
    filters = (noun("kind", EventKind, "what it is about"), since("at"), BY_THREAD, BY_WORKSPACE)
    search_ids = ("thread_id",)
    search_exact = ("kind", "actor")
    begun = "thread_id"
    actors = ("actor",)
    thread_column = "thread_id"
    search_help_text = "Thread id or its beginning, kind (approval.decided), a person's name"
    groups = (("What happened", ("thread_id", "seq", "kind", "v", "actor", "at", "data")), CHAIN)
    refusal = WRITTEN

    def says(self, row: Any) -> Any:
        """In words."""
        return self.site.sentence(row)

    def related(self, row: Any) -> list[tuple[str, str]]:
        return of_thread(row.thread_id)


@admin.register(Activity)
class ActivityRecords(Records):
    """Save points: each call of a tool or model, with its result."""

    columns = ("started_at", "thread_id", "tool", "kind", "state", "node", "step", "finished_at")
    walks = (
        Walk(("branch", "step", "node", "index", "key", "revision"), ("thread_id",)),
        Walk(("id",)),
    )
    filters = (
        choice("kind", ACTIVITY_KINDS),
        choice("state", ACTIVITY_STATES),
        since("started_at"),
        BY_THREAD,
        BY_WORKSPACE,
    )
    search_ids = ("id", "thread_id")
    search_exact = ("tool", "node", "idempotency_key")
    thread_column = "thread_id"
    search_help_text = "Id or its beginning, thread id, tool, node, idempotency key"
    groups = (
        (
            "What was done",
            (
                "tool",
                "kind",
                "state",
                "args",
                "result",
                "error",
                "attempts",
                "usage",
                "started_at",
                "finished_at",
                "approval_id",
            ),
        ),
        ("Where", ("thread_id", "branch", "step", "node", "index", "key", "revision")),
        ("Undo", ("undo", "undo_result")),
        ("Proof", ("idempotency_key", "input_hash", "result_hash", "salt")),
    )
    refusal = BOARD

    def related(self, row: Any) -> list[tuple[str, str]]:
        return of_thread(row.thread_id)


@admin.register(Artifact)
class ArtifactRecords(Records):
    """Files by their content."""

    columns = ("name", "media_type", "size", "sha256", "created_at")
    filters = (since("created_at"), BY_WORKSPACE)
    search_exact = ("sha256", "name")
    search_help_text = "Id or its beginning, hash of the content, name"
    refusal = "Files are stored by agents and with the input of a thread, not here."

    def related(self, row: Any) -> list[tuple[str, str]]:
        return [("Open the file", reverse("artifact", args=[row.sha256]))]

    def name_of(self, row: Any) -> str:
        return str(row.name)


@admin.register(AgentVersion)
class AgentVersionRecords(Records):
    """Every version of every agent that a worker has loaded; shared by all workspaces."""

    columns = ("agent", "version", "label", "queue", "fingerprint", "created_at")
    workspace_column = ""
    filters = (since("created_at", "announced"),)
    search_exact = ("agent", "fingerprint", "queue")
    search_help_text = "Id or its beginning, agent, fingerprint, queue"
    groups = (("What it is", ("agent", "version", "label", "description", "queue", "created_at")),)
    refusal = "Workers announce their agents when they start; nothing is entered by hand."

    def related(self, row: Any) -> list[tuple[str, str]]:
        threads = reverse("admin:checkpoints_thread_changelist")
        return [("Its threads", f"{threads}?agent_version_id={row.pk}")]

    def name_of(self, row: Any) -> str:
        return f"{row.agent} {row.version}"


@admin.register(Worker)
class WorkerRecords(Records):
    """Worker processes and when each last reported; shared by all workspaces."""

    columns = ("id", "host", "pid", "slots", "started_at", "seen_at", "stopped_at")
    workspace_column = ""
    walks = (Walk(("started_at", "id")),)
    filters = (since("started_at"),)
    search_ids = ()
    begun = ""
    search_exact = ("id", "host")
    search_help_text = "Id, host"
    refusal = "Workers enter themselves when they start; stop one by stopping its process."

    def name_of(self, row: Any) -> str:
        return str(row.pk)
