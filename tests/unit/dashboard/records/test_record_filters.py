"""Each filter of the records finds the same on the page, in the call and by the command."""

from __future__ import annotations

import html
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command

from dashboard.board.filters.records import RECORDS
from tests.support.cast import Cast
from tests.unit.dashboard.records.exports.population import populate

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("D04")]
# {filter: its value}; the thread is one of those there are.
EXAMPLES = {
    "q": "acme",
    "since": "2020-01-01",
    "until": "2020-01-01",
    "actor": "manager",
    "kind": "effect,approval.decided",
    "decision": "approve",
    "payee": "globex",
    "amount_from": "100,000",
    "amount_to": "12",
    "agent": "research",
    "tool": "bank.pay",
    "node": "analyse",
    "step": "1",
    "risk": "high",
    "thread": "",
}


@pytest.fixture
def examples(cast: Cast) -> dict[str, str]:
    return EXAMPLES | {"thread": str(populate(cast)[0].thread)}


def of_page(cast: Cast, texts: dict[str, str]) -> set[tuple[str, str]]:
    answer = cast.client("auditor").get("/admin/search/", texts)
    assert answer.status_code == 200, answer.content
    text = html.unescape(answer.content.decode())
    return set(re.findall(r'href="/threads/([0-9a-f-]{36})/\?[^"]*event=(\d+)#', text))


def of_call(cast: Cast, texts: dict[str, str]) -> set[tuple[str, str]]:
    answer = cast.client("auditor").get("/api/v1/records/", texts)
    assert answer.status_code == 200, answer.content
    return {(row["thread"], str(row["seq"])) for row in answer.json()["results"]}


def of_command(texts: dict[str, str]) -> set[tuple[str, str]]:
    out = io.StringIO()
    options = [f"--{name.replace('_', '-')}={value}" for name, value in texts.items()]
    call_command("record", "search", *options, "--as", "auditor", "--json", stdout=out)
    results = json.loads(out.getvalue())["results"]
    return {(row["thread"], str(row["seq"])) for row in results}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_filter_finds_the_same_everywhere(
    cast: Cast, examples: dict[str, str], name: str
) -> None:
    steps = {"kind": "all"}
    texts = steps | {name: examples[name]}
    results, everything = of_page(cast, texts), of_call(cast, steps)
    assert of_call(cast, texts) == of_command(texts) == results
    assert results < everything or name in ("since", "agent")
    assert results or name == "until"


def test_each_filter_has_an_example_and_an_input(cast: Cast) -> None:
    assert EXAMPLES.keys() == {one.name for one in RECORDS}
    page = cast.client("auditor").get("/admin/search/").content.decode()
    assert {one.name for one in RECORDS} <= set(re.findall(r'name="([a-z_]+)"', page))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("thread", "7", "id"),
        ("step", "-1", "whole number"),
        ("decision", "yes", "knows only"),
        ("risk", "none", "knows only"),
        ("kind", "nonsense", "is not a kind"),
        ("amount_to", "lots", "must be a number"),
        ("since", "yesterday", "must be a date"),
        ("agent", "x" * 201, "200 characters"),
    ],
)
def test_a_wrong_value_is_refused_everywhere(cast: Cast, name: str, value: str, why: str) -> None:
    client = cast.client("auditor")
    answer = client.get("/api/v1/records/", {name: value})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, name)
    page = client.get("/admin/search/", {name: value})
    assert page.status_code == 422
    assert why in html.unescape(page.content.decode())
    with pytest.raises((SystemExit, CommandError)):
        call_command("record", "search", f"--{name.replace('_', '-')}={value}", "--as", "auditor")
