"""What is looked at after each test finds a state that its deltas do not give."""

from __future__ import annotations

import pytest

from checkpoints import store
from tests.support import folding
from tests.unit.checkpoints.builders import Driver, acquired, drive, make_thread

pytestmark = pytest.mark.django_db


@pytest.mark.requirement("A20")
@pytest.mark.altered
def test_a_state_that_its_deltas_do_not_give_is_a_fault(request: pytest.FixtureRequest) -> None:
    drive(make_thread(), 3)
    thread = make_thread()
    assert folding.faults() == []
    driver = Driver(acquired(thread))
    driver.folder.add({"append": {"log": ["never committed"]}})
    driver.digests.update({"append": {"log": ["never committed"]}}, driver.folder.state)
    last = driver.step()
    store.hand_back(driver.work, reason="")
    (fault,) = folding.faults()
    assert "the state at its checkpoint does not match its hash" in fault
    assert last == driver.work.head
    assert folding.after(request.node) == [], "a test that says so may"


@pytest.mark.requirement("A20")
def test_every_test_with_a_database_is_looked_at(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "faults", lambda: ["a fault"])
    assert folding.after(request.node) == ["a fault"]
    monkeypatch.undo()
