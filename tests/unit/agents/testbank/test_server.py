"""The test bank: once per key, over restarts, and what it wrote is what it did."""

from __future__ import annotations

import hashlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from .bank import ROOT, Bank, started_bank


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    with started_bank(tmp_path, opening="100.00") as started:
        yield started


def wish(*amounts: str, **more: Any) -> dict[str, Any]:
    """A request to reserve for payments of these amounts."""
    total = sum(int(amount.replace(".", "")) for amount in amounts)
    return {
        "total": f"{total // 100}.{total % 100:02}",
        "currency": "EUR",
        "reference": "a test",
        "payments": [
            {"invoice": f"I-{n}", "supplier": "S-1", "account": "DE1", "amount": amount}
            for n, amount in enumerate(amounts)
        ],
        **more,
    }


def balance(bank: Bank) -> tuple[str, str, str]:
    result = bank.get("balance")
    return result["available"], result["reserved"], result["paid"]


def test_a_payment_and_its_way_back(bank: Bank) -> None:
    status, reserved, _ = bank.post("reserve", wish("10.00", "5.50"), "k1")
    assert (status, reserved["total"], reserved["count"]) == (200, "15.50", 2)
    assert balance(bank) == ("84.50", "15.50", "0.00")
    status, paid, _ = bank.post("pay", {"reservation": reserved["reservation"]}, "k2")
    assert (status, [p["amount"] for p in paid["payments"]]) == (200, ["10.00", "5.50"])
    assert balance(bank) == ("84.50", "0.00", "15.50")
    payload = bank.get("payments")["payments"]
    assert [{**p, "paid_at": "", "reference": ""} for p in payload] == [
        {**p, "paid_at": "", "reference": "", "reservation": reserved["reservation"]}
        for p in paid["payments"]
    ]
    assert bank.get("payments?supplier=S-2") == {"payments": []}

    status, refused, _ = bank.post("release", {"of": "k1"}, "k3")
    assert (status, refused["detail"].count("refund it first")) == (409, 1)
    assert bank.post("refund", {"of": "k2"}, "k4")[1]["refunded"] == "15.50"
    assert balance(bank) == ("84.50", "15.50", "0.00")
    assert bank.post("release", {"of": "k1"}, "k3")[0] == 200, "a refusal is not kept"
    assert balance(bank) == ("100.00", "0.00", "0.00")
    assert bank.get("payments") == {"payments": []}
    assert bank.done() == ["reserve", "pay", "refund", "release"]


def test_a_key_is_carried_out_once_and_means_one_request(bank: Bank) -> None:
    first = bank.post("reserve", wish("10.00"), "k1")
    again = bank.post("reserve", wish("10.00"), "k1")
    assert first[1] == again[1]
    assert ("Idempotency-Replayed" in first[2], again[2]["Idempotency-Replayed"]) == (False, "true")
    status, refused, _ = bank.post("reserve", wish("10.01"), "k1")
    assert (status, refused["detail"].count("another request")) == (422, 1)
    assert bank.post("refund", wish("10.00"), "k1")[0] == 422
    assert balance(bank) == ("90.00", "10.00", "0.00")
    assert [line["outcome"] for line in bank.lines()] == [
        "opened", "done", "replayed", "mismatch", "mismatch",
    ]  # fmt: skip
    body = json.dumps(["reserve", wish("10.00")], sort_keys=True, separators=(",", ":"))
    assert bank.lines("done")[0]["body_sha256"] == hashlib.sha256(body.encode()).hexdigest()


def test_many_callers_with_one_key_make_one_payment(bank: Bank) -> None:
    ident = bank.post("reserve", wish("10.00"), "k1")[1]["reservation"]
    with ThreadPoolExecutor(8) as pool:
        payload = list(
            pool.map(lambda _: bank.post("pay", {"reservation": ident}, "k2"), range(24))
        )
    assert {status for status, *_ in payload} == {200}
    assert len({answer["payments"][0]["payment"] for _, answer, _ in payload}) == 1
    outcomes = [line["outcome"] for line in bank.lines(op="pay")]
    assert sorted(outcomes) == ["done"] + ["replayed"] * 23


def test_what_was_answered_survives_a_kill_and_half_a_line_does_not(bank: Bank) -> None:
    ident = bank.post("reserve", wish("10.00"), "k1")[1]["reservation"]
    paid = bank.post("pay", {"reservation": ident}, "k2")[1]
    bank.kill()
    with bank.ledger.open("a") as file:
        file.write('{"n":9,"op":"pay","key":"half a li')
    bank.opening = "5.00"  # what a ledger was opened with stays
    bank.start()
    assert balance(bank) == ("90.00", "0.00", "10.00")
    status, again, headers = bank.post("pay", {"reservation": ident}, "k2")
    assert (status, again, headers["Idempotency-Replayed"]) == (200, paid, "true")
    assert [line["n"] for line in bank.lines()] == [1, 2, 3, 4]


def test_two_banks_do_not_share_a_ledger(bank: Bank) -> None:
    second = subprocess.run(
        [sys.executable, "-S", "-m", "gatepost_agents.testbank", "--ledger", str(bank.ledger)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (second.returncode, second.stdout) == (1, "")
    assert "Another bank works on" in second.stderr


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_fault_refuses_so_many_calls_and_does_nothing(bank: Bank, status: str) -> None:
    bank.fault(status, times=2, op="reserve", retry_after=7)
    for _ in range(2):
        payload, _, headers = bank.post("reserve", wish("10.00"), "k1")
        assert (payload, headers["Retry-After"]) == (int(status), "7")
    assert balance(bank) == ("100.00", "0.00", "0.00")
    assert bank.post("reserve", wish("10.00"), "k1")[0] == 200
    assert [line["outcome"] for line in bank.lines(op="reserve")] == [status, status, "done"]


def test_a_lost_answer_was_carried_out_and_a_time_out_was_not(bank: Bank) -> None:
    bank.fault("timeout", op="reserve", seconds=0.1)
    bank.fault("lost", op="reserve")
    for _ in range(2):
        with pytest.raises(http.client.RemoteDisconnected):
            bank.post("reserve", wish("10.00"), "k1")
    assert [line.get("lost", False) for line in bank.lines(op="reserve")] == [False, True]
    assert bank.post("reserve", wish("10.00"), "k1")[2]["Idempotency-Replayed"] == "true"
    assert balance(bank) == ("90.00", "10.00", "0.00")


def test_what_never_came_can_be_taken_back_and_does_not_come_later(bank: Bank) -> None:
    """Whoever heard no answer takes back by the key, whatever had become of it."""
    for op, undo in (("reserve", "release"), ("pay", "refund")):
        assert bank.post(undo, {"of": f"{op}-late"}, f"undo-{op}")[1]["count"] == 0
        body = wish("10.00") if op == "reserve" else {"reservation": "R-none"}
        status, refused, _ = bank.post(op, body, f"{op}-late")
        assert (status, refused["detail"].count("undone")) == (409, 1)
    bank.kill()
    bank.start()
    assert bank.post("reserve", wish("10.00"), "reserve-late")[0] == 409
    assert balance(bank) == ("100.00", "0.00", "0.00")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (wish("10.00", total="10.01"), 400, "add up to 10.00"),
        (wish("10.00", total=10.0), 400, "is a text such as"),
        (wish("10.00", currency="USD"), 400, "EUR only"),
        (wish("100.01"), 409, "more than the 100.00"),
        (wish("0.00"), 400, "nothing"),
        (
            wish("10.00") | {"payments": [{**wish("1.00")["payments"][0], "amount": "1e1"}]},
            400,
            "is a text such as",
        ),
        (wish(), 400, "no payments"),
        ({"total": "1.00", "currency": "EUR", "payments": [{}]}, 400, "needs account"),
        ([], 400, "JSON object"),
        (b"{", 400, "JSON object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_bank_refuses_changes_nothing(
    bank: Bank, body: Any, status: int, text: str
) -> None:
    payload, answer, _ = bank.post("reserve", body, "k1")
    assert (payload, text in answer["detail"]) == (status, True), answer
    assert balance(bank) == ("100.00", "0.00", "0.00")
    assert bank.done() == []


def test_a_call_without_a_key_or_a_place_is_refused(bank: Bank) -> None:
    assert bank.post("reserve", wish("1.00"))[0] == 400
    assert bank.post("transfer", {}, "k")[0] == 404
    assert bank.post("pay", {"reservation": "R-1"}, "k")[0] == 404
    assert bank.post("release", {}, "k")[0] == 400
    assert bank.post("faults", {"kind": "fire"})[0] == 400
