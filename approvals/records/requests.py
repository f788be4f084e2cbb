"""Requests and their verdicts with all that their hashes bind; who was notified, who looked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from checkpoints.errors import ContentErased
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.erasures.requests import erased_among
from checkpoints.tables.readers import decoded, record_of

SQL = sql_file(__file__)


def recorded_requests(ids: Sequence[UUID], *, workspace: UUID) -> list[dict[str, Any]]:
    """Those of these requests that are of the workspace, by their ids; docs/proof.md says which
    hash is made of what.

    Raises ContentErased where what one of them proposed is gone.
    """
    params = {"ids": list(ids), "workspace": workspace}
    verdicts: dict[UUID, list[dict[str, Any]]] = {}
    for row in fetch_named(SQL.decisions, params):
        verdicts.setdefault(row.approval_id, []).append(_decision(row))
    rows = fetch_named(SQL.requests, params)
    requests = [_request(row, workspace) | {"decisions": verdicts.get(row.id, [])} for row in rows]
    # Asked behind the two reads: an erasure that was committed between them is seen here.
    if erased_among({row.thread_id for row in rows}):
        raise ContentErased("The content of a thread was erased while its requests were read.")
    return requests


def _request(row: Any, workspace: UUID) -> dict[str, Any]:
    return {
        "approval": str(row.id),
        "workspace": str(workspace),
        "thread": str(row.thread_id),
        "position": [row.branch, row.step, row.node, row.index, row.key],
        "tool": row.tool,
        "args": decoded(row.args),
        "agent_version": str(row.agent_version_id),
        "policy": row.policy_version,
        "deadline": None if row.deadline is None else row.deadline.isoformat(),
        "origin": decoded(row.origin),
        "proposal_hash": row.proposal_hash,
        "title": row.title,
        "risk": row.risk,
        "requested_at": row.requested_at.isoformat(),
        "imported": row.imported,
    }


def _decision(row: Any) -> dict[str, Any]:
    return {
        "decision": str(row.id),
        "reviewer": row.reviewer,
        "by_name": row.reviewer_name,
        "verdict": row.verdict,
        "proposal_hash": row.proposal_hash,
        "comment": row.comment,
        "args": decoded(row.args),
        "what_next": row.what_next,
        "at": row.at.isoformat(),
        "salt": bytes(row.salt).hex(),
        "hash": bytes(row.hash).hex(),
    }


@dataclass(frozen=True, slots=True)
class Look:
    """The first time that a person opened a request while it was open."""

    person: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Notice:
    """One message about a request: `recipient` is a person, a mail address, or empty for the
    endpoint itself; neither `done_at` nor `failed_at`: it is on its way."""

    kind: str
    endpoint: str
    channel: str
    recipient: str
    created_at: datetime
    done_at: datetime | None
    failed_at: datetime | None
    skipped: str


def looks_at(approval: UUID, *, workspace: UUID) -> list[Look]:
    """People who have looked at a request, the first one first."""
    result = fetch_named(SQL.looks, {"id": approval, "workspace": workspace})
    return [record_of(Look, row) for row in result]


def notices_of(approval: UUID, *, workspace: UUID) -> list[Notice]:
    """Messages about a request, in order."""
    result = fetch_named(SQL.notices, {"id": approval, "workspace": workspace})
    return [record_of(Notice, row) for row in result]
