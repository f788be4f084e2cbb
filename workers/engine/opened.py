"""What a worker does before its first step on a thread: a sound state, in the code's own form."""

from __future__ import annotations

from typing import Any

import structlog

from checkpoints.code_parts import changes, summary
from checkpoints.encryption.thread_state import ThreadState
from checkpoints.errors import CorruptHistory
from checkpoints.records import Work
from checkpoints.state.channels import Digests
from checkpoints.states import EventKind
from checkpoints.store import NewEvent, rollback_checkpoint
from gatepost_command import COMMAND

from ..authoring.errors import Parked
from ..authoring.time_limits import within
from ..step.guard import guarded
from ..step.ledger import Ledger
from ..step.step import Agent
from .upgrades import check_way, commit_upgrade, upgrade

log = structlog.get_logger("gatepost.engine")


def open_thread(
    work: Work, agent: Agent, ledger: Ledger, encrypted: ThreadState
) -> tuple[dict[str, Any], Digests]:
    """The head's state as it is stored, and its digests; raises Parked, InvalidValue when the
    schema refuses it, OutsideActivity when its validators do what they may not, CannotDecrypt.

    A head that does not match its hash is skipped. A thread never silently runs other code, nor a
    state of another schema, than it stopped with.
    """
    graph = agent.graph
    try:
        state, digests, stored = ledger.load(work, agent.version_id, graph.reducers)
    except CorruptHistory as error:
        _skip_corrupt(work, ledger, error)
        state, digests, stored = ledger.load(work, agent.version_id, graph.reducers)
    check_way(work, graph, stored)
    other = _other_code(work, agent, ledger, upgrades=stored != graph.schema_version)
    # Before other code is taken over: a thread that it cannot lead on stays with its own.
    other_form = stored != graph.schema_version
    made = upgrade(work, graph, state, stored, encrypted) if other_form else None
    if other:
        same = work.agent_version in agent.same
        ledger.adopt(work, agent.version_id, agent.fingerprint, same=same)
    if made is not None:
        commit_upgrade(work, graph, ledger, made)
        return made.state, made.digests
    encrypted.check_declared(state, state)
    plain = encrypted.opened(state)
    with within(work.token, "the state's validators", graph.step_seconds), guarded(graph.state):
        graph.check_loaded(plain)
    return state, digests


def _other_code(work: Work, agent: Agent, ledger: Ledger, *, upgrades: bool) -> bool:
    """Answer True if the thread stopped with another version; Parked if nobody allowed this one.

    Its author allows it, or a person. An author who upgrades the stored state to this code's form
    wants its threads to continue.
    """
    if work.agent_version == agent.version_id:
        return False
    if work.agent_version in agent.same:
        return True
    query: dict[str, Any] = {
        "kind": "code",
        "version": str(agent.version_id),
        "fingerprint": agent.fingerprint,
    }
    missing = sorted(set(work.next_nodes) - set(agent.graph.nodes))
    if missing:
        # Before it is taken over: the thread stays with the code that can continue it.
        raise Parked(
            f"The code of {work.agent!r} changed since this thread last worked "
            f"(now {agent.fingerprint[:12]}) and has no node named {', '.join(missing)}, which "
            "comes next. Install the former code again, or roll back to where both agree.",
            {**query, "nodes": missing, "choices": ["pin"]},
        )
    rule = agent.graph.on_code_change
    if not (upgrades or rule == "go_on" or work.wish == "accept"):
        changed = changes(ledger.code(work.agent_version), agent.code)
        what = f" Changed: {summary(changed)}." if changed else ""
        raise Parked(
            f"The code of {work.agent!r} changed since this thread last worked "
            f"(now {agent.fingerprint[:12]}).{what} Accept the new code, stay with the former one "
            "(pin: it waits for a worker that has it), or fork it under the new one.",
            {**query, "choices": ["pin", "accept", "fork"]},
        )
    return True


def _skip_corrupt(work: Work, ledger: Ledger, error: CorruptHistory) -> None:
    """Set the head back to the newest sound checkpoint; Parked when the thread has none.

    The branch stays what it is, so the steps after it find their activities recorded at their
    positions and call none of them again. What is corrupt stays where it is, for `verify`.
    """
    corrupt = work.head
    sound = ledger.newest_sound(work)
    if sound is None:
        ledger.note_damage(work, work.head, error.message)
        raise Parked(
            f"{error.message} No checkpoint before it is sound either; "
            f"`{COMMAND} verify {work.thread}` says where the history was altered.",
            {"kind": "history"},
        ) from error
    log.critical("checkpoint.skipped", number=work.number, sound=sound.number)
    skipped = {"from": work.number, "to": sound.number, "why": error.message}
    checkpoint = rollback_checkpoint(work, sound, branch=work.branch, parent_thread=sound.thread)
    new_event = NewEvent(EventKind.CHECKPOINT_SKIPPED, skipped, work.owner)
    ledger.commit(work, checkpoint, before=[new_event])
    what = f"Checkpoint #{skipped['from']} was skipped: {error.message}"
    ledger.note_damage(work, corrupt, what)
