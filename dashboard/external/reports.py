"""Reports and questions of an agent that works elsewhere; each under its lease."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Literal
from uuid import UUID

from django.db import transaction

from checkpoints import errors as ground
from checkpoints import queries, store
from checkpoints.names import escaped, name_fault
from checkpoints.postgres import reads
from checkpoints.queries.installation.fleet import (
    announced_agent,
    announced_tool,
    has_announced_node,
)
from checkpoints.queries.past import checkpoint_query
from checkpoints.records import Work
from checkpoints.signals import activity_progressed
from checkpoints.state import deltas, marked
from checkpoints.state.schema_texts import with_definitions
from checkpoints.store import NewCheckpoint
from checkpoints.views import ActivityRow, CheckpointRow
from dashboard.errors import Invalid, LeaseLost, PositionTaken, Stale, translated
from dashboard.fields.credentials import (
    check_credentials,
    credential_in,
    exempt_of,
    without_credentials,
)
from dashboard.fields.faults import check_schema, schema_faults
from dashboard.fields.searchable import check_reported
from dashboard.fields.validation import check_changes
from dashboard.identity.permissions import Actor
from workers.authoring.errors import StepFailed
from workers.authoring.graph import Gate
from workers.external import committed, reported, settled
from workers.external.reported import Answer, tool_of
from workers.external.unsettled import refuse_unsettled
from workers.node.forecasts import Forecast

from .leases import lease_of

type Committed = CheckpointRow | NewCheckpoint


@contextmanager
def _reporting(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    step: int | None,
    *,
    along: Sequence[reads.Query] = (),
    lock: bool = True,
) -> Iterator[Work]:
    """The work under a lease; what the floors below refuse comes out as ActionErrors.

    One transaction that keeps the thread's row: a lease has many writers here (requests sent twice,
    a script started twice), and each has to see what the one before it wrote. Without `lock` for
    what is one guarded statement itself.
    """
    with transaction.atomic() if lock else nullcontext(), translated():
        work = lease_of(actor, thread_id, token, along=along, lock=lock)
        if step is not None and step != work.step + 1:
            raise Stale(
                f"Step {work.step + 1} is in progress, not {step}.",
                step=work.step + 1,
                version=work.version,
            )
        try:
            yield work
        except ground.LeaseLost:
            lease_of(actor, thread_id, token)  # says how the thread stands now
            raise LeaseLost("The thread was taken away meanwhile.") from None
        except StepFailed as error:
            raise Invalid("$", error.message) from error


def commit(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    report: committed.Report,
    *,
    parent: UUID | None = None,
    state: Mapping[str, Any] | None = None,
) -> tuple[Committed, bool]:
    """(the checkpoint, whether it is new); what is committed already under its id is answered.

    `state` is the whole state after it, in the place of a delta. Another `parent` than the head
    sets the head back first, on a new branch. What a wish or a policy wants after a commit that
    was cut off there is done by who sends it again.
    """
    if parent is None:
        with suppress(_WrittenMeanwhile):
            return _commit_report(actor, thread_id, token, report, None, state, lock=False)
    return _commit_report(actor, thread_id, token, report, parent, state, lock=True)


class _WrittenMeanwhile(Exception):
    """Something was written to the thread since it was looked at; look again, under its lock."""


def _commit_report(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    report: committed.Report,
    parent: UUID | None,
    state: Mapping[str, Any] | None,
    *,
    lock: bool,
) -> tuple[Committed, bool]:
    """`commit`: under the thread's lock, or by one statement that refuses what changed meanwhile.

    A transaction costs more than the step itself, and mostly nobody else writes.
    """
    along = [queries.unsettled_query(thread_id)]
    if report.id is not None:
        along.append(checkpoint_query(thread_id, report.id))
    with _reporting(actor, thread_id, token, None, along=along, lock=lock) as work:
        unsettled, *brought = work.brought
        work.brought, seen = [], work.last_seq
        ident = committed.id_of(work, report)
        if state is not None:
            report = _with_delta(thread_id, ident, work, report, parent, state)
        try:
            if known := committed.committed(thread_id, ident, report, *brought):
                if known.id == work.head:
                    committed.stop_where_due(work)
                return known, False
            if parent is None and report.step not in (None, work.step + 1):
                raise Stale(
                    f"Step {work.step + 1} is in progress, not {report.step}.",
                    step=work.step + 1,
                    version=work.version,
                )
            refuse_unsettled(work, queries.unsettled_effects(thread_id, unsettled))
            try:
                made = _commit(actor, work, ident, report, parent, seen=None if lock else seen)
            except ground.LeaseLost as lost:
                if lock:
                    raise
                raise _WrittenMeanwhile from lost
            committed.stop_where_due(work)
        except committed.PositionTaken as error:
            raise PositionTaken("Another checkpoint has this id.") from error
    return made, True


def _commit(
    actor: Actor,
    work: Work,
    ident: UUID | None,
    report: committed.Report,
    parent: UUID | None,
    *,
    seen: int | None,
) -> NewCheckpoint:
    """The checkpoint after the head, or after a parent that the head is set back to with it."""
    if parent is not None and parent != work.head:
        committed.go_back(work, queries.checkpoint(work.thread, parent))
    _check(actor, work, report)
    return committed.commit(work, ident, report, seen=seen)


def _with_delta(
    thread_id: UUID,
    ident: UUID | None,
    work: Work,
    report: committed.Report,
    parent: UUID | None,
    state: Mapping[str, Any],
) -> committed.Report:
    """The report with the delta that leads to this state."""
    deltas.check(dict(state), "$.state")
    base = parent or work.head
    if ident is not None and (known := committed.parent_of(thread_id, ident)):
        base = known
    version = announced_agent(work.agent_version)
    appended = [n for n, spec in version.channels.items() if spec["reducer"] == "append"]
    delta = committed.whole(queries.state_at(thread_id, base), state, appended)
    return committed.with_delta(report, delta)


def _check(actor: Actor, work: Work, report: committed.Report) -> None:
    """Refuse a state that the announced schema does not allow; nothing where none was announced."""
    agent = announced_agent(work.agent_version)
    delta = deltas.validate_delta(dict(report.delta))
    names = {"nodes": list(report.nodes), "next_nodes": list(report.next_nodes)}
    check_credentials("$", names)
    for index, thought in enumerate(report.thoughts):
        check_credentials("$", thought, within=f"thoughts[{index}]")
    check_reported(agent, delta)
    allowed = [f"$.{op}{path[1:]}" for op in delta for path in exempt_of(agent)]
    check_credentials("$", delta, within="delta", exempt=allowed)
    if agent.external is None or agent.external.is_open:
        return
    if not {"append", "merge", "unset"} & delta.keys():
        point = queries.checkpoint(work.thread, work.head)
        check_changes(
            agent,
            delta.get("set", {}),
            state_bytes=point.state_bytes,
            state=lambda: queries.state_at(work.thread, work.head),
            workspace=actor.workspace,
            within="delta.set",
        )
        return
    result = deltas.apply(queries.state_at(work.thread, work.head), delta)
    if faults := list(schema_faults(agent.schema, result)):
        raise Invalid.of(faults, within="state")


def begin(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    at: Mapping[str, Any],
    *,
    step: int | None,
    kind: str,
    tool: str,
    args: Any,
    gate: Gate | None,
) -> Answer:
    """Ask whether the agent may do this now; an effect that may has started with the answer."""
    check_credentials("$", {**at, "tool": tool})
    with _reporting(actor, thread_id, token, step) as work:
        announced = _announced(work, tool)
        _check_call(work, at, kind, tool)
        if kind == "effect":
            _check_args(announced, args, within="args")
        else:
            _check_new(work, at, {"args": args})
        return reported.begin(
            work,
            at["node"],
            at["index"],
            at["key"],
            kind=kind,
            tool=tool_of(tool, announced),
            args=args,
            gate=gate,
        )


def check(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    at: Mapping[str, Any],
    *,
    step: int | None,
    kind: str,
    tool: str,
    args: Any,
    gate: Gate | None,
) -> Forecast:
    """Read what would stop a call; refuses what a begin refuses, and changes nothing."""
    check_credentials("$", {**at, "tool": tool})
    with _reporting(actor, thread_id, token, step) as work:
        _check_call(work, at, kind, tool)
        return reported.check(work, at["node"], kind, tool, args, gate)


def _check_call(work: Work, at: Mapping[str, Any], kind: str, tool: str) -> None:
    """Refuse a call whose names are none, or are not announced."""
    _check_names(work, at, tool)
    if kind in ("activity", "effect"):  # a `model` names a model, a `node` a node
        _check_announced(work, at, tool, "$.tool")
    if kind != "node":  # starts nothing, and can only add a hold
        _check_node(work, at)


def _check_new(work: Work, at: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse credentials in values by name, unless its outcome is on record already."""
    try:
        for name, value in values.items():
            check_credentials("$", marked.readable(value), within=name)
    except Invalid:
        if not reported.is_recorded(work, at["node"], at["index"], at["key"]):
            raise


def _check_names(work: Work, at: Mapping[str, Any], tool: str) -> None:
    """Refuse a tool, node or key that is no name; what has one already continues under it."""
    version = work.agent_version
    if (fault := name_fault(tool)) and announced_tool(version, tool) is None:
        raise Invalid("$.tool", f"{fault}: {escaped(tool)}")
    if (fault := name_fault(at["node"])) and not has_announced_node(version, at["node"]):
        raise Invalid("$.node", f"{fault}: {escaped(at['node'])}")
    if (fault := name_fault(at["key"])) and not queries.has_faulty_keys(work.thread):
        raise Invalid("$.key", f"{fault}: {escaped(at['key'])}")


def _check_announced(work: Work, at: Mapping[str, Any], tool: str, path: str) -> None:
    """Refuse a call of a tool that the agent did not announce; what is on record continues."""
    if announced_tool(work.agent_version, tool) is not None:
        return
    if reported.is_here(work, at["node"], at["index"], at["key"]):
        return
    raise Invalid(
        path,
        f"{work.agent!r} did not announce a tool of this name: start the thread, or take its "
        f'lease, with `external.tools`, such as {{"{tool}": {{}}}}',
    )


def _check_node(work: Work, at: Mapping[str, Any]) -> None:
    """Refuse a node that the agent did not announce; a tool may be a node of its own name."""
    version, node = work.agent_version, at["node"]
    if has_announced_node(version, node) or announced_tool(version, node) is not None:
        return
    if reported.is_here(work, node, at["index"], at["key"]):
        return
    raise Invalid(
        "$.node",
        f"{work.agent!r} did not announce a node of this name: start the thread, or take its "
        f'lease, with `external.nodes`, such as ["{node}"]',
    )


def _announced(work: Work, tool: str) -> Mapping[str, Any]:
    """A tool as the agent announced it; nothing of one that it did not name."""
    return announced_tool(work.agent_version, tool) or {}


def _check_args(announced: Mapping[str, Any], args: Any, *, within: str) -> None:
    schema = with_definitions(announced.get("schema") or {"type": "object"})
    if faults := list(schema_faults(schema, args)):
        raise Invalid.of(faults, within=within)


def _without_secret(result: Any) -> Any:
    """The result of an effect or undo, which has happened; withheld where it holds a credential."""
    hit = credential_in(marked.readable(result))
    return result if hit is None else {"withheld": f"{hit.path} holds {hit.what}."}


def settle(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    at: Mapping[str, Any],
    *,
    step: int | None,
    **how: Any,
) -> ActivityRow:
    """Record the outcome of a call."""
    with _reporting(actor, thread_id, token, step) as work:
        if how["kind"] == "activity":
            _check_announced(work, at, how["tool"], "$.tool")
        if how["kind"] == "effect":
            how["result"] = _without_secret(how["result"])
        _check_new(work, at, {"result": how["result"], "args": how["args"]})
        how["error"] = without_credentials(how["error"])
        return settled.settle(work, at, **how)


def settle_undo(
    actor: Actor, thread_id: UUID, token: UUID, activity: UUID, *, result: Any, error: str
) -> None:
    """Record the outcome of the undo of an effect."""
    with _reporting(actor, thread_id, token, None) as work:
        result = _without_secret(result)
        settled.settle_undo(work, activity, result=result, error=without_credentials(error))


def record(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    *,
    after: UUID | None,
    records: Sequence[Mapping[str, Any]],
) -> list[ActivityRow]:
    """Record pure calls that are done, at the step after a checkpoint."""
    with _reporting(actor, thread_id, token, None) as work:
        for index, one in enumerate(records):
            check_credentials("$", marked.readable(one), within=f"records[{index}]")
            if one["kind"] != "value" and not one["tool"]:
                raise Invalid(
                    f"$.records[{index}].tool",
                    f"is empty: {one['kind']!r} is a call, so name what was called; a record "
                    "without a tool has the kind `value`",
                )
            if one["kind"] == "activity":
                _check_announced(work, one, one["tool"], f"$.records[{index}].tool")
        return settled.record(work, after, records)


def ask(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    questions: Sequence[Mapping[str, Any]],
    *,
    step: int | None,
) -> tuple[Literal["answer", "wait", "stop"], list[Answer]]:
    """Ask people; asked again once they have decided, what they said."""
    for index, one in enumerate(questions):
        names = {name: one[name] for name in ("node", "key")}
        tool = (one.get("effect") or {}).get("tool", "")
        check_credentials("$", {**names, "effect": {"tool": tool}}, within=f"ask[{index}]")
    with _reporting(actor, thread_id, token, step) as work:
        return reported.ask(work, [_proposed(work, n, one) for n, one in enumerate(questions)])


def _proposed(work: Work, index: int, one: Mapping[str, Any]) -> Mapping[str, Any]:
    """A question as it is asked: the tool of a proposed effect as the agent announced it."""
    effect, question = one.get("effect"), one.get("question") or {}
    check_schema(question.get("schema") or {}, f"$.ask[{index}].question.schema")
    if effect is None:
        return one
    announced = _announced(work, effect["tool"])
    _check_announced(work, one, effect["tool"], f"$.ask[{index}].effect.tool")
    _check_args(announced, effect["args"], within=f"ask[{index}].effect.args")
    return {**one, "effect": {**effect, "tool": tool_of(effect["tool"], announced)}}


def note(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    *,
    step: int | None,
    thoughts: Sequence[Mapping[str, Any]],
    progress: Mapping[str, Any] | None,
) -> None:
    """Keep thoughts, and show how far the work is; progress is not kept."""
    for index, thought in enumerate(thoughts):
        check_credentials("$", thought, within=f"thoughts[{index}]")
    check_credentials("$", progress, within="progress")
    with _reporting(actor, thread_id, token, step) as work:
        if events := committed.thoughts_of(work, thoughts):
            store.record(work, events)
    if progress is not None:
        activity_progressed.send_robust(
            sender=None,
            thread_id=work.thread,
            workspace=work.workspace,
            progress=dict(progress),
        )
