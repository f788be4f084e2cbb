"""One request, and short forms of those that many examples share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints import store
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.states import EventKind

from .world import World

ROLES = ("operator", "manager", "auditor")


@dataclass(frozen=True)
class Call:
    """One request: what fills the path, the query, the body; who may make it; what it answers."""

    params: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    who: tuple[str, ...] = ROLES
    status: int = 200
    reach: tuple[str, ...] = ()  # those of `who` that the example exists for; none: all

    def but(self, **more: Any) -> Call:
        return replace(self, **more)


def next_node(thread: UUID) -> str:
    """The first node that works next."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT next_nodes ->> 0 FROM gp_thread WHERE id = %s", (thread,))
        (name,) = cursor.fetchone() or ("",)
    return str(name)


def with_file(thread: UUID) -> str:
    """The hash of a file that the thread has stored."""
    row = fetch_named("SELECT workspace_id FROM gp_thread WHERE id = %s::uuid", (thread,))[0]
    ref = store.put_artifact(
        row.workspace_id, name="a.csv", media_type="text/csv", chunks=[b"a,b\n1,2\n"]
    )
    sha = ref.pop("$artifact")
    payload = {"node": "work", "sha256": sha, **ref}
    store.add_event(thread, store.NewEvent(EventKind.ARTIFACT_STORED, payload, "worker:1"))
    return str(sha)


def version_of(thread: UUID) -> int:
    """The version that a page posts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT version FROM gp_thread WHERE id = %s", (thread,))
        (version,) = cursor.fetchone() or (0,)
    return int(version)


def on_thread(thread: UUID, **more: Any) -> Call:
    return Call({"thread_id": str(thread)}, **more)


def reported(w: World, at: tuple[UUID, UUID] | None = None, **more: Any) -> Call:
    thread, token = at or w.reporting
    return on_thread(thread, headers={"Gatepost-Lease": str(token)}, who=OPERATOR, **more)


def on_endpoint(endpoint: UUID, **more: Any) -> Call:
    return Call({"endpoint_id": str(endpoint)}, **more)


def on_hook(hook: UUID, **more: Any) -> Call:
    return Call({"hook_id": str(hook)}, **more)


def on_server(server: UUID, **more: Any) -> Call:
    return Call({"server_id": str(server)}, **more)


OPERATOR, EITHER = ("operator",), ("operator", "manager")
ADMIN, LOOKS = ("admin",), ("auditor",)

# The operator has a second factor.
WITHOUT_FACTOR = ("manager", "operator", "auditor")

# Only somebody who is there can do it.
NO_TOKEN = ("no token",)
