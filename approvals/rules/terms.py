"""What a request demands before it may happen: who, how many, in which order, until when; pure.

Terms are fixed when the request is made and sealed with it: a policy that changes later changes the
next request, never this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

OnExpiry = Literal["expire", "reject", "escalate"]

ANYONE: Final = "*"  # names any reviewer
VALID_FOR: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Seat:
    """Whose approval one stage needs, and from how many of them; nobody named means any reviewer.

    `people` are user names, `teams` names of groups.
    """

    people: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    count: int = 1

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Seat:
        people, teams = tuple(map(str, told["people"])), tuple(map(str, told["teams"]))
        return cls(people, teams, int(told["count"]))

    @property
    def names(self) -> tuple[str, ...]:
        """Who may sit here, as `names_of` names a person; `*` is any reviewer."""
        named = [f"user:{name}" for name in self.people] + [f"team:{name}" for name in self.teams]
        return tuple(named) or (ANYONE,)

    @property
    def in_words(self) -> str:
        """Who may sit here: "ada, grace or team finance", "any reviewer"."""
        named = [*self.people, *(f"team {team}" for team in self.teams)]
        if not named:
            return "any reviewer"
        *most, last = named
        return f"{', '.join(most)} or {last}" if most else last

    def admits(self, names: Iterable[str]) -> bool:
        """Whether a person with these names (`names_of`) may sit here."""
        return not set(self.names).isdisjoint(names)


def names_of(user: str, teams: Iterable[str]) -> tuple[str, ...]:
    """Every name by which a seat can mean a person: `user:ada`, `team:finance`, `*`."""
    return (f"user:{user}", *(f"team:{team}" for team in teams), ANYONE)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one request; times in seconds.

    `stages` come one after the other, each with other people. `barred` names the people (`user:7`)
    whom four eyes keep out. `rule` says in a sentence why a person is asked. `reminders` count from
    the request.
    """

    stages: tuple[Seat, ...] = (Seat(),)
    four_eyes: bool = False
    barred: tuple[str, ...] = ()
    undo_window: float = 0
    valid_for: float = VALID_FOR
    on_expiry: OnExpiry = "expire"
    escalate_to: Seat | None = None
    escalate_for: float = 0
    reminders: tuple[float, ...] = ()
    rule: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it is stored and sealed."""
        told: dict[str, Any] = _plain(asdict(self))
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Terms:
        found = cls(**told)
        return replace(
            found,
            stages=tuple(Seat.from_json(seat) for seat in told["stages"]),
            escalate_to=Seat.from_json(told["escalate_to"]) if told["escalate_to"] else None,
            barred=tuple(found.barred),
            reminders=tuple(found.reminders),
        )


def terms_of(told: Mapping[str, Any] | None) -> Terms:
    """A stored request's terms; of one without any: one reviewer, at once."""
    return Terms() if told is None else Terms.from_json(told)


def readable_terms(told: Any) -> Terms:
    """Stored terms; those that cannot be read (a capsule may bring anything) count as none."""
    try:
        return terms_of(told)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Terms()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
