"""A request says each thing once: in its head, its rows, its messages and on its thread's page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest

from approvals.notify.texts import letters
from approvals.queries import ApprovalRow
from gatepost_agents.outreach.writer import describe_mail
from gatepost_agents.payments.tools import describe_mails, describe_payment, describe_reservation
from gatepost_agents.published.report_tool import describe_report
from tests.support.cast import Cast
from tests.unit.dashboard import scene

ROOT = Path(__file__).parents[4]
PAYMENT = {"supplier": "S-1", "amount": "12.50", "invoice": "R-1"}
# Tool -> (the title of its gate, its sentence, its description).
REQUESTS: dict[str, tuple[str, str, str]] = {
    "report.publish": (
        "Publish this?",
        describe_report({"title": "Delays by carrier"}, None),
        "The report and its chart go to the published folder.",
    ),
    "outreach.mail": (
        "Mail Alder Bakery?",
        describe_mail({"company": "Alder Bakery", "to": "jonas@alder.example"}, None),
        "The mail goes to the outbox and may be delivered immediately.",
    ),
    "bank.reserve": (
        "Pay 1 invoice, 12.50 EUR?",
        describe_reservation({"payments": [PAYMENT], "total": "12.50", "currency": "EUR"}, None),
        "The money goes to 1 supplier: it is reserved, then paid.",
    ),
    # These two have no gate of their own: a fork or a repeat asks, by their sentence.
    "bank.pay": ("", describe_payment({"count": 1, "total": "12.50"}, None), ""),
    "remittance.mail": ("", describe_mails({"mails": [{"total": "12.50"}]}, None), ""),
}


def request(cast: Cast, tool: str) -> ApprovalRow:
    title, sentence, description = REQUESTS[tool]
    return scene.waiting(
        cast.workspace,
        scene.make_agent(),
        title=title or f"Repeat: {sentence}",
        sentence=sentence,
        description=description,
    )


def texts_of(html: str) -> list[str]:
    """The texts between tags that have three words or more, in lower case without marks."""
    hidden = r"<(title|script|style|template)\b.*?</\1>|<span class=\"sr\">.*?</span>"
    html = re.sub(hidden, "", html, flags=re.S)
    texts = [" ".join(unescape(text).split()) for text in re.split(r"<[^>]*>", html)]
    return [text.casefold().strip(" .?!:,") for text in texts if len(text.split()) >= 3]


def twice(texts: list[str]) -> list[str]:
    return [
        text
        for index, text in enumerate(texts)
        if any(text in other for other in texts[:index] + texts[index + 1 :])
    ]


def page(cast: Cast, address: str) -> str:
    return str(cast.client("manager").get(address).content.decode())


def test_each_shipped_tool_is_here() -> None:
    names = {
        name
        for path in (ROOT / "agents").rglob("*.py")
        for name in re.findall(r'@tool\(\s*"([^"]+)"', path.read_text())
    }
    assert names == set(REQUESTS)


@pytest.mark.django_db
@pytest.mark.parametrize("tool", REQUESTS)
def test_no_sentence_of_a_request_is_said_twice(cast: Cast, tool: str) -> None:
    row = request(cast, tool)
    head, *_ = (
        page(cast, f"/approvals/{row.id}/").partition('id="approval-title"')[2].split('id="why"')
    )
    assert twice(texts_of(head.partition("What exactly")[0])) == []
    listed = page(cast, "/approvals/?box=open")
    (item,) = re.findall(rf'<li id="approval-{row.id}".*?</li>', listed, re.S)
    assert twice(texts_of(item)) == []
    for address in ("/", f"/threads/{row.thread}/"):
        assert page(cast, address).count(REQUESTS[tool][1]) <= 2, address  # beside one tooltip
    letter = letters.letter(row, "approval.requested", base="http://here", now=datetime.now(UTC))
    assert twice(texts_of(letter.html)) == []
    lines = letter.text.casefold().splitlines()
    assert sum(REQUESTS[tool][1].casefold() in line for line in lines) == 1
