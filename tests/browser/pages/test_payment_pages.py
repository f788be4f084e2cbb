"""Each page that shows a payment of 3, 77 or 88 invoices is short on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from approvals import queries as approvals
from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.states import Status
from gatepost_agents.payments.agent import graph
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import Screen
from tests.unit.agents.testbank.bank import started_bank
from tests.unit.dashboard.threads.page.shipped import benches
from tests.unit.workers.conftest import Bench

pytestmark = [pytest.mark.nightly, pytest.mark.browser]
TALL_MAX, ELEMENTS_MAX = 6_000, 1_500
# The calls whose input or output is the payments.
LARGE = (
    "choose_payments",
    "bank.reserve",
    "bank.pay",
    "draft_mails",
    "remittance.mail",
    "draft_report",
)


@pytest.fixture
def bench(
    house: House, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bench]:
    """The payments agent beside a bank of this test; no worker takes its threads."""
    monkeypatch.setattr(graph, "queue", "nobody")
    settings.GATEPOST_OUTBOX = tmp_path / "outbox"
    with started_bank(tmp_path) as bank:
        settings.GATEPOST_BANK_URL = bank.url
        yield benches(house.cast.workspace, "gatepost_agents.payments")["payments"]


def requested(bench: Bench, most: int, **values: Any) -> ApprovalRow:
    """A request to pay at most so many invoices."""
    thread = bench.start(most=most, check_paid=False, **values)
    assert bench.advance(thread).status is Status.WAITING
    (request,) = approvals.for_thread(thread, open_only=True)
    return request


def paid(bench: Bench, request: ApprovalRow) -> UUID:
    """The thread of a request that was approved and carried out."""
    bench.decide(request.thread, "approve", "fine")
    assert bench.advance(request.thread).status is Status.SUCCEEDED
    return request.thread


def pages_of(request: ApprovalRow) -> Iterator[tuple[str, str]]:
    """(person, address) of each page about a request and its thread."""
    thread = f"/threads/{request.thread}/"
    head = queries.thread(request.thread, workspace=request.workspace)
    for number in (8, head.number):
        for tab in ("", "state", "anatomy"):
            yield "operator", f"{thread}?cp={number}{f'&tab={tab}' if tab else ''}"
    yield "manager", f"/approvals/{request.id}/"
    yield "manager", f"/approvals/{request.id}/report/"
    yield "operator", f"{thread}fork/?checkpoint=8"
    yield "operator", f"{thread}rollback/?checkpoint=2"
    if head.status is Status.WAITING:
        yield "manager", f"/approvals/{request.id}/edit/"
        yield "operator", f"{thread}edit/"
        yield "operator", f"{thread}cancel/"
    for call in queries.activities(request.thread):
        if call.key.partition("#")[0] not in LARGE:
            continue
        yield "operator", f"{thread}fork/?instead_of={call.id}"
        yield "auditor", f"/admin/checkpoints/activity/{call.id}/change/"
    yield "auditor", f"/admin/approvals/approval/{request.id}/change/"
    yield "auditor", f"/admin/checkpoints/thread/{request.thread}/change/"


def measured(screen: Screen, path: str) -> str:
    """Nothing, or which limit a page is beyond."""
    answer = screen.page.goto(screen.base + path)
    assert answer is not None
    assert answer.status == 200, path
    tall = screen.page.evaluate("document.documentElement.scrollHeight")
    elements = screen.page.evaluate("document.querySelectorAll('*').length")
    if tall <= TALL_MAX and elements <= ELEMENTS_MAX and not screen.sideways():
        return ""
    return f"{path}: {tall:,} px, {elements:,} elements, {screen.sideways()} px sideways"


def test_each_page_of_a_payment_is_short_on_a_phone(bench: Bench, people: People) -> None:
    screens = {name: people(name, phone=True) for name in ("operator", "manager", "auditor")}
    small = requested(bench, 3)
    paid(bench, small)
    large = requested(bench, 77)
    paid(bench, large)
    last = requested(bench, 88)
    wrong = [
        measured(screens[who], path) for one in (small, large, last) for who, path in pages_of(one)
    ]
    pair = f"left={small.thread}&right={large.thread}"
    wrong += [
        measured(screens["operator"], f"/threads/compare/?{pair}{view}")
        for view in ("", "&view=sides")
    ]
    assert "\n".join(filter(None, wrong)) == ""

    # What is folded on the report is there for those who ask, and all of it is in the file.
    screen = screens["manager"]
    screen.open(f"/approvals/{large.id}/report/")
    screen.page.get_by_text("Arguments as JSON").click()
    invoice = large.args["payments"][-1]["invoice"]
    assert screen.page.locator("details[open] pre").get_by_text(invoice).first.is_visible()
