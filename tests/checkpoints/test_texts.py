"""The texts that a commit writes straight are, byte for byte, those of the ordinary way."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from checkpoints import deltas, seals
from checkpoints.store import texts

HASHES = st.binary(min_size=32, max_size=32)
NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    max_size=3,
)
NUMBERS = st.integers(0, 2**31 - 1)


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
    assert texts.checkpoint_seal(
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
    written = texts.committed_text(
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
