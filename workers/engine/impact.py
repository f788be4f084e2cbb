"""What the installed code would do with threads that stopped with other code; writes nothing.

Imports agents' code and calls their upgrades on real states, so it belongs to the worker's side:
no web process may call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import UUID

from checkpoints import store
from checkpoints.code_parts import changes, summary
from checkpoints.encryption.thread_state import ThreadState
from checkpoints.errors import GatepostError, InvalidValue, UpgradeFailed
from checkpoints.queries.installation.suspended import SuspendedRow
from checkpoints.states import Status
from gatepost_command import COMMAND

from ..authoring.graph import Graph
from ..code import registry
from .upgrades import try_upgrade

# goes_on and upgrades need nobody; stops is what a deploy should know of; pinned and stands wait
# for something already, whatever is installed.
VERDICTS: Final = ("stops", "upgrades", "goes_on", "pinned", "stands")
_KEEP = "let a worker with the former code finish it first (`threads code THREAD pin`)"


@dataclass(frozen=True, slots=True)
class Installed:
    """An agent as it is installed here."""

    graph: Graph
    fingerprint: str
    code: Mapping[str, Any] = field(default_factory=dict)
    former: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One thread's fate: `group` is the reason without the thread's own details."""

    verdict: str
    group: str
    why: str
    do: str = ""


def installed(modules: Iterable[str] | None = None) -> dict[str, Installed]:
    """The agents of these modules, or of all that a worker would take; announces none of them.

    Raises GraphError, and whatever importing them raises.
    """
    results = {}
    for graph, _, parts in registry.discover(modules):
        code = registry.code_of(graph, parts)
        made = registry.fingerprint_of(graph, parts, code)
        results[graph.name] = Installed(graph, made, code, code["former"])
    return results


def judge(
    row: SuspendedRow,
    code: Mapping[str, Installed],
    state: Callable[[], dict[str, Any]],
    former: Callable[[UUID], Mapping[str, Any] | None] = lambda _: None,
) -> Judgement:
    """Predict what happens to a thread under the installed code.

    `state` reads that of its head, `former` the code of a version; both are called when needed.
    """
    own = code.get(row.agent)
    result = _missing() if own is None else _judged(row, own, state, former)
    if row.status is Status.ATTENTION and result.verdict != "pinned":
        then = "" if result.verdict != "stops" else f" After that: {result.why}"
        return Judgement(
            "stands",
            "already needs attention",
            f"It already needs attention, whatever is installed: {row.status_reason}{then}",
            f"threads show {row.id}",
        )
    return result


def _missing() -> Judgement:
    return Judgement(
        "stops",
        "no code",
        "No code for this agent is installed.",
        f"Install it (GATEPOST_AGENTS), or {_KEEP}.",
    )


def _judged(
    row: SuspendedRow,
    own: Installed,
    state: Callable[[], dict[str, Any]],
    former: Callable[[UUID], Mapping[str, Any] | None],
) -> Judgement:
    graph, stored = own.graph, row.schema_version
    if row.version == graph.version and row.fingerprint in (own.fingerprint, own.former):
        return Judgement("goes_on", "same code", "The same code.")
    if row.pinned:
        why = "It waits for a worker with the code it stopped with."
        return Judgement("pinned", "pinned", why, "threads code THREAD unpin lets it continue")
    missing = sorted(set(row.next_nodes) - set(graph.nodes))
    if missing:
        named = ", ".join(missing)
        return Judgement(
            "stops",
            f"no node {named}",
            f"The installed code has no node named {named}, which comes next.",
            f"Keep the node until such threads are through, or {_KEEP}.",
        )
    try:
        graph.upgrades.plan(stored, graph.schema_version)
    except GatepostError as error:
        newer = stored > graph.schema_version
        do = "Install the newer code." if newer else "Register the missing upgrade."
        return Judgement("stops", f"schema {stored}, no way", error.message, do)
    if stored != graph.schema_version:
        return _tried(row, graph, state)
    if graph.on_code_change == "stop":
        what = summary(changes(former(row.agent_version), own.code))
        named = f" ({what})" if what else ""
        return Judgement(
            "stops",
            f"code changed{named}, rule stop",
            f"Its code changed{named}, and its agent's rule is to stop and ask a person.",
            f"Afterwards `threads code THREAD accept`, or on_code_change='go_on', or {_KEEP}.",
        )
    return _fits(row, graph, state)


def _tried(row: SuspendedRow, graph: Graph, state: Callable[[], dict[str, Any]]) -> Judgement:
    versions = f"schema {row.schema_version} to {graph.schema_version}"
    try:
        try_upgrade(graph, state(), row.schema_version, _encrypted(row, graph))
    except UpgradeFailed as error:
        why, do = error.message, "Correct the upgrade."
    except InvalidValue as error:
        why = f"After the upgrade from {versions} the state does not fit: {error}"
        do = "Correct the upgrade, or edit the state."
    except GatepostError as error:
        return _unreadable(row, error)
    except SystemExit as error:
        why, do = f"The upgrade ended the process ({error}).", "Correct the upgrade."
    else:
        return Judgement("upgrades", versions, f"Its state is led from {versions}.")
    return Judgement("stops", f"{versions} fails", why, do)


def _fits(row: SuspendedRow, graph: Graph, state: Callable[[], dict[str, Any]]) -> Judgement:
    try:
        stored, encrypted = state(), _encrypted(row, graph)
        encrypted.check_declared(stored, stored)
        graph.check_loaded(encrypted.opened(stored))
    except InvalidValue as error:
        return Judgement(
            "stops",
            "state does not fit",
            f"The installed code refuses its state: {error}",
            "Raise schema_version= and register an upgrade, or edit the state.",
        )
    except GatepostError as error:
        return _unreadable(row, error)
    why = "Other code, which its agent's rule allows."
    return Judgement("goes_on", "other code, rule go_on", why)


def _encrypted(row: SuspendedRow, graph: Graph) -> ThreadState:
    return ThreadState(graph.encrypted, partial(store.reading_cipher, row.id))


def _unreadable(row: SuspendedRow, error: GatepostError) -> Judgement:
    why = f"Its state cannot be read: {error.message}"
    return Judgement("stops", "state not read", why, f"{COMMAND} verify {row.id}")
