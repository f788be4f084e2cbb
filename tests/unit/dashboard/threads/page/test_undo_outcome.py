"""After a rollback a thread's page says what was undone and what stays done, from the record."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from checkpoints import queries
from checkpoints.states import Status
from dashboard.threads.roll_back import roll_back
from tests.support.cast import Cast
from tests.unit.agents.testbank.bank import started_bank
from tests.unit.dashboard.threads.page.shipped import benches, finished
from tests.unit.dashboard.threads.test_commands import output_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def lines_of(html: str) -> list[str]:
    """The lines of the note about the last undo."""
    note = html.partition('id="undo-outcome"')[2].partition("</ul>")[0]
    items = re.findall(r"<li>(.*?)</li>", note, re.DOTALL)
    return [unescape(" ".join(re.sub(r"<[^>]+>", "", item).split())) for item in items]


def test_a_rollback_says_what_it_undid_and_what_stays(
    cast: Cast, tmp_path: Path, settings: Any
) -> None:
    settings.GATEPOST_OUTBOX = tmp_path / "outbox"
    with started_bank(tmp_path) as bank:
        settings.GATEPOST_BANK_URL = bank.url
        bench = benches(cast.workspace, "gatepost_agents.payments")["payments"]
        thread = finished(bench, most=3, check_paid=False)
        client = cast.client("operator")
        assert lines_of(client.get(f"/threads/{thread}/").content.decode()) == []
        target = queries.checkpoint_by_number(thread, 8)
        roll_back(cast.actor("operator"), thread, target.id, "wrong month")
        assert bench.advance(thread).status is Status.PAUSED
        assert bank.done()[-2:] == ["refund", "release"]
        shown = lines_of(client.get(f"/threads/{thread}/").content.decode())
        assert [line.partition(":")[0] for line in shown] == [
            "Undone by refund",
            "Undone by release",
            "Stays done",
        ]
        assert re.search(r"Paid 3 invoices, [\d,.]+ EUR", shown[0])
        assert "Mailed 3 suppliers" in shown[2]
        # API and command say the same.
        answer = client.get(f"/api/v1/threads/{thread}/").json()["rollback_outcome"]
        assert [one["undo"] for one in answer["undone"]] == ["refund", "release"]
        assert [one["outcome"] for one in answer["left"]] == ["stays done"]
        assert all(
            one["sentence"] in line
            for one, line in zip(answer["undone"] + answer["left"], shown, strict=True)
        )
        printed = output_of("threads", "show", thread)
        for one in answer["undone"]:
            assert f"undone\tby {one['undo']}: {one['sentence']}" in printed
        assert f"stays done\t{answer['left'][0]['sentence']}" in printed
        # Not of another moment, and not once the thread has gone on.
        assert lines_of(client.get(f"/threads/{thread}/?cp=8").content.decode()) == []
