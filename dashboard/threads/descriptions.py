"""Describe threads and plans in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.views import EffectFate, ThreadRow
from dashboard.documents.buffered import buffered_words
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.console import PersonalCommand
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.threads.answers import thread_detail
from dashboard.threads.cancel import CancelPlan
from dashboard.threads.page.memory import copy_of
from dashboard.threads.plans.changes import EditPlan, ForkPlan, RollBackPlan
from dashboard.threads.plans.expected_calls import AGAIN, MAYBE, REUSED, Expected
from dashboard.threads.thread_shapes import RollbackOutcome
from dashboard.wording.savings import dollars
from dashboard.wording.sentences import as_text

SHORT = 300


def lease_of(row: ThreadRow) -> str:
    """Describe the lease: owner, fence, and its end unless it is renewed."""
    if not row.lease_owner:
        return f"nobody, fence {row.fence}"
    return f"{row.lease_owner}, fence {row.fence}, until {row.lease_until:%H:%M:%S} UTC"


def show_thread(
    command: PersonalCommand, actor: Actor, thread_id: UUID, *, state: bool = False
) -> None:
    """Print a thread's current status, with its state on request."""
    row, payload, open_ones = thread_detail(actor, thread_id)
    why = payload.why_waiting
    shown = facts(
        "",
        [
            ("thread", row.id),
            ("title", row.title),
            *([("name", row.name)] if row.name else []),
            ("agent", f"{row.agent} {row.version_label}"),
            ("status", row.status),
            ("why", f"{why.sentence} {why.action}".strip()),
            *_step_lines(row),
            ("next", ", ".join(row.next_nodes) or "-"),
            ("lease", lease_of(row)),
            *([("pinned", f"to version {row.version_label}")] if row.pinned else []),
            *(
                [("code", f"choose: {', '.join(payload.code_choices)}")]
                if payload.code_choices
                else []
            ),
            *_outcome_lines(payload.rollback_outcome),
            *(("approval", f"{a.id} {a.headline}") for a in open_ones),
            *(("not taken yet", short(i.message)) for i in payload.inputs),
        ],
    )
    tables = [shown]
    if state and not command.as_json:
        in_memory = row.is_ephemeral
        now = copy_of(row).state if in_memory else queries.state_at(thread_id, row.head)
        tables.append(facts("State", ((c, short(v)) for c, v in now.items())))
    command.show(payload, *tables)


def _step_lines(row: ThreadRow) -> Iterator[tuple[str, str]]:
    """Yield where a thread stands; of one that keeps nothing how many steps it took."""
    if row.not_kept:
        yield "durability", f"{row.durability}. {row.not_kept}"
        yield "steps", f"{row.n_steps} (version {row.version})"
    else:
        yield "step", f"{row.step} (checkpoint {row.number}, version {row.version})"
    if words := buffered_words(row):
        yield "hot store", words


def _outcome_lines(outcome: RollbackOutcome | None) -> Iterator[tuple[str, str]]:
    """Yield a line per effect that the last rollback undid or left."""
    if outcome is not None:
        for undone in outcome.undone:
            yield "undone", f"by {undone.undo}: {undone.sentence or undone.tool}"
        for left in outcome.left:
            yield left.outcome, left.sentence or left.tool


def short(value: Any, limit: int = SHORT) -> str:
    """A value as text, cut."""
    text = as_text(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def patch_table(patch: Any) -> Table:
    """JSON Patch, one operation per row."""
    rows = ((op["op"], op["path"], short(op["value"]) if "value" in op else "") for op in patch)
    return table("", ("op", "path", "value"), rows)


def edit_table(plan: EditPlan) -> Table:
    """Tabulate what an edit would do."""
    return facts(
        "An edit would",
        [
            ("change", ", ".join(op["path"][1:] for op in plan.patch) or "nothing"),
            ("withdraw", ", ".join(a.headline for a in plan.approvals) or "no request"),
            *(_ahead(plan.expected) if plan.expected.calls else ()),
        ],
    )


def _ahead(expected: Expected) -> list[tuple[str, str]]:
    """Rows for the recorded calls that would be reused and those that would be repeated."""

    def totals(fate: str) -> str:
        cost = dollars(expected.cost(fate), expected.unpriced(fate)) or "$0"
        return f"{expected.count(fate)} recorded calls, {expected.tokens(fate)} tokens, {cost}"

    results = [("reuse", totals(REUSED)), ("call again", totals(AGAIN))]
    if expected.count(MAYBE):
        results.append(("unknown until run", totals(MAYBE)))
    return results


def fork_table(plan: ForkPlan) -> Table:
    """Tabulate what a fork would do."""
    return facts(
        "A fork would",
        [
            ("start at", f"checkpoint {plan.target.number} (step {plan.target.step})"),
            ("do next", ", ".join(plan.next_nodes) or "nothing"),
            *_ahead(plan.expected),
            ("change", ", ".join(op["path"][1:] for op in plan.patch) or "nothing"),
            ("first effect", plan.first_effect or "none recorded"),
            *(("config", f"{key} = {short(value)}") for key, value in plan.config.items()),
        ],
    )


def cancel_tables(plan: CancelPlan) -> tuple[Table, ...]:
    """Tabulate what cancelling would do, and each effect's fate."""
    target = plan.target
    return (
        facts(
            "Cancelling would",
            [
                ("undo", f"{len(plan.undo)} of {len(plan.all_effects)} effects"),
                (
                    "go back to",
                    f"checkpoint {target.number} (step {target.step})" if target else "nothing",
                ),
                ("withdraw", ", ".join(a.headline for a in plan.approvals) or "no request"),
                *([("drop", plan.dropped)] if plan.dropped else []),
            ],
        ),
        _fates(plan.all_effects),
    )


def roll_back_tables(plan: RollBackPlan) -> tuple[Table, ...]:
    """Tabulate what a rollback would do, and each effect's fate."""
    return (
        facts(
            "A rollback would",
            [
                ("go back to", f"checkpoint {plan.target.number} (step {plan.target.step})"),
                ("leave behind", f"{plan.steps} checkpoint{'s' * (plan.steps != 1)}"),
                ("withdraw", ", ".join(a.headline for a in plan.approvals) or "no request"),
                (
                    "undo",
                    f"{len(plan.undo)} of {len(plan.effects)} effects"
                    if plan.effects
                    else "nothing: no effect happened since",
                ),
                *_ahead(plan.expected),
                *([("drop", plan.dropped)] if plan.dropped else []),
            ],
        ),
        _fates(plan.effects),
    )


def _fates(effects: Iterable[EffectFate]) -> Table:
    return table(
        "Effects, most recent first",
        ("effect", "fate", "what"),
        ((e.activity.tool, e.fate, e.text) for e in effects),
    )
