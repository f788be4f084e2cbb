"""What previews of forks and rollbacks count and sum equals what the rows of the log say."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from types import SimpleNamespace
from typing import Any, Literal
from uuid import UUID

import pytest

from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Gate, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.code.registry import announce
from workers.node.context import Context

pytestmark = pytest.mark.django_db
SPENT = {  # what an answer takes
    "cheap": (7, "0.001"),
    "dear": (1_234, "0.25"),
    "free": (40, "0"),
}


class Work(State):
    plan: list[str] = []
    at: int = 0
    note: str = ""


def look(at: int) -> int:
    return at


def answer(request: Request) -> Reply:
    tokens, cost = SPENT[str(request.model)]
    return Reply("yes", request.model, tokens - 5, 5, cost)


@tool("planned.send", idempotent=True)
def send(at: int, *, key: str) -> str:
    return f"sent {at}"


graph = Graph("planned", Work, model=answer)


def next_one(state: Work) -> Literal["do", "__end__"]:
    return "do" if state.at < len(state.plan) else END


@graph.node(then=next_one, gate=True)
def do(state: Work, ctx: Context) -> dict[str, Any]:
    """The next part of the plan."""
    for part in state.plan[state.at].split("+"):
        if part in SPENT:
            ctx.model("Is it so?", state.at, model=part)
        elif part == "look":
            ctx.activity(look, state.at)
        elif part == "random":
            ctx.random()
        elif part == "ask":
            ctx.effect(send, {"at": state.at}, gate=Gate("Send it?"))
        else:
            ctx.effect(send, {"at": state.at})
    return {"at": state.at + 1}


MODULE = SimpleNamespace(graph=graph, TOOLS={send.name: send}, __name__=__name__, __file__=__file__)
# The log from a checkpoint on; what a rolled-back branch did is not on the way.
LOG = """
SELECT kind, data::text FROM gp_event WHERE thread_id = %s AND seq > (SELECT min(e.seq)
  FROM gp_event e JOIN gp_checkpoint c ON c.thread_id = e.thread_id
  WHERE e.thread_id = %s AND c.number = %s AND e.data::text LIKE '%%' || c.id || '%%') ORDER BY seq
"""


def predicted(thread: UUID, number: int) -> tuple[Counter[str], Counter[str], dict[str, Decimal]]:
    """By fate: how many calls, tokens and cost, from the events after a checkpoint."""
    n_calls, tokens, cost = Counter[str](), Counter[str](), dict[str, Decimal]()
    certain = True
    for kind, text in rows(LOG, (thread, thread, number)):
        data = json.loads(text)
        if kind == "rollback.started":
            break  # what follows is another branch
        # Each request here is that of the effect which follows it, and is asked again with it.
        if kind in ("state.edited", "value.recorded"):
            certain = False
        if kind not in ("activity.finished", "model.answered", "effect.finished"):
            continue
        known = "again" if kind == "effect.finished" else "reused"
        fate = known if certain else "maybe"
        certain = certain and fate != "again"
        usage = data.get("usage") or {}
        n_calls[fate] += 1
        tokens[fate] += usage.get("tokens", usage.get("reused_tokens", 0))
        spent = usage.get("cost", usage.get("reused_cost", "0"))
        cost[fate] = cost.get(fate, Decimal(0)) + Decimal(spent)
    return n_calls, tokens, cost


def lived(bench: Bench, dice: random.Random) -> UUID:
    """A thread whose plan is random; people decide, edit and roll back on the way."""
    parts = ["look", "cheap", "dear", "free", "look+dear", "random+cheap", "ask", "send"]
    likely = dice.choice([parts[:5], parts, [*parts[:5], "ask"]])
    thread = bench.start(plan=[dice.choice(likely) for _ in range(dice.randrange(3, 9))])
    for _ in range(12):
        status = bench.advance(thread).status
        if status == "waiting":
            bench.decide(thread, "approve")
        elif status == "succeeded" and dice.random() < 0.5:
            [ends] = rows("SELECT branch_start, number FROM gp_thread WHERE id = %s", (thread,))
            bench.roll_back(thread, dice.randrange(*ends))
            if dice.random() < 0.5:
                bench.edit(thread, {"note": f"{dice.random()}"}, "on second thought")
            bench.resume(thread)
        else:
            break
    return thread


def shown(html: str) -> tuple[dict[str, int], dict[str, int], dict[str, Decimal]]:
    """The same by the words of a page."""
    part = re.search(r"<dl[^>]*data-ahead>(.*?)</dl>", html, re.DOTALL)
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", part[1] if part else "")).split())

    def first(pattern: str) -> str:
        match = re.search(pattern, text)
        return match[1].replace(",", "") if match else "0"

    again, maybe = r"about [\d,]+ tokens, \$([\d.]+)", r"up to [\d,]+ tokens, \$([\d.]+)"
    return (
        {
            "reused": int(first(r"([\d,]+) reused,")),
            "maybe": int(first(r"([\d,]+) unknown until run")),
            "again": int(first(r"([\d,]+) called again")),
        },
        {
            "reused": int(first(r"Saved ([\d,]+) tokens")),
            "maybe": int(first(r"up to ([\d,]+) tokens")),
            "again": int(first(r"about ([\d,]+) tokens")),
        },
        {"again": Decimal(first(again)), "maybe": Decimal(first(maybe))},
    )


def _pages(cast: Cast, thread: UUID) -> Iterator[tuple[int, str, str]]:
    """(checkpoint, page, HTML) of the previews of a thread."""
    client = cast.client("operator")
    checkpoints = rows("SELECT number, id FROM gp_checkpoint WHERE thread_id = %s", (thread,))
    branches = rows("SELECT 1 FROM gp_thread WHERE id = %s AND branch > 0", (thread,))
    for number, checkpoint in checkpoints:
        for page in ("fork",) if branches else ("fork", "rollback"):
            answer = client.get(f"/threads/{thread}/{page}/?checkpoint={checkpoint}")
            if answer.status_code == 200:  # nobody rolls back to the head
                yield number, page, answer.content.decode()


@pytest.mark.slow
def test_calls_tokens_and_cost_that_previews_expect(cast: Cast) -> None:
    bench = Bench(announce(MODULE.graph, MODULE.TOOLS, [MODULE]), cast.workspace)
    dice, seen, wrong = random.Random(11), Counter[str](), []
    for _ in range(7):
        thread = lived(bench, dice)
        for number, page, html in _pages(cast, thread):
            n_calls, tokens, cost = shown(html)
            by_log = predicted(thread, number)
            for fate in ("reused", "maybe", "again"):
                seen[f"{page} {fate}"] += bool(n_calls[fate])
                seen[f"cost {fate}"] += bool(cost.get(fate))
                rowed = html.count(f'data-expected="{fate}"')
                pair = (n_calls[fate], tokens[fate], rowed, cost.get(fate, 0))
                expected = (by_log[0][fate], by_log[1][fate], by_log[0][fate])
                money = by_log[2].get(fate, Decimal(0)) if fate in cost else 0
                if pair != (*expected, money):
                    wrong.append(
                        f"{page} of #{number}, {fate}: {pair}, by the log {expected} {money}"
                    )
    assert not wrong, "\n".join(wrong)
    assert (
        min(
            seen[f"{page} {fate}"]
            for page in ("fork", "rollback")
            for fate in ("reused", "maybe", "again")
        )
        > 1
    )
    assert seen["cost maybe"] > 3
