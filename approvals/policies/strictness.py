"""Compare what an approval was given under with what is demanded now; pure.

Compared is what an approval is worth: whether people were asked, who and how many of them, four
eyes, risk, the undo window, for how long it holds. Deadline, reminders and what comes after the
deadline steer an open request and say nothing about one that was decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..queries import ApprovalRow
from ..rules.terms import Seat, Terms, terms_of
from ..states import RISKS


@dataclass(frozen=True, slots=True)
class Demand:
    """The conditions for an effect to happen; nobody is asked where `asks` is false.

    `blocks`: it does not happen, and no approval lets it.
    `escalated`: nobody decided in time, so those who are called in then could decide as well.
    """

    asks: bool = False
    risk: str = ""
    terms: Terms = field(default_factory=Terms)
    escalated: bool = False
    blocks: bool = False


def given_under(row: ApprovalRow | None) -> Demand:
    """The demand that an approval met; None is an effect for which nobody was asked."""
    if row is None:
        return Demand()
    return met(row.risk, terms_of(row.terms), row.escalated_at is not None, row.decided_by)


def met(risk: str, terms: Terms, escalated: bool, decided_by: str) -> Demand:
    """The demand that a request of these columns met; none where a policy decided."""
    return Demand() if decided_by.startswith("policy:") else Demand(True, risk, terms, escalated)


def stricter(now: Demand, then: Demand) -> str:
    """Explain what is demanded now and was not then, as a sentence; empty where nothing is.

    Of two different demands at least one is stricter than the other; none is stricter than itself.
    """
    if now.blocks or then.blocks:
        return "" if then.blocks else "a policy blocks it now."
    if not now.asks:
        return ""
    if not then.asks:
        return "a person has to approve it now."
    new, old = now.terms, then.terms
    if not _covered(_seats(new, then.escalated), _seats(old, then.escalated)):
        return "other or more people have to approve it now."
    if new.four_eyes and not old.four_eyes:
        return "four eyes are demanded now."
    if _rank(now.risk) > _rank(then.risk):
        return f"its risk is {now.risk} now, and was {then.risk or 'not named'}."
    if new.undo_window > old.undo_window:
        return f"a decision can be undone for {new.undo_window:g} seconds now."
    if new.valid_for < old.valid_for:
        return f"an approval holds for {new.valid_for:g} seconds only now."
    return ""


def _seats(terms: Terms, escalated: bool) -> list[Seat]:
    """The stages, each with those whom an escalation calls in."""
    more = terms.escalate_to if escalated else None
    return [seat if more is None else _joined(seat, more) for seat in terms.stages]


def _joined(seat: Seat, more: Seat) -> Seat:
    if any(not (one.people or one.teams) for one in (seat, more)):
        return Seat(count=seat.count)
    return Seat(seat.people + more.people, seat.teams + more.teams, seat.count)


def _covered(wanted: Sequence[Seat], seats: Sequence[Seat]) -> bool:
    """Check that each wanted stage has a stage of its own among `seats`, in this order."""
    left = iter(seats)
    return all(any(_fills(one, seat) for one in left) for seat in wanted)


def _fills(seat: Seat, wanted: Seat) -> bool:
    """Check that `seat` needed enough people, all of whom may sit in the wanted seat."""
    if seat.count < wanted.count:
        return False
    if not wanted.people and not wanted.teams:
        return True
    named = bool(seat.people or seat.teams)
    return named and set(seat.people) <= set(wanted.people) and set(seat.teams) <= {*wanted.teams}


def _rank(risk: str) -> int:
    """The rank of a risk; none ranks lowest, an unknown one highest."""
    order = ("", *RISKS)
    return order.index(risk) if risk in order else len(order)
