"""docs/howto/compare-and-replay.md: two threads side by side, what if, budgets, parts."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from tests.docs.performing import Performance
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import samples
from workers.code.registry import announce

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(cast: Cast) -> Bench:
    return Bench(announce(samples.graph, samples.TOOLS, []), cast.workspace)


def test_two_threads_are_compared_as_the_page_says(cast: Cast, bench: Bench, tmp_path: Any) -> None:
    page = Performance("compare-and-replay", cast)
    client = cast.client("operator")
    left = bench.start(goal="tea", rounds=3, folder=str(tmp_path))
    assert bench.advance(left).status == "waiting"
    second = queries.checkpoint_by_number(left, 2).id

    # Fork with other values, and with a budget; a command and a preview by the page.
    values: dict[str, Any] = {"THREAD": left, "limit=5": "rounds=20"}
    fork = page.run("./manage.py threads fork THREAD --checkpoint 2", "operator", **values)
    right = fork["id"]
    row = bench.advance(right)
    assert bench.state(right) | {"rounds": 20, "done": 7} == bench.state(right), "2 and 5 steps"
    assert (row.status, "Over its budget" in row.status_reason) == ("paused", True), row
    store.resume(right, actor="user:1")
    assert (bench.advance(right).status, bench.state(right)["done"]) == ("paused", 12)

    # What if: the same call answers something else; the node before it is reused.
    called = page.call("GET /threads/{id}/activities/", "operator", ID=left)["results"]
    call = next(one for one in called if one["tool"] == "look_up" and one["step"] == 2)
    other = {"goal": "coffee", "price": "9.99"}
    before = samples.counter.count("look_up")
    start = "./manage.py threads fork THREAD --instead-of CALL"
    names = {"THREAD": left, "CALL": call["id"]}
    wrong = page.run(start, "operator", code=1, **names)
    assert "$.instead_of.output" in wrong, wrong
    output = str(other).replace("'", '"')
    made = page.run(start, "operator", **names, **{"5000": f"'{output}'"})
    assert bench.advance(made["id"]).status == "waiting"
    assert bench.state(made["id"])["notes"] == ["tea 1", "coffee 2", "tea 3"]
    assert samples.counter.count("look_up") == before, "recorded calls are reused"
    curl = 'curl -sS "$GATEPOST_URL/api/v1/threads/$THREAD/fork/"'
    page.call(curl, "operator", status=201, **names, **{"5000": output})

    # Where they part, and whether they end the same.
    scope: dict[str, Any] = {"LEFT": left, "CHECKPOINT": queries.checkpoint_by_number(left, 2).id}
    answer = page.call(
        'curl -sS "$GATEPOST_URL/api/v1/threads/$LEFT/diff/', "auditor", RIGHT=right, **scope
    )
    assert answer["common"]["number"] == 2
    assert answer["diverged"]["to"]["kind"] == "thread.forked"
    same = page.run("./manage.py threads diff LEFT", "auditor", LEFT=left, RIGHT=right)
    assert same["patch"] == answer["patch"]
    heads = f"{left} --from {bench.row(left).head} --to-thread {made['id']}"
    assert page.run("threads diff", "auditor", more=heads)["ending"]
    address = page.unit("/threads/compare/")
    kinds = re.findall(r"^\| `(THREAD[^`]*)` \|", page.text, re.MULTILINE)
    assert kinds == ["THREAD", "THREAD:12", "THREAD:branch-1"]
    for kind in kinds:
        value = kind.replace(":12", ":2").replace("-1", "-0").replace("THREAD", str(left))
        html = client.get(address.replace("…", value, 1).replace("…", str(right), 1))
        assert html.status_code == 200, (kind, html.content)
        assert "coffee" in html.content.decode() or "rounds" in html.content.decode()
    heads = client.get(f"/threads/compare/?left={left}&right={made['id']}").content.decode()
    assert "“Still running”" in page.text
    assert "Still running" in heads
    for thread in (left, made["id"]):
        bench.decide(UUID(str(thread)), "reject", "too dear")
        bench.advance(thread)
    heads = client.get(f"/threads/compare/?left={left}&right={made['id']}").content.decode()
    assert "Ends the same" in heads, "both were rejected at the same node for the same reason"

    # Parts of a state, of a checkpoint, against another one, and of an event.
    value = page.unit("/threads/value/?of=THREAD:12").replace("THREAD:12", f"{left}:2")
    part = client.get(value.replace("/analysis/groups", "/facts/last"))
    assert "3.50" in part.content.decode()
    against = re.search(r"`(&against=[^`]+)`", page.text)[1]  # type: ignore[index]
    both = client.get(
        value.replace("/analysis/groups", "/facts/last")
        + against.replace("OTHER:7", f"{made['id']}:1")
    )
    assert {"tea", "coffee"} <= set(re.findall(r"tea|coffee", both.content.decode()))
    event = re.search(r"`(of=THREAD:event-\d+)`", page.text)[1]  # type: ignore[index]
    shown = client.get("/threads/value/?" + event.replace("80", "1").replace("THREAD", str(left)))
    assert "delays" in shown.content.decode() or "tea" in shown.content.decode()
    assert client.get(f"/threads/{left}/?kind=errors").status_code == 200
    assert client.get(f"/threads/{left}/?cp={second}").status_code == 200
    page.complete()
