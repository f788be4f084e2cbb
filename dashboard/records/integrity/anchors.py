"""Anchors: the ends of all logs in one signed file, to be kept where no database reaches.

A chain proves that nothing inside it was altered. That its end was cut off, that a whole thread is
gone, or that an old dump was put back, shows only against what was noted elsewhere before.

The file is JSON Lines: a first line that says what it is, one line per thread and workspace
(its chain, the number and hash of its last event), and a last line with the number of lines
between and an HMAC-SHA256 over every byte before it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from checkpoints import queries
from checkpoints.views import HeadRow
from dashboard.configuration.secret_key import kept_key
from dashboard.errors import Invalid

from . import sealed_lines

FORM = "gatepost-anchor-1"
OWNERS = ("workspace", "thread")
KEY_HINT = "GATEPOST_ANCHOR_KEY must be the one it was written with"


@dataclass(frozen=True, slots=True)
class Anchored:
    """The written anchor: its path, the number of logs, and the signature."""

    path: Path
    n_threads: int
    n_workspaces: int
    signature: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """A log that does not continue what the anchor noted; `seq` is where."""

    of: str
    ident: UUID
    seq: int
    what: str


def write(path: Path) -> Anchored:
    """Write an anchor of everything; the file appears whole or not at all."""
    counts = dict.fromkeys(OWNERS, 0)

    def lines() -> Iterator[dict[str, Any]]:
        for of in OWNERS:
            for head in queries.heads(of):
                yield _as_json(head)
                counts[of] += 1

    begin = {"form": FORM, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    signature = sealed_lines.write(path, anchor_key(), begin, lines())
    return Anchored(path, counts["thread"], counts["workspace"], signature)


def deviations(path: Path) -> Iterator[Deviation]:
    """List records that do not continue the anchor; Invalid if the file is not ours or altered."""
    check_signature(path)
    for line in sealed_lines.between(path):
        if (deviation := deviation_of(line)) is not None:
            yield deviation


def deviation_of(head: Mapping[str, Any]) -> Deviation | None:
    """Describe how a log differs from a head noted elsewhere; None where it continues it."""
    of = head["of"]
    noted = HeadRow(of, UUID(head["id"]), UUID(head["chain"]), head["seq"], head["hash"])
    what = _deviates(noted, queries.head(of, noted.ident, noted.seq))
    return Deviation(of, noted.ident, noted.seq, what) if what else None


def _deviates(noted: HeadRow, head: HeadRow | None) -> str:
    if head is None:
        return f"The whole {noted.of} is gone."
    if head.chain != noted.chain:
        return f"Another {noted.of} stands in its place."
    if not head.hash:
        return f"Its log ends before event {noted.seq}, which stood there when it was anchored."
    if head.hash != noted.hash:
        return f"Event {noted.seq} is not the one that was anchored."
    return ""


def check_signature(path: Path) -> str:
    """Return the anchor's time; raises Invalid unless it is whole and signed with our key."""
    begin = sealed_lines.check(
        path, anchor_key(), form=FORM, option="--anchor", what="an anchor", hint=KEY_HINT
    )
    return str(begin["at"])


def newest_of(threads: Container[UUID]) -> Iterator[dict[str, Any]]:
    """Read what the newest sound anchor in the data folder notes of these threads."""
    for path in sorted((Path(settings.GATEPOST_DATA) / "anchors").glob("*.anchor"), reverse=True):
        try:
            at = check_signature(path)
        except Invalid:
            continue  # `verify --anchor` says what is wrong with it
        for noted in sealed_lines.between(path):
            if noted["of"] == "thread" and UUID(noted["id"]) in threads:
                yield {
                    "file": path.name,
                    "anchored_at": at,
                    "thread": noted["id"],
                    "chain": noted["chain"],
                    "seq": noted["seq"],
                    "hash": noted["hash"],
                }
        return


def default_path() -> Path:
    """A new name in the data folder's `anchors`."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    return Path(settings.GATEPOST_DATA) / "anchors" / f"{now}.anchor"


def anchor_key() -> bytes:
    """The key that signs anchors: GATEPOST_ANCHOR_KEY, or one of the data folder."""
    key = settings.GATEPOST_ANCHOR_KEY or kept_key(Path(settings.GATEPOST_DATA), "anchor-key")
    return str(key).encode()


def _as_json(head: HeadRow) -> dict[str, Any]:
    return {
        "of": head.of,
        "id": str(head.ident),
        "chain": str(head.chain),
        "seq": head.seq,
        "hash": head.hash,
    }
