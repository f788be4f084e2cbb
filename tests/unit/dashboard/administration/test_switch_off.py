"""A setting that is set as a whole and switched off keeps what somebody else sets meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from checkpoints import chain, queries
from dashboard.administration import budgets, caps, retention
from dashboard.errors import Forbidden, Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.whole_settings import switch_off
from tests.contract.at_once.meeting import meet
from tests.support.cast import Cast, make_cast
from tests.unit.checkpoints.racing import race

ROUNDS = 20


@dataclass(frozen=True)
class Setting:
    """A setting: its action, its list, its key, and the value that two people set."""

    action: Action[Any, Any]
    read_all: Callable[[Actor], Any]
    key: dict[str, str]
    name: str
    value: Callable[[int], Any]
    rest: dict[str, Any]

    def set(self, who: Actor, n: int) -> Any:
        values = {**self.key, **self.rest, self.name: self.value(n)}
        return self.action.run(who, self.action.takes(**values))

    def off(self, who: Actor) -> Any:
        return switch_off(self.action, who, self.read_all, missing="None.", **self.key)

    def state_of(self, who: Actor) -> tuple[Any, bool]:
        [row] = self.read_all(who).results
        return float(getattr(row, self.name)), row.active


BUDGET = {"scope": "team", "name": "growth"}
CAP = {"scope": "thread", "agent": "", "per": "day"}
SETTINGS = {
    "budget": Setting(
        budgets.SET, budgets.budgets, BUDGET, "max_cost", str, {"at_full": "stop", "max_tokens": 7}
    ),
    "cap": Setting(caps.SET, caps.caps, CAP, "max_cost", str, {}),
    "retention": Setting(
        *(retention.SET, retention.retention_rules, {"agent": "research"}),
        *("days", int, {"archive": True}),
    ),
}


@pytest.fixture
def cast(real_db: str) -> Cast:
    return make_cast()


def _round(call: Callable[[], Any]) -> Callable[[int], Any]:
    return lambda _: call()


def changes_of(cast: Cast) -> int:
    events = queries.workspace_events(cast.workspace).rows
    return sum(event.kind.endswith(".changed") for event in events)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_what_is_set_while_it_is_switched_off_stays(cast: Cast, setting: Setting) -> None:
    admin = cast.actor("admin")
    setting.set(admin, 5)
    result = meet(partial(setting.set, admin, 9), partial(setting.off, admin))
    assert (result.first, result.second) == (None, None)
    assert setting.state_of(admin) == (9, False)
    assert changes_of(cast) == 3
    setting.off(admin)
    assert changes_of(cast) == 3, "it was off already"
    assert chain.verify_workspace(cast.workspace).intact


@pytest.mark.slow
@pytest.mark.hazard
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_set_and_switched_off_at_once_nothing_is_lost(cast: Cast, setting: Setting) -> None:
    admin = cast.actor("admin")
    setting.set(admin, 1)
    last = [0, 0]  # how often each came last
    for n in range(2, ROUNDS + 2):
        [answers] = race(
            1, _round(partial(setting.set, admin, n)), _round(partial(setting.off, admin))
        )
        assert not any(isinstance(answer, Exception) for answer in answers), answers
        value, active = setting.state_of(admin)
        assert value == n, "the amount that stood before came back"
        last[active] += 1
    # Each is set once a round, and switched off where it was on: by one event.
    assert sum(last) == ROUNDS
    assert changes_of(cast) >= 1 + ROUNDS
    assert chain.verify_workspace(cast.workspace).intact


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_nobody_switches_off_without_the_right_or_what_is_not_there(
    cast: Cast, setting: Setting
) -> None:
    with pytest.raises(Missing):
        setting.off(cast.actor("admin"))
    setting.set(cast.actor("admin"), 5)
    with pytest.raises(Forbidden):
        setting.off(cast.actor("viewer"))
    with pytest.raises(Missing):
        setting.off(cast.actor("stranger"))
    assert setting.state_of(cast.actor("admin")) == (5, True)
