"""What going on from the record spares in dollars: the tokens of model calls at their prices."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.urls import reverse
from genai_prices import Usage, calc_price

from checkpoints import queries, store
from checkpoints.queries.activities import _UNPRICED
from checkpoints.states import Status
from dashboard.wording import savings
from gatepost import END, Context, Graph, State
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import bare
from workers.code.registry import announce

from .model_server import Say, serving_models

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A36")]


class Report(State):
    draft: str = ""
    text: str = ""


def reporting(*, works: bool) -> Graph:
    """An agent that asks twice and then fails, as a release has it."""
    graph = Graph("reporting", Report, version=2 if works else 1, on_code_change="go_on")

    @graph.node(then="polish")
    def write(state: Report, ctx: Context) -> dict[str, Any]:
        return {"draft": ctx.model("Write it.")}

    @graph.node(then="publish")
    def polish(state: Report, ctx: Context) -> dict[str, Any]:
        return {"text": ctx.model("Polish it.", state.draft)}

    @graph.node(then=END)
    def publish(state: Report, ctx: Context) -> dict[str, Any]:
        if not works:
            raise ConnectionError("away")
        return {}

    return graph


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_retry_spares_what_the_tables_say_and_names_what_they_do_not(
    settings: Any, wire: str, cast: Cast
) -> None:
    model = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}[wire]
    known = Say("A draft.", tokens_in=90_000, tokens_out=7_000, cached=40_000)
    unknown = Say("A text.", tokens_in=500, tokens_out=50, model="nobody-knows-9")
    with serving_models(known, unknown) as server:
        settings.GATEPOST_MODEL = f"{wire}:{model}@{server.url}?prices={wire}"
        bench = Bench(announce(reporting(works=False), {}, [bare]), cast.workspace)
        thread = bench.start()
        assert bench.advance(thread).status is Status.FAILED
        bench.install(reporting(works=True), {}, bare)
        store.retry(thread, actor="user:1")
        row = bench.advance(thread)
        assert (row.status, row.status_reason) == (Status.SUCCEEDED, "")
        assert len(server.got) == 2  # nothing is paid for twice
    usage = Usage(input_tokens=90_000, cache_read_tokens=40_000, output_tokens=7_000)
    price = calc_price(usage, model, provider_id=wire).total_price
    paid = price.quantize(Decimal("0.000001"), rounding=ROUND_UP)
    assert paid > Decimal("0.05")
    spent = [Decimal(a.usage.get("cost", "0")) for a in bench.activities(thread) if a.usage]
    assert sum(spent) == paid == Decimal(row.cost)
    spared = queries.saved(row)
    assert (spared.resumes, spared.model_calls, spared.tokens) == (1, 2, 97_550)
    assert (Decimal(spared.cost), spared.unpriced_calls) == (paid, 1)
    assert queries.fleet_saved(workspace=cast.workspace) == spared
    words = f"2 model calls, 97,550 tokens, ${spared.cost} and 1 unpriced call"
    assert savings.words(spared).startswith(words)
    assert bench.intact(thread)
    # What the thread has spent says as well what is not in it.
    client = cast.client("operator")
    answer = client.get(f"/api/v1/threads/{thread}/").json()
    assert (answer["totals"]["cost"], answer["unpriced_calls"]) == (spared.cost, 1)
    assert answer["saved"]["unpriced_calls"] == 1
    page = client.get(reverse("thread", args=[thread])).content.decode()
    assert f"<dd>${spared.cost} and 1 unpriced call</dd>" in page
    uses = client.get(f"/api/v1/threads/{thread}/anatomy/").json()["model"]["uses"]
    assert {use["model"]: use["unpriced_calls"] for use in uses} == {model: 0, "nobody-knows-9": 1}


def test_an_index_counts_them() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {_UNPRICED}", (uuid4(),))
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "gp_activity_unpriced" in plan
