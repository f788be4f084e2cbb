"""The texts that a commit writes straight are, byte for byte, those of the ordinary way."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from checkpoints.log import seals
from checkpoints.state import deltas
from checkpoints.store.statement import canonical_texts

HASHES = st.binary(min_size=32, max_size=32)
NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    max_size=3,
)
NUMBERS = st.integers(0, 2**31 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
COMMITTED = st.fixed_dictionaries(
    {"checkpoint": st.uuids().map(str), "next": NAMES, "step": NUMBERS}
)


@given(
    branch=NUMBERS,
    parent=st.none() | st.uuids(),
    source=st.sampled_from(["input", "step", "edit", "fork", "rollback", "upgrade", "import"]),
    delta_hash=HASHES,
    state_hash=HASHES,
    schema_version=NUMBERS,
    agent_version=st.uuids(),
    config_hash=st.none() | HASHES.map(bytes.hex),
)
def test_a_seal_written_straight_is_the_seal_that_is_verified(
    branch: int,
    parent: UUID | None,
    source: str,
    delta_hash: bytes,
    state_hash: bytes,
    schema_version: int,
    agent_version: UUID,
    config_hash: str | None,
) -> None:
    assert canonical_texts.checkpoint_seal(
        branch=branch,
        parent=parent,
        source=source,
        delta_hash=delta_hash,
        state_hash=state_hash,
        schema_version=schema_version,
        agent_version=agent_version,
        config_hash=config_hash,
    ) == seals.checkpoint_seal(
        branch=branch,
        parent=parent,
        source=source,
        delta_hash=delta_hash,
        state_hash=state_hash,
        schema_version=schema_version,
        agent_version=agent_version,
        config_hash=config_hash,
    )


@given(
    checkpoint=st.uuids(),
    number=NUMBERS,
    step=NUMBERS,
    nodes=NAMES,
    following=NAMES,
    seal=HASHES.map(bytes.hex),
)
def test_the_event_of_a_commit_written_straight_is_canonical(
    checkpoint: UUID, number: int, step: int, nodes: list[str], following: list[str], seal: str
) -> None:
    written = canonical_texts.committed_text(
        checkpoint=str(checkpoint),
        number=number,
        step=step,
        nodes=nodes,
        following=following,
        seal=seal,
    )
    told = {"checkpoint": str(checkpoint), "number": number, "step": step}
    told |= {"nodes": list(nodes), "next": list(following), "seal": seal}
    assert written == deltas.canonical(told)


ROWS = st.dictionaries(TEXTS, TEXTS | st.dictionaries(TEXTS, TEXTS, max_size=2), max_size=3)


@given(agent=TEXTS, agent_version=st.uuids(), title=TEXTS, committed=COMMITTED, row=ROWS)
def test_the_event_of_a_start_written_straight_is_canonical(
    agent: str, agent_version: UUID, title: str, committed: dict[str, Any], row: dict[str, Any]
) -> None:
    written = canonical_texts.started_text(
        agent=agent,
        agent_version=agent_version,
        title=title,
        committed=deltas.canonical(committed),
        row=row,
    )
    told = {"row": row, "agent": agent, "agent_version": str(agent_version), "title": title}
    assert written == deltas.canonical({**told, "checkpoint": committed})


@given(
    ids=st.tuples(st.uuids(), st.uuids(), st.uuids()),
    seq=NUMBERS,
    last_hash=HASHES,
    number=NUMBERS,
    changed=NAMES,
    committed=COMMITTED,
    config=st.none() | st.dictionaries(TEXTS, TEXTS | NUMBERS | st.none(), max_size=3),
    code=st.none() | st.uuids(),
    reason=TEXTS,
    row=ROWS,
)
def test_the_event_of_a_fork_written_straight_is_canonical(
    ids: tuple[UUID, UUID, UUID],
    seq: int,
    last_hash: bytes,
    number: int,
    changed: list[str],
    committed: dict[str, Any],
    config: dict[str, Any] | None,
    code: UUID | None,
    reason: str,
    row: dict[str, Any],
) -> None:
    base, chain, checkpoint = ids
    written = canonical_texts.forked_text(
        base=base,
        chain=str(chain),
        seq=seq,
        last_hash=last_hash,
        checkpoint=checkpoint,
        number=number,
        changed=changed,
        committed=deltas.canonical(committed),
        config=config,
        code=code,
        reason=reason,
        row=row,
    )
    told = {
        "row": row,
        "base": str(base),
        "base_checkpoint": str(checkpoint),
        "base_number": number,
        "base_chain": str(chain),
        "base_seq": seq,
        "base_hash": last_hash.hex(),
        "changed": changed,
        "reason": reason,
        "checkpoint": committed,
        **({"config": config} if config else {}),
        **({"agent_version": str(code)} if code else {}),
    }
    assert written == deltas.canonical(told)
