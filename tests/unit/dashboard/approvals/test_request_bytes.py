"""The page of a request with 100 lines is light, whatever the shape of the arguments."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
BYTES_MAX, ELEMENTS_MAX = 60_000, 1_500


def line(n: int, **more: Any) -> dict[str, Any]:
    return {
        "invoice": f"RE-{n:05}",
        "supplier": f"Supplier {n % 9} Ltd",
        "iban": f"DE{n % 9:020}",
        "due": "2026-12-01",
        "amount": f"{1117 + n}.50",
    } | more


LINES = [line(n) for n in range(100)]
SHAPES: dict[str, dict[str, Any]] = {
    "alike": {"lines": LINES, "total": "1"},
    "deeper": {"batch": {"lines": LINES}, "total": "1"},
    "some with a note": {
        "lines": [line(n, **({"note": "late"} if n % 7 == 0 else {})) for n in range(100)]
    },
    "by key": {"lines": {f"P-{n}": line(n) for n in range(100)}, "total": "1"},
    "by key, deeper": {"batch": {"lines": {f"P-{n}": line(n, key=n) for n in range(100)}}},
    "with objects": {"lines": [line(n, address={"city": "Bonn", "zip": "5"}) for n in range(100)]},
}


def page(cast: Cast, args: dict[str, Any], *before: dict[str, Any]) -> str:
    agent = scene.make_agent()
    for former in before:
        row = scene.waiting(cast.workspace, agent, args=former, tool="pay")
        verdict = {"proposal_hash": row.proposal_hash, "verdict": "approve", "confirmed": "approve"}
        answer = cast.client("manager").post(f"/approvals/{row.id}/decide/", verdict)
        assert answer.status_code == 303
    row = scene.waiting(cast.workspace, agent, args=args, tool="pay")
    html: str = cast.client("manager").get(f"/approvals/{row.id}/").content.decode()
    return html


def check(html: str) -> None:
    assert len(html.encode()) <= BYTES_MAX
    assert len(re.findall(r"<[a-z]", html)) <= ELEMENTS_MAX
    assert all(html.count(f"RE-{n:05}<") == 1 for n in range(100)), "each line once"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hundred_lines_are_a_light_page(cast: Cast, shape: str) -> None:
    check(page(cast, SHAPES[shape]))


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["alike", "deeper", "by key"])
def test_so_they_are_beside_the_same_and_beside_other_ones(cast: Cast, shape: str) -> None:
    html = page(cast, SHAPES[shape], SHAPES[shape])
    check(html)
    assert "no change" in html
    html = page(cast, SHAPES[shape], {"other": 1})
    check(html)
