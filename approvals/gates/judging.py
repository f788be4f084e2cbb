"""What one verdict does to a request: who may give it, what it needs, what follows; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema
from django.conf import settings

from checkpoints import deltas
from checkpoints.errors import InvalidValue
from checkpoints.records import Position

from .. import verdicts
from ..counting import Progress, Vote, person, progress
from ..errors import FourEyes, NotYours, VerdictRefused, VotedAlready
from ..queries import ApprovalRow
from ..terms import UNDO_WINDOW, Seat, Terms, terms_of
from .proposals import proposal_hash

COMMENT_MAX = 5_000
GO_ON, STOP, ROLL_BACK = "go_on", "stop", "roll_back"
WHAT_NEXT = ("", GO_ON, STOP, ROLL_BACK)
WITH_ARGS = ("edit", "respond")


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who decides, as the log shall name them; `user` and `teams` are what seats may name."""

    id: str
    name: str
    user: str = ""
    teams: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What a verdict leads to; `outcome` is empty while the request stays open.

    `hash` is what the decision names, `standing` the new (arguments, hash) of an edit. `void` votes
    counted until now and do no more. `turn`: with it another stage than before is due. `asks` is a
    question to the agent, which has to be woken.
    """

    outcome: str
    hash: str
    decided_args: Any = None
    standing: tuple[Any, str] | None = None
    void: int = 0
    progress: Progress | None = None
    turn: bool = False
    asks: bool = False


def verdicts_of(row: ApprovalRow) -> tuple[str, ...]:
    """What can be said to a request."""
    if row.kind == "operation":
        return ("approve", "reject")  # what a person wants to do to a thread is no call of a tool
    return verdicts.verdicts_of(row.kind, row.schema)


def check_verdict(
    row: ApprovalRow, *, verdict: str, comment: str, args: Any, what_next: str = ""
) -> None:
    """Raise VerdictRefused or InvalidValue for a verdict that this request does not take."""
    allowed = verdicts_of(row)
    if verdict not in allowed:
        raise VerdictRefused(f"Possible here: {', '.join(allowed)}.")
    asks = verdict == "respond" and row.kind == "gate"
    if verdict == "reject" and not comment.strip():
        raise InvalidValue("comment", "say why, so that the agent and the log know")
    if asks and not comment.strip():
        raise InvalidValue("comment", "say what you want to know from the agent")
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
    try:
        jsonschema.validate(args, schema)
    except jsonschema.ValidationError as error:
        raise InvalidValue(f"args{error.json_path[1:]}", error.message[:1_000]) from error
    except jsonschema.SchemaError as error:
        raise InvalidValue("args", "cannot be checked: the request's schema is broken") from error


def judge(
    row: ApprovalRow,
    votes: Sequence[Vote],
    *,
    reviewer: Reviewer,
    decision: Any,
    verdict: str,
    args: Any = None,
) -> Judged:
    """What follows from a verdict that `check_verdict` let pass.

    `votes` are those so far, oldest first; who is alone on the terms needs none. Raises FourEyes,
    NotYours, VotedAlready, InvalidValue for an edit that changes nothing.
    """
    terms = terms_of(row.terms)
    who = person(reviewer.id)
    if who in terms.barred:
        raise FourEyes
    so_far = progress(terms, votes)
    voted = any(who in some for some in so_far.done_by)
    if verdict in ("reject", "respond"):
        # A veto and a question are open to whoever sits in any stage.
        if not voted and not any(fits(s, reviewer) for s in _seats(row, terms, so_far.seats)):
            raise NotYours(f"{_begin(in_words(so_far.seat))} has to decide this.")
        if verdict == "respond" and row.kind == "gate":
            return Judged("", row.standing_hash, asks=True, progress=so_far)
        return Judged(verdict, row.standing_hash, decided_args=args)
    if voted and verdict == "approve":
        raise VotedAlready
    if not voted and not any(fits(s, reviewer) for s in _seats(row, terms, (so_far.seat,))):
        later = any(fits(s, reviewer) for s in so_far.seats[so_far.stage :])
        said = "has to approve before you" if later else "has to decide this"
        raise NotYours(f"{_begin(in_words(so_far.seat))} {said}.")
    standing: tuple[Any, str] | None = None
    named, void = row.standing_hash, 0
    if verdict == "edit":
        if deltas.canonical(args) == deltas.canonical(row.shown_args):
            raise InvalidValue("args", "are those that stand already; approve them")
        named = hash_with(row, args)
        standing, void = (args, named), sum(map(len, so_far.done_by))
    new = Vote(decision, reviewer.id, reviewer.name, verdict, named)
    then = progress(terms, [*votes, new])
    if not then.complete:
        turn = then.stage != so_far.stage
        return Judged("", named, standing=standing, void=void, progress=then, turn=turn)
    if standing is not None:
        return Judged("edit", named, args, standing, void, then)
    if row.standing_args is not None:
        # Somebody's edit stands: it is what was agreed to.
        return Judged("edit", named, row.standing_args, None, 0, then)
    return Judged("approve", named, progress=then)


def is_simple(row: ApprovalRow) -> bool:
    """Whether one approval is enough and nothing before it matters: no votes have to be read."""
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
    )


def window_of(row: ApprovalRow, *, author: bool = True) -> float:
    """For how many seconds a decision can be taken back.

    Where no policy says so it depends on the risk, by the setting; `author=False`: then 0.
    """
    if row.terms is not None:
        return max(0.0, float(terms_of(row.terms).undo_window))
    if not author:
        return 0.0
    given = getattr(settings, "GATEPOST_UNDO_WINDOWS", None)
    windows = UNDO_WINDOW if given is None else dict(zip(UNDO_WINDOW, given, strict=False))
    return max(0.0, float(windows.get(row.risk, 0)))


def fits(seat: Seat, reviewer: Reviewer) -> bool:
    """Whether a reviewer may sit there; where nobody is named, anybody."""
    if not seat.people and not seat.teams:
        return True
    return reviewer.user in seat.people or any(team in seat.teams for team in reviewer.teams)


def in_words(seat: Seat) -> str:
    """A seat for people: `ada, grace or the team finance`."""
    names = [*seat.people, *(f"the team {team}" for team in seat.teams)]
    if not names:
        return "any reviewer"
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def _begin(words: str) -> str:
    return words[:1].upper() + words[1:] if words.startswith(("any ", "the ")) else words


def _seats(row: ApprovalRow, terms: Terms, seats: Sequence[Seat]) -> list[Seat]:
    """These, and who was called in when nobody decided in time."""
    more = terms.escalate_to if row.escalated_at is not None else None
    return [*seats, *([more] if more is not None else [])]
