"""The environment of the peers: pinned, with hashes, without addresses."""

from __future__ import annotations

import re

from benchmarks.peers.__main__ import COLUMNS, table
from benchmarks.peers.environment import LOCK


def test_the_lock_has_hashes_and_no_address() -> None:
    text = LOCK.read_text()
    assert "://" not in text
    pinned = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))
    assert len(pinned) > 20
    assert text.count("--hash=sha256:") >= len(pinned)
    wanted = LOCK.with_suffix(".in").read_text().split()
    for name, version in (line.split("==") for line in wanted):
        assert pinned[re.sub(r"\[.*\]", "", name)] == version


def test_what_a_peer_does_not_have_is_a_dash() -> None:
    row = dict.fromkeys(COLUMNS, 1234.5) | {"read_end_ms": None}
    text = table({"a": row, "longer": row}, 1_000)
    head, first, second = text.splitlines()
    assert len(head) == len(first) == len(second)
    assert "1,000 steps of 1,000 bytes" in head
    assert first.split().count("-") == 1
