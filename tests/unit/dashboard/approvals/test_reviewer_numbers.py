"""Every number on the page of the reviewers is known, and equals one computed by plain SQL."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from dashboard.wording import text
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.page_numbers import numbers

pytestmark = pytest.mark.nightly

WAITING = """
SELECT seat, count(*), count(*) FILTER (WHERE coalesce(decide_by, deadline) < now() + '1 hour')
FROM gp_approval, unnest(due_seats) seat WHERE workspace_id = %s AND status = 'pending' GROUP BY 1
"""
# Approvals that need opening: of high risk, and of what several stages approve.
DECIDED = """
WITH d AS (SELECT d.*, a.requested_at,
    d.verdict <> 'reject' AND (a.risk = 'high' OR a.terms #> '{stages,1}' IS NOT NULL) AS counts,
    (SELECT d.at - l.at FROM gp_approval_look l WHERE l.approval_id = d.approval_id
      AND l.person = split_part(d.reviewer, '/', 1) AND l.at <= d.at) AS looked
  FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id WHERE d.workspace_id = %s)
SELECT reviewer_name, count(*), percentile_cont(0.5) WITHIN GROUP (
    ORDER BY extract(epoch FROM at - requested_at)::float),
  count(*) FILTER (WHERE counts), count(*) FILTER (WHERE counts AND looked IS NULL),
  count(*) FILTER (WHERE counts AND looked < '5 seconds')
FROM d GROUP BY 1
"""
# Sentences and headings, whose numbers are those of a row or the length of the time looked at.
WORDS = {"Decided in the last 7 days", "Within 5 s"}
NOTE = re.compile(r"div\.note\.t-wait")


def _table(html: str, title: str) -> dict[str, list[str]]:
    """{who: the cells of a table's row, without the time in the last}."""
    body = html.partition(f'aria-labelledby="{title}"')[2].partition("</section>")[0]
    results = {}
    for row in re.findall(r"<tr.*?</tr>", body.partition("<tbody")[2], re.S):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)
        who, *values, _ = [re.sub(r"<[^>]+>", "", cell).strip() for cell in cells]
        results[who] = values
    return results


def _seat(name: str) -> str:
    kind, _, who = name.partition(":")
    return "Any reviewer" if name == "*" else f"Team {who}" if kind == "team" else who


def _of(n: int, counted: int) -> str:
    return f"{n} of {counted}" if counted else "–"


def test_every_number_of_the_reviewers(cast: Cast, requested: list[UUID]) -> None:
    waiting = {
        _seat(seat): [f"{n:,}", f"{due:,}"] for seat, n, due in rows(WAITING, (cast.workspace,))
    }
    decided = {
        who: [f"{n:,}", text.span(median), _of(unopened, counted), _of(quick, counted)]
        for who, n, median, counted, unopened, quick in rows(DECIDED, (cast.workspace,))
    }
    assert waiting
    assert len(decided) == 2
    for role in ("manager", "auditor"):
        html = cast.client(role).get("/approvals/reviewers/").content.decode()
        oversees = role == "auditor"
        assert _table(html, "waits-title") == waiting
        assert _table(html, "did-title") == {
            who: cells if oversees else cells[:2] for who, cells in decided.items()
        }
        for position, words in numbers(html):
            if re.search(r" tbody tr t[dh]", position) or words in WORDS:
                continue
            if position.endswith("p.hint"):
                words = words.replace("within 5 s", "")
                assert not re.search(r"\d", words), words
                continue
            message = f"nobody computes this a second way: {words!r} at {position}"
            assert NOTE.search(position), message
            names = {n for cells in decided.values() for cell in cells for n in cell.split()}
            for n in re.findall(r"\d+", re.sub(r"within 5 seconds|last \d+ in a row", "", words)):
                assert n in names, words
