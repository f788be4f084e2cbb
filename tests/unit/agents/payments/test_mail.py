"""The outbox: one file per mail whoever writes it how often, and nothing half written stays."""

from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.payments.mail import send
from gatepost_agents.published import outbox as module

MAILS: list[dict[str, Any]] = [
    {
        "to": f"{name}@supplier.example",
        "name": name,
        "supplier": name,
        "total": "12.50",
        "invoices": [{"invoice": "RE 1", "amount": "12.50", "account": "DE1"}],
    }
    for name in ("S-1", "S-2")
]
PAYMENT = {"reference": "R-1", "paid_at": "2026-11-22T10:00:00.000Z", "key": "k1"}


def sent(outbox: Path) -> dict[str, Any]:
    return send(outbox, MAILS, **PAYMENT)


def test_what_a_killed_attempt_left_goes_and_what_others_write_stays(tmp_path: Path) -> None:
    first = sent(tmp_path)
    half = tmp_path / f".{first['mails'][0]['file']}-00c0ffee.part"
    other = tmp_path / ".2026-11-22-S-9-0123.eml-00c0ffee.part"
    for left in (half, other):
        left.write_bytes(b"From: ")
    assert sent(tmp_path) == first
    assert not half.exists()
    assert other.exists()


def test_one_that_was_stopped_meanwhile_writes_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, went_on = module.os.fsync, []

    def meanwhile(descriptor: int) -> None:
        monkeypatch.setattr(module.os, "fsync", stopped)
        went_on.append(sent(tmp_path))  # clears away what the stopped one has begun
        stopped(descriptor)

    monkeypatch.setattr(module.os, "fsync", meanwhile)
    assert [sent(tmp_path)] == went_on
    names = sorted(mail["file"] for mail in went_on[0]["mails"])
    assert sorted(path.name for path in tmp_path.iterdir()) == names
