"""The columns of the ground floor's tables: name, type, and what is done with each.

Store, seals, verification, readers and capsules take theirs from here; a test compares the lists
with the models and the database. `listed.Column` says what the flags mean.
"""

from __future__ import annotations

from typing import Final

from .listed import listed

THREAD: Final = listed(
    "gp_thread",
    """
    id               uuid                     capsule
    workspace_id     uuid             proved  capsule
    agent_version_id uuid             proved  capsule
    agent            varchar          proved  capsule
    name             varchar null     proved  capsule
    title            varchar          proved  capsule
    automatic_title  varchar
    labels           jsonb            proved  capsule
    queue            varchar          proved
    status           varchar          proved  capsule
    status_since     timestamptz              capsule
    status_reason    text                     capsule
    waiting_on       jsonb null       proved  capsule
    wake_at          timestamptz null
    wake_seq         bigint
    wish             varchar
    wish_by          varchar
    pause_at         varchar          proved
    pinned           boolean          proved  capsule
    effects          varchar          proved
    head             uuid             proved  capsule
    number           integer          proved  capsule
    step             integer          proved  capsule
    branch           integer          proved  capsule
    branch_start     integer          proved
    next_nodes       jsonb            proved
    state_bytes      bigint           proved  capsule
    version          bigint                   capsule
    chain_id         uuid             proved  capsule
    last_seq         bigint           proved  capsule
    last_hash        bytea            proved  capsule
    prev_hash        bytea
    last_at          timestamptz              capsule
    lease_owner      varchar
    lease_token      uuid null
    lease_until      timestamptz null
    fence            bigint                   capsule
    crash_count      smallint
    started_by       varchar          proved  capsule
    parent           uuid null        proved  capsule
    root             uuid null        proved  capsule
    depth            smallint         proved  capsule
    base             uuid null        proved  capsule
    forked_from      uuid null        proved  capsule
    imported_seq     bigint           proved
    imported_number  integer          proved
    rollback         jsonb null       proved  capsule
    n_steps          bigint           proved  capsule
    tokens           bigint           proved  capsule
    cost             numeric          proved  capsule
    tokens_saved     bigint                   capsule
    created_at       timestamptz              capsule
    erasure          uuid null
    searchable       jsonb null
    moved_up_at      timestamptz null
    """,
)
CHECKPOINT: Final = listed(
    "gp_checkpoint",
    """
    id               uuid             proved  capsule
    thread_id        uuid             proved
    workspace_id     uuid             proved
    number           integer          proved  capsule
    branch           integer          sealed  capsule
    branch_start     integer          proved  capsule
    step             integer          proved  capsule
    parent           uuid null        sealed  capsule
    parent_thread    uuid null        proved  capsule
    parent_number    integer null     proved  capsule
    source           varchar          sealed  capsule
    nodes            jsonb            proved  capsule
    next_nodes       jsonb            proved  capsule
    delta            jsonb            proved  capsule
    salt             bytea            proved  capsule
    delta_hash       bytea            sealed  capsule
    state_hash       bytea            sealed  capsule
    state_bytes      bigint           proved  capsule
    schema_version   integer          sealed  capsule
    agent_version_id uuid             sealed  capsule
    config           jsonb null       sealed  capsule
    created_by       varchar          proved  capsule
    created_at       timestamptz      proved  capsule
    digests          bytea null       proved
    """,
)
CONTENT: Final = listed(
    "gp_content",
    """
    thread_id        uuid             proved
    sha256           varchar          proved
    workspace_id     uuid             proved
    body             text             proved
    """,
)
# What is sealed is what `chain.links.LINK_TEXT` names.
EVENT: Final = listed(
    "gp_event",
    """
    thread_id        uuid             proved
    seq              bigint           sealed  capsule
    workspace_id     uuid             proved
    kind             varchar          sealed  capsule
    v                smallint         sealed  capsule
    actor            varchar          sealed  capsule
    data             jsonb            proved  capsule
    salt             bytea            proved  capsule
    data_hash        bytea            sealed  capsule
    at               timestamptz      sealed  capsule
    prev_hash        bytea            sealed  capsule
    hash             bytea            proved  capsule
    """,
)
ACTIVITY: Final = listed(
    "gp_activity",
    """
    id               uuid             sealed  capsule
    thread_id        uuid             proved
    workspace_id     uuid             proved
    branch           integer          sealed  capsule
    step             integer          sealed  capsule
    node             varchar          sealed  capsule
    index            integer          sealed  capsule
    key              varchar          sealed  capsule
    revision         smallint         sealed  capsule
    kind             varchar          sealed  capsule
    tool             varchar          sealed  capsule
    state            varchar          sealed  capsule
    args             jsonb            proved  capsule
    salt             bytea            proved  capsule
    input_hash       bytea            sealed  capsule
    result           jsonb null       proved  capsule
    result_hash      bytea null       sealed  capsule
    error            text             sealed  capsule
    attempts         smallint         sealed  capsule
    cursor           jsonb null       proved
    progress         jsonb null
    usage            jsonb null       sealed  capsule
    idempotency_key  varchar          sealed  capsule
    undo             varchar          sealed  capsule
    undo_result      jsonb null       proved  capsule
    approval_id      uuid null        sealed  capsule
    started_at       timestamptz      proved  capsule
    finished_at      timestamptz null proved  capsule
    """,
)
# Where in the graph's course an activity or a request stands, with how often that changed.
POSITION: Final = ("branch", "step", "node", "index", "key", "revision")
# What is sealed makes the id, in this order.
AGENT_VERSION: Final = listed(
    "gp_agent_version",
    """
    id               uuid             proved  capsule
    agent            varchar          sealed  capsule
    version          integer          sealed  capsule
    fingerprint      varchar          sealed  capsule
    label            varchar                  capsule
    description      text                     capsule
    schema_version   integer          sealed  capsule
    schema           jsonb            sealed  capsule
    channels         jsonb            sealed  capsule
    graph            jsonb            sealed  capsule
    tools            jsonb            sealed  capsule
    queue            varchar                  capsule
    created_at       timestamptz
    code             jsonb null
    imported_into    uuid null
    """,
)
ARTIFACT: Final = listed(
    "gp_artifact",
    """
    id               uuid
    workspace_id     uuid
    sha256           varchar                  capsule
    name             varchar                  capsule
    media_type       varchar                  capsule
    size             bigint                   capsule
    path             varchar
    created_at       timestamptz
    """,
)
