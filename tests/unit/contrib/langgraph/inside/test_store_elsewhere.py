"""The store on real workers, killed with signal 9, and through the API for graphs elsewhere."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from dashboard.identity import tokens
from gatepost_client.langgraph import GatepostStore
from gatepost_client.wire.errors import Refused
from gatepost_client.wire.settings import Settings
from tests.contract.clients.bench import ROOT, Server
from tests.faults.bench import LEASE, SWEEP, Case
from tests.support.cast import Cast

from .test_store import ALL

pytestmark = [pytest.mark.requirement("A10"), pytest.mark.requirement("F04")]
GOES_ON = LEASE + SWEEP + 20


@pytest.fixture
def settings_of(server: Server, cast: Cast) -> Callable[..., Settings]:
    """Settings of a client whose token has these scopes."""

    def make(*scopes: str) -> Settings:
        user = cast.users["operator"]
        token = tokens.make(user, made_by="user:0", scopes=["read", *scopes])[1]
        return Settings(server.url, token)

    return make


@pytest.fixture
def store(settings_of: Callable[..., Settings]) -> Callable[..., GatepostStore]:
    """Makes a store in the memory of an agent."""

    def make(agent: str) -> GatepostStore:
        return GatepostStore(scope="agent", agent=agent, settings=settings_of("memory"))

    return make


@pytest.mark.parametrize("work", ALL)
def test_it_answers_as_the_store_of_langgraph(
    store: Callable[..., GatepostStore], work: Callable[[BaseStore], Any]
) -> None:
    assert work(store(f"elsewhere-{work.__name__}")) == work(InMemoryStore())


def test_more_than_a_page_of_items_is_read(store: Callable[..., GatepostStore]) -> None:
    there = store("many")
    for n in range(205):
        there.put(("m",), f"k{n}", {"n": n})
    matches = there.search(("m",), filter={"n": {"$lt": 3}})
    assert sorted(one.value["n"] for one in matches) == [0, 1, 2]
    assert len(there.search(("m",), limit=500)) == 205


def test_a_killed_worker_answers_from_the_record(
    server: Server,
    start: Callable[..., Case],
    store: Callable[..., GatepostStore],
    settings_of: Any,
) -> None:
    """Killed between its reads and the commit; the items changed before it went on."""
    shared = GatepostStore(settings=settings_of("memory"))
    shared.put(("words",), "first", {"text": "A quokka is small."})
    case = start("counting", hold=("read",))
    case.wait_called("read")
    case.wait_event("activity.finished", 3)  # the start and both reads
    counting = store("counting")
    counting.put(("counts",), "n", {"n": 40})
    shared.put(("words",), "first", {"text": "A quokka is large."})
    shared.put(("words",), "second", {"text": "Quokka, quokka, quokka."})
    os.kill(case.holder(), signal.SIGKILL)
    case.go("read")
    case.wait_status("failed", "succeeded", seconds=GOES_ON)
    assert len(case.calls("read")) == 2
    # Somebody else's item is there by now: only they replace it.
    assert case.row().status == "failed"
    assert "only they replace it" in case.row().status_reason
    counting.delete(("counts",), "n")
    server.operator.post(f"/threads/{case.id}/retry/", {})
    case.wait_status("succeeded")
    assert case.state()["read"] == 0
    assert case.state()["matches"] == ["A quokka is small."]
    one = counting.get(("counts",), "n")
    assert one is not None
    assert one.value == {"n": 1}
    assert server.verify(str(case.id))["intact"] is True


def test_a_token_for_work_replaces_only_its_own_items(
    store: Callable[..., GatepostStore], settings_of: Callable[..., Settings]
) -> None:
    store("both").put(("m",), "k", {"by": "the operator"})
    working = GatepostStore(scope="agent", agent="both", settings=settings_of("work"))
    working.put(("m",), "k", {"by": "the same person"})
    with pytest.raises(Refused, match="lacks the scope 'memory'"):
        working.delete(("m",), "k")
    reading = GatepostStore(scope="agent", agent="both", settings=settings_of("start"))
    with pytest.raises(Refused, match="lacks the scope 'memory'"):
        reading.put(("m",), "k", {"by": "nobody"})


def test_whose_memory_it_is_has_to_be_said() -> None:
    with pytest.raises(ValueError, match="person="):
        GatepostStore(scopes={"me": "person"})
    with pytest.raises(ValueError, match="graphs that workers run"):
        GatepostStore(scope="thread")


def test_the_code_of_the_page_does_what_it_says(
    settings_of: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/howto/langgraph.md").read_text()
    (code,) = re.findall(r'^```python title="tones.py"\n(.*?)^```', page, re.M | re.S)
    settings = settings_of("memory")
    monkeypatch.setenv("GATEPOST_URL", settings.url)
    monkeypatch.setenv("GATEPOST_TOKEN", settings.token)
    exec(compile(code, "tones.py", "exec"), {})
