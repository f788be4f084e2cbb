"""What one verdict does to a request: who may give it, what it needs, what follows; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from jsonschema.exceptions import best_match

from approvals.errors import FourEyes, NotYours, VerdictRefused, VotedAlready
from approvals.queries import ApprovalRow
from approvals.rules import verdicts
from approvals.rules.deputies import Mandate, both_names, turn_of
from approvals.rules.proposals import proposal_hash
from approvals.rules.terms import names_of, terms_of
from approvals.rules.votes import Part, Progress, Vote, person, progress
from approvals.states import COMMENT_MAX, RISKS, WHAT_NEXT, WITHOUT_EFFECT, YES_OR_NO
from checkpoints.errors import InvalidValue
from checkpoints.limits import optional_setting
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.state.json_schemas.errors import errors_of
from checkpoints.state.json_schemas.soundness import BrokenSchema, broken_part
from checkpoints.state.schema_texts import with_definitions

ERRORS_MAX: Final = 50  # of which the most specific one is reported


@dataclass(frozen=True, slots=True)
class Reviewer:
    """The person who decides, as the log names them; `user` and `teams` are what seats may name.

    `confirmed_at` is when they confirmed their identity (ISO 8601), where that was required.
    `mandates` are those in whose place they may act now.
    """

    id: str
    name: str
    user: str = ""
    teams: tuple[str, ...] = ()
    confirmed_at: str = ""
    mandates: tuple[Mandate, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """The consequences of a verdict; `outcome` is empty while the request stays open.

    `hash` is the one the decision names, `edit` the new (arguments, hash) of an edit. `void`
    votes counted until now and no longer do. `turn`: another stage than before is due. `asks` is a
    question to the agent, which has to be woken. `mandate`: in whose place the verdict was given.
    """

    outcome: str
    hash: str
    progress: Progress
    decided_args: Any = None
    edit: tuple[Any, str] | None = None
    void: int = 0
    turn: bool = False
    asks: bool = False
    mandate: Mandate | None = None


def verdicts_of(row: ApprovalRow) -> tuple[str, ...]:
    """The verdicts that are possible on a request."""
    if row.kind == "operation":
        return YES_OR_NO  # what a person wants to do to a thread is no call of a tool
    return verdicts.verdicts_of(row.kind, row.schema)


def check_verdict(
    row: ApprovalRow, *, verdict: str, comment: str, args: Any, what_next: str = ""
) -> None:
    """Raise VerdictRefused or InvalidValue for a verdict that this request does not take."""
    allowed = verdicts_of(row)
    if verdict not in allowed:
        raise VerdictRefused(f"Possible here: {', '.join(allowed)}.")
    asks = verdict == "respond" and row.gate
    if verdict == "reject" and not comment.strip():
        raise InvalidValue("comment", "give a reason for the agent and the log")
    if asks and not comment.strip():
        raise InvalidValue("comment", "enter your question to the agent")
    if len(comment) > COMMENT_MAX:
        raise InvalidValue("comment", f"is longer than {COMMENT_MAX} characters")
    deltas.check(comment, "comment")
    if what_next not in WHAT_NEXT:
        raise InvalidValue("what_next", f"must be one of {', '.join(WHAT_NEXT[1:])}")
    if what_next and verdict != "reject":
        raise InvalidValue("what_next", "goes with the verdict reject only")
    if verdict == "edit":
        _check_edit(row, args)
    elif args is not None and (verdict != "respond" or asks):
        # Approved is exactly what the reviewer saw.
        raise InvalidValue("args", f"are not taken with the verdict {verdict}")
    elif verdict == "respond" and not asks:
        deltas.check(args, "args")
        _check_schema(args, row.schema)


def _check_edit(row: ApprovalRow, args: Any) -> None:
    if not isinstance(args, dict):
        raise InvalidValue("args", "must be all arguments of the call, as an object")
    deltas.check(args, "args")
    _check_schema(args, row.schema)


def _check_schema(args: Any, schema: Any) -> None:
    if schema is None:
        return
    whole = with_definitions(schema)
    try:
        if (fault := broken_part(whole)) is not None:
            raise fault
        error = best_match(errors_of(whole, args, limit=ERRORS_MAX))
    except BrokenSchema as fault:
        raise InvalidValue("args", "cannot be checked: the request's schema is broken") from fault
    if error is not None:
        raise InvalidValue(f"args{error.json_path[1:]}", error.message[:1_000]) from error


def judge(
    row: ApprovalRow,
    votes: Sequence[Vote],
    *,
    reviewer: Reviewer,
    decision: Any,
    verdict: str,
    args: Any = None,
) -> Judged:
    """Compute the consequences of a verdict that `check_verdict` let pass.

    `votes` are those so far, oldest first; who is alone on the terms needs none. Raises FourEyes,
    NotYours, VotedAlready, InvalidValue for an edit that changes nothing.
    """
    terms, escalated = terms_of(row.terms), row.escalated_at is not None
    so_far = progress(terms, votes, escalated=escalated)
    names = names_of(reviewer.user, reviewer.teams)
    part, mandate = turn_of(
        so_far, person(reviewer.id), names, lambda: reviewer.mandates, request=row.id
    )
    if part is Part.BARRED:
        raise FourEyes
    if part is Part.VOTED and verdict == "approve":
        raise VotedAlready
    if part is Part.VOTED and mandate is None and so_far.acted_for(person(reviewer.id)):
        raise NotYours("You approved this as a deputy, and you are no longer one.")
    if verdict in WITHOUT_EFFECT:
        # A veto and a question are open to everyone who sits in any stage.
        if part is Part.NONE:
            raise NotYours(f"{begin(so_far.seat.in_words)} has to decide this.")
        if verdict == "respond" and row.gate:
            return Judged("", row.standing_hash, so_far, asks=True, mandate=mandate)
        return Judged(verdict, row.standing_hash, so_far.closed(), args, mandate=mandate)
    if part is Part.REPRESENTED:
        raise NotYours(f"{by_deputy(so_far, person(reviewer.id))} has approved this for you.")
    if part not in (Part.VOTED, Part.DUE):
        rest = "has to approve before you" if part is Part.LATER else "has to decide this"
        raise NotYours(f"{begin(so_far.seat.in_words)} {rest}.")
    edit: tuple[Any, str] | None = None
    named, void = row.standing_hash, 0
    if verdict == "edit":
        if deltas.canonical(args) == deltas.canonical(row.shown_args):
            raise InvalidValue("args", "are the current ones; approve them")
        named = hash_with(row, args)
        edit, void = (args, named), so_far.approvals
    name, for_person = both_names(reviewer.name, mandate), mandate.person if mandate else ""
    new = Vote(decision, reviewer.id, name, verdict, named, for_person=for_person)
    then = progress(terms, [*votes, new], escalated=escalated)
    if not then.complete:
        turn = then.stage != so_far.stage
        return Judged("", named, then, edit=edit, void=void, turn=turn, mandate=mandate)
    if edit is not None:
        return Judged("edit", named, then, args, edit, void, mandate=mandate)
    if row.standing_args is not None:
        # Somebody's edit stands: it is what was agreed to.
        return Judged("edit", named, then, row.standing_args, mandate=mandate)
    return Judged("approve", named, then, mandate=mandate)


def by_deputy(progress: Progress, person: str) -> str:
    """The name of the deputy whose approval counts in the place of a person."""
    votes = progress.counted[progress.stage - 1]
    return next((vote.name for vote in votes if vote.for_person == person), "Your deputy")


def is_simple(row: ApprovalRow) -> bool:
    """Answer True if one approval is enough and nothing precedes it: no votes have to be read."""
    terms = terms_of(row.terms)
    alone = len(terms.stages) <= 1 and all(seat.count <= 1 for seat in terms.stages)
    return alone and terms.on_expiry != "escalate" and row.standing_args is None


def hash_with(row: ApprovalRow, args: Any) -> str:
    """The hash of a request with these arguments and everything else as it was asked for."""
    return proposal_hash(
        workspace=row.workspace,
        thread=row.thread,
        position=Position(row.branch, row.step, row.node, row.index, row.key),
        tool=row.tool,
        args=args,
        agent_version=row.agent_version_id,
        policy_version=row.policy_version,
        deadline=row.deadline,
        origin=row.origin,
    )


def window_of(row: ApprovalRow, *, author: bool = True) -> float:
    """For how many seconds a decision can be taken back.

    Where no policy says so it depends on the risk, by the setting; `author=False`: then 0.
    """
    if row.terms is not None:
        return max(0.0, float(terms_of(row.terms).undo_window))
    return max(0.0, window_by_risk(row.risk)) if author else 0.0


def window_by_risk(risk: str) -> float:
    """For how many seconds a decision can be taken back where no policy says so, by the setting."""
    return float(
        dict(zip(RISKS, optional_setting("GATEPOST_UNDO_WINDOWS", ()), strict=False)).get(risk, 0)
    )


def begin(words: str) -> str:
    """Capitalise a seat's description to start a sentence with it; names keep their spelling."""
    return words[:1].upper() + words[1:] if words.startswith(("any ", "team ")) else words
