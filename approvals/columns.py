"""The columns of requests and decisions, as `checkpoints.tables.columns` lists those below."""

from __future__ import annotations

from typing import Final

from checkpoints.tables.listed import listed

# What is sealed never changes after the request was made.
APPROVAL: Final = listed(
    "gp_approval",
    """
    id               uuid             sealed  capsule
    workspace_id     uuid             sealed
    thread_id        uuid             sealed
    agent_version_id uuid             sealed  capsule
    branch           integer          sealed  capsule
    step             integer          sealed  capsule
    node             varchar          sealed  capsule
    index            integer          sealed  capsule
    key              varchar          sealed  capsule
    revision         smallint         sealed  capsule
    kind             varchar          sealed  capsule
    tool             varchar          sealed  capsule
    args             jsonb            sealed  capsule
    proposal_hash    varchar          sealed  capsule
    policy_version   varchar          sealed  capsule
    title            varchar          sealed  capsule
    description      text             sealed  capsule
    reasons          jsonb            sealed  capsule
    risk             varchar          sealed  capsule
    schema           jsonb null       sealed  capsule
    undo             varchar          sealed  capsule
    deadline         timestamptz null sealed  capsule
    terms            jsonb null       sealed  capsule
    policies         varchar          sealed  capsule
    repeats          jsonb null       sealed  capsule
    sentence         varchar          sealed  capsule
    origin           jsonb null       sealed  capsule
    standing_args    jsonb null       proved  capsule
    standing_hash    varchar          proved  capsule
    decide_by        timestamptz null proved  capsule
    escalated_at     timestamptz null proved  capsule
    reminded         smallint         proved
    tally            jsonb null       proved
    due_seats        text[]           proved
    due_except       text[]           proved
    status           varchar          proved  capsule
    outcome          varchar          proved  capsule
    what_next        varchar          proved  capsule
    comment          text             proved  capsule
    decided_by       varchar          proved  capsule
    decided_by_name  varchar          proved  capsule
    decided_at       timestamptz null proved  capsule
    decided_args     jsonb null       proved  capsule
    effective_at     timestamptz null proved  capsule
    requested_at     timestamptz      proved  capsule
    imported         boolean          proved
    """,
)
# What is sealed is what `rules.proposals.decision_content` takes.
DECISION: Final = listed(
    "gp_decision",
    """
    id               uuid             proved  capsule
    workspace_id     uuid             proved
    approval_id      uuid             sealed  capsule
    reviewer         varchar          sealed  capsule
    reviewer_name    varchar          proved  capsule
    verdict          varchar          sealed  capsule
    proposal_hash    varchar          sealed  capsule
    comment          text             sealed  capsule
    args             jsonb null       sealed  capsule
    what_next        varchar          sealed  capsule
    for_person       varchar          sealed  capsule
    salt             bytea            proved  capsule
    hash             bytea            proved  capsule
    at               timestamptz      proved  capsule
    """,
)
