"""`payments` in the real product: a worker process, a bank process, people on pages."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from approvals import queries as approvals
from checkpoints import queries
from checkpoints.chain import verify_thread
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.threads.start import start_thread
from gatepost_agents.payments.invoices import DATA
from tests.faults.bench import wait_until
from tests.support import decisions
from tests.support.cast import make_cast
from tests.support.site import started_site
from tests.unit.agents.testbank.bank import started_bank

from .oracle import reckon

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
DUE = "2026-11-30"


def test_approved_is_paid_once_and_a_rollback_refunds_once_and_leaves_the_mails(
    real_db: str, tmp_path: Path
) -> None:
    cast = make_cast()
    outbox = tmp_path / "outbox"

    def row(thread: UUID) -> ThreadRow:
        return queries.thread(thread, workspace=cast.workspace)

    def reaches(thread: UUID, status: Status) -> ThreadRow:
        def there() -> bool:
            result = row(thread)
            assert result.status is status or result.status not in ("failed", "attention"), (
                result.status_reason
            )
            return result.status is status

        wait_until(there, seconds=60, what=lambda: f"{row(thread).status} instead of {status}")
        return row(thread)

    with (
        started_bank(tmp_path) as bank,
        started_site(
            slots=1,
            GATEPOST_BANK_URL=bank.url,
            GATEPOST_OUTBOX=str(outbox),
            GATEPOST_SHIPPED_AGENTS="true",
        ),
    ):
        wait_until(
            lambda: any(a.agent == "payments" for a in queries.agents()),
            seconds=60,
            what="the agent",
        )
        form = cast.client("operator").get("/threads/new/?agent=payments").content.decode()
        for label in ("Your invoices", "Due by", "Limit per invoice", "Confirmed accounts"):
            assert label in form
        thread = start_thread(
            cast.actor("operator"),
            agent="payments",
            input={"due_by": DUE},
            title="Pay November",
        )
        reaches(thread, Status.WAITING)
        assert bank.lines("done") == []
        assert not outbox.exists()

        # What the reviewer sees is what the raw files come to, totals first, each line in a table.
        result = reckon(DATA, due_by=DUE)
        whole = sum(result.paid.values())
        (request,) = approvals.for_thread(thread, open_only=True)
        page = cast.client("manager").get(f"/approvals/{request.id}/").content.decode()
        assert f"Pay {len(result.paid)} invoices, {whole / 100:,.2f} EUR?" in page
        table = page.partition("<table")[2].partition("</table>")[0]
        rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
        assert len(rows) == len(result.paid) + 1
        cells = re.findall(r"<th[^>]*>(.*?)</th>", rows[0], re.DOTALL)
        heading = [re.sub(r"<[^>]+>", "", cell).strip() for cell in cells]  # each sorts by a click
        for label in ("account", "amount"):
            at = heading.index(label)
            shown = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)[at] for row in rows[1:]]
            values = [one[label] for one in request.args["payments"]]
            wanted = values if label == "account" else [f"{Decimal(one):,}" for one in values]
            assert shown == wanted
        assert table.count(' class="r"') >= len(result.paid)
        assert page.index(">total:") < page.index("<table")
        assert "undo the reservation and the payment, but not the mails" in page

        decisions.decide(
            cast.actor("manager"), request.id, "approve", request.proposal_hash, "checked", None
        )
        reaches(thread, Status.SUCCEEDED)
        paid = bank.get("payments")["payments"]
        assert bank.done() == ["reserve", "pay"]
        assert len(paid) == len(result.paid)
        assert bank.get("balance")["paid"] == f"{whole // 100}.{whole % 100:02}"
        chosen = {(p["invoice"], p["amount"], p["account"]) for p in request.args["payments"]}
        assert {(p["invoice"], p["amount"], p["account"]) for p in paid} == chosen
        mails = sorted(path.name for path in outbox.iterdir())
        assert len(mails) == len({p["supplier"] for p in paid})

        # The preview says what can be taken back and what stays; then exactly that happens.
        start = queries.checkpoint_by_number(thread, 0)
        operator = cast.client("operator")
        preview = operator.get(f"/threads/{thread}/rollback/?checkpoint={start.id}")
        shown = preview.content.decode()
        assert shown.count('data-fate="undoable"') == 2
        assert shown.count('data-fate="stays"') == 1
        assert "1 effect can’t be undone" in shown
        done = operator.post(
            f"/threads/{thread}/rollback/?checkpoint={start.id}",
            {
                "checkpoint": str(start.id),
                "version": row(thread).version,
                "reason": "the wrong month",
                "known": "1",
            },
        )
        assert done.status_code in (302, 303), done.content.decode()
        reaches(thread, Status.PAUSED)
        assert bank.done() == ["reserve", "pay", "refund", "release"]
        assert bank.get("balance")["available"] == "1000000.00"
        assert bank.get("payments") == {"payments": []}
        assert sorted(path.name for path in outbox.iterdir()) == mails
        saved = {a.tool: a.state for a in queries.activities(thread) if a.kind == "effect"}
        assert saved == {
            "bank.reserve": "compensated", "bank.pay": "compensated", "remittance.mail": "done",
        }  # fmt: skip
        report = verify_thread(thread)
        assert report.intact, report.what
        keys = [line["key"] for line in bank.lines("done")]
        assert len(set(keys)) == len(keys) == 4
        assert len(bank.lines()) == 5, json.dumps(bank.lines(), indent=1)
