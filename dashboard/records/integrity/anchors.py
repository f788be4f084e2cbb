"""Anchors: the ends of all logs in one signed file, to be kept where no database reaches.

A chain proves that nothing inside it was altered. That its end was cut off, that a whole thread is
gone, or that an old dump was put back, shows only against what was noted elsewhere before.

The file is JSON Lines: a first line that says what it is, one line per thread and workspace
(its chain, the number and hash of its last event), and a last line with the number of lines
between and an HMAC-SHA256 over every byte before it.
"""

from __future__ import annotations

import hmac
import json
import os
import tempfile
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.conf import settings

from checkpoints import queries
from checkpoints.views import HeadRow
from dashboard.configuration.secret_key import kept_key
from dashboard.errors import Invalid

FORM = "gatepost-anchor-1"
OWNERS = ("workspace", "thread")
LINE_MAX = 1_000


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
    path.parent.mkdir(parents=True, exist_ok=True)
    counts = dict.fromkeys(OWNERS, 0)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            seal = hmac.new(anchor_key(), digestmod=sha256)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            _line(file, seal, {"form": FORM, "at": at})
            for of in OWNERS:
                for head in queries.heads(of):
                    _line(file, seal, _as_json(head))
                    counts[of] += 1
            signature = seal.hexdigest()
            last = {"lines": sum(counts.values()), "signature": signature}
            file.write(json.dumps(last).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    return Anchored(path, counts["thread"], counts["workspace"], signature)


def deviations(path: Path) -> Iterator[Deviation]:
    """List records that do not continue the anchor; Invalid if the file is not ours or altered."""
    check_signature(path)
    with path.open("rb") as file:
        for line in _between(file):
            if (deviation := deviation_of(json.loads(line))) is not None:
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
    try:
        with path.open("rb") as file:
            seal = hmac.new(anchor_key(), digestmod=sha256)
            first = file.readline(LINE_MAX)
            seal.update(first)
            begin = _json(first)
            if begin.get("form") != FORM:
                raise Invalid("--anchor", f"{path} is not an anchor of Gatepost")
            n, line = 0, file.readline(LINE_MAX)
            while line and b'"signature"' not in line:
                seal.update(line)
                n, line = n + 1, file.readline(LINE_MAX)
            end = _json(line)
            signed = hmac.compare_digest(str(end.get("signature", "")), seal.hexdigest())
            if not signed or end.get("lines") != n or file.read(1):
                raise Invalid(
                    "--anchor",
                    f"{path} was altered, cut off, or signed with another key; "
                    "GATEPOST_ANCHOR_KEY must be the one it was written with",
                )
    except OSError as error:
        raise Invalid("--anchor", f"{path} cannot be read: {error.strerror}") from error
    return str(begin["at"])


def newest_of(threads: Container[UUID]) -> Iterator[dict[str, Any]]:
    """Read what the newest sound anchor in the data folder notes of these threads."""
    for path in sorted((Path(settings.GATEPOST_DATA) / "anchors").glob("*.anchor"), reverse=True):
        try:
            at = check_signature(path)
        except Invalid:
            continue  # `verify --anchor` says what is wrong with it
        with path.open("rb") as file:
            for line in _between(file):
                noted = json.loads(line)
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


def _line(file: IO[bytes], seal: hmac.HMAC, content: dict[str, Any]) -> None:
    raw = json.dumps(content).encode() + b"\n"
    seal.update(raw)
    file.write(raw)


def _between(file: IO[bytes]) -> Iterator[bytes]:
    file.readline(LINE_MAX)
    for line in file:
        if b'"signature"' in line:
            return
        yield line


def _json(line: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(line)
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) else {}
