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
    """The people whose approval one stage needs, and how many of them; nobody named: any reviewer.

    `people` are user names, `teams` names of groups.
    """

    people: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    count: int = 1

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Seat:
        people, teams = tuple(map(str, payload["people"])), tuple(map(str, payload["teams"]))
        return cls(people, teams, int(payload["count"]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those who may sit here, in the form of `names_of`; `*` is any reviewer."""
        named = [f"user:{name}" for name in self.people] + [f"team:{name}" for name in self.teams]
        return tuple(named) or (ANYONE,)

    @property
    def in_words(self) -> str:
        """Describe who may sit here: "ada, grace or team finance", "any reviewer"."""
        named = [*self.people, *(f"team {team}" for team in self.teams)]
        if not named:
            return "any reviewer"
        *most, last = named
        return f"{', '.join(most)} or {last}" if most else last

    def admits(self, names: Iterable[str]) -> bool:
        """Answer True if a person with these names (`names_of`) may sit here."""
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
        payload: dict[str, Any] = _plain(asdict(self))
        return payload

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Terms:
        result = cls(**payload)
        return replace(
            result,
            stages=tuple(Seat.from_json(seat) for seat in payload["stages"]),
            escalate_to=Seat.from_json(payload["escalate_to"]) if payload["escalate_to"] else None,
            barred=tuple(result.barred),
            reminders=tuple(result.reminders),
        )


def terms_of(payload: Mapping[str, Any] | None) -> Terms:
    """A stored request's terms; of one without any: one reviewer, without a window."""
    return Terms() if payload is None else Terms.from_json(payload)


def readable_terms(payload: Any) -> Terms:
    """Stored terms; those that cannot be read (a capsule may bring anything) count as none."""
    try:
        return terms_of(payload)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Terms()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
