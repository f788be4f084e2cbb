"""An export: the answers to a question with the chains of their threads, as one zip file.

It is read while it is sent, a statement at a time, with no transaction open in between. Memory
holds the numbers of the rows of one part, never their content. docs/proof.md is its specification.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import batched
from typing import Any, Final
from uuid import UUID

from approvals.records import Part, Question, RecordRow, recorded_requests
from approvals.verification.integrity import ThreadIntegrity, last_verified
from checkpoints.capsules.layout import MANIFEST, sha_of
from checkpoints.capsules.zip_stream import ZipStream
from checkpoints.queries.records import chains
from checkpoints.queries.records.chains import LinkRow, LogRow
from checkpoints.state import deltas
from dashboard.records.integrity import anchors

from .rows import FORMS, microseconds, timestamp

FORMAT: Final = "gatepost-export-2"
FACTS, REQUESTS, CHAIN, ANCHORS = "export.json", "requests.jsonl", "chain.jsonl", "anchors.jsonl"
ROWS_DEFAULT: Final = 100_000
ROWS_MAX: Final = 1_000_000
AT_ONCE: Final = 200
# Follows what a statement gave: that is sent, and others continue before the next one.
PAUSE: Final = b""


@dataclass(frozen=True, slots=True)
class Exported:
    """Counts of a part and the hash of its MANIFEST; the cursor of the next, "" of the last one."""

    manifest_sha: str
    rows: int
    logs: int
    requests: int
    next_cursor: str


class Export:
    """A part of an export, which is read when its chunks are.

    MANIFEST is its last member: `finished` is called with the hash of it before a byte of it is
    given out, so that a whole file is always on record. What breaks off has no end, as a zip file
    or otherwise. `exported` says what was sent once all of it was.
    """

    def __init__(
        self,
        question: Question,
        filters: Mapping[str, str],
        *,
        ident: UUID,
        form: str,
        by: str,
        finished: Callable[[Exported], None],
        cursor: str = "",
        limit: int = ROWS_DEFAULT,
    ) -> None:
        at = datetime.now(UTC)
        self._facts = {
            "format": FORMAT,
            "export": str(ident),
            "form": form,
            "workspace": str(question.workspace),
            "exported_at": timestamp(at),
            "exported_by": by,
            "filters": dict(filters),
            "after": cursor,
        }
        self._form = FORMS[form]
        self._collected = _Collected(question, Part(question, cursor=cursor, limit=limit))
        self._finished = finished
        self._chunks = self._written()
        self.name = f"gatepost-{form}-{at:%Y%m%d-%H%M%S-%f}.zip"

    def chunks(self) -> Iterator[bytes]:
        """Its bytes, once: the first of them without a look at the record. Some chunks are empty,
        and about one statement lies between two of them."""
        return self._chunks

    def close(self) -> None:
        """Read nothing more and forget what the rows led to."""
        # A thread may be at a statement still, for a reader who has gone: it is the last one.
        with suppress(ValueError):
            self._chunks.close()

    def _written(self) -> Generator[bytes]:
        packed, manifest = ZipStream(), b""
        for name, parts in self._members():
            digest = sha256()
            yield from packed.member(name, _hashed(parts, digest))
            manifest += f"{digest.hexdigest()}  {name}\n".encode()
        counts = self._collected.counts
        exported = Exported(
            manifest_sha=sha_of(manifest),
            rows=counts["rows"],
            logs=counts["logs"],
            requests=counts["requests"],
            next_cursor=self._collected.next_cursor,
        )
        self._finished(exported)
        yield from packed.member(MANIFEST, [manifest])
        yield packed.end()
        self.exported = exported

    def _members(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Name and bytes of each member but MANIFEST; each is made of what the ones before had."""
        collected = self._collected
        yield self._form.member, self._rows()
        yield REQUESTS, _lines(collected.requests())
        yield CHAIN, _lines(collected.chains())
        yield ANCHORS, _lines(collected.anchors())
        facts = {"next": collected.next_cursor, "counts": collected.counts}
        yield FACTS, _lines([self._facts | facts | {"integrity": collected.integrity}])

    def _rows(self) -> Iterator[bytes]:
        yield self._form.head
        for rows in self._collected.pages():
            yield from self._form.written(rows, self._collected.integrity_of(rows))
            yield PAUSE


class _Collected:
    """The threads and requests that the rows of one part lead to; None is a pause."""

    def __init__(self, question: Question, part: Part) -> None:
        self._workspace = question.workspace
        self._part = part
        self._checked: dict[UUID, ThreadIntegrity] = {}
        self._seqs: dict[UUID, array[int]] = {}
        self._requests: set[UUID] = set()
        self.counts = dict.fromkeys(("rows", "requests", "logs", "links", "anchors"), 0)

    @property
    def next_cursor(self) -> str:
        """The cursor of the part behind this one, once all rows are read."""
        return self._part.next_cursor

    def pages(self) -> Iterator[list[RecordRow]]:
        """The rows of the part, those of a statement at a time; notes what they lead to."""
        for rows in self._part.pages():
            self.counts["rows"] += len(rows)
            for row in rows:
                self._seqs.setdefault(row.thread, array("q")).append(row.seq)
                if row.approval is not None and row.names_approval:
                    self._requests.add(row.approval)
            yield rows

    def integrity_of(self, rows: list[RecordRow]) -> Mapping[UUID, ThreadIntegrity]:
        """{thread: its integrity} of all threads so far; those that are new here are looked up."""
        new = {row.thread for row in rows} - self._checked.keys()
        self._checked |= last_verified(new) if new else {}
        return self._checked

    @property
    def integrity(self) -> dict[str, Any]:
        """The last verifications: numbers of threads, of events, of damaged threads, of none."""
        every = self._checked.values()
        known = [one.verification for one in every if one.verification is not None]
        return {
            "checks": ["records"],
            "threads": len(every),
            "events": sum(row.n_events for row in known),
            "damaged": sum(not row.intact for row in known),
            "unchecked": sum(one.verification is None for one in every),
        }

    def requests(self) -> Iterator[dict[str, Any] | None]:
        """The requests that the rows are about, with their verdicts."""
        for some in batched(sorted(self._requests), AT_ONCE):
            results = recorded_requests(some, workspace=self._workspace)
            self.counts["requests"] += len(results)
            yield from results
            yield None

    def chains(self) -> Iterator[dict[str, Any] | None]:
        """For each thread its log's end, then all links up to there."""
        for some in batched(sorted(self._seqs), AT_ONCE):
            logs = chains.logs_of(some, workspace=self._workspace)
            for log, links in chains.links_of(logs):
                in_rows = set(self._seqs[log.thread])
                self.counts["logs"] += 1
                yield _log_line(log, self._checked[log.thread], rows=len(in_rows))
                for link in links:
                    self.counts["links"] += 1
                    yield _link_line(link, is_row=link.seq in in_rows)
            yield None

    def anchors(self) -> Iterator[dict[str, Any] | None]:
        """Lines of the newest anchor of this installation about these threads."""
        for one in anchors.newest_of(self._seqs):
            self.counts["anchors"] += 1
            yield one


def _lines(values: Iterable[Any]) -> Iterator[bytes]:
    """A line of canonical JSON for each value."""
    return (PAUSE if value is None else deltas.canonical(value) + b"\n" for value in values)


def _hashed(parts: Iterable[bytes], digest: Any) -> Iterator[bytes]:
    for part in parts:
        digest.update(part)
        yield part


def _log_line(log: LogRow, integrity: ThreadIntegrity, *, rows: int) -> dict[str, Any]:
    verification = integrity.verification
    is_damaged = verification is not None and not verification.intact
    return {
        "type": "log",
        "thread": str(log.thread),
        "chain": str(log.chain),
        "agent": log.agent,
        "title": log.title,
        "last_seq": log.last_seq,
        "last_hash": log.last_hash.hex(),
        "rows": rows,
        "verified": 0 if verification is None else verification.n_events,
        "verified_at": None if verification is None else timestamp(verification.checked_at),
        "damaged_from": (verification.broken_seq or 0) if verification and is_damaged else None,
        "damage": verification.what if verification and is_damaged else "",
    }


def _link_line(link: LinkRow, *, is_row: bool) -> dict[str, Any]:
    return {
        "type": "link",
        "seq": link.seq,
        "kind": link.kind,
        "v": link.v,
        "actor": link.actor,
        "at": microseconds(link.at),
        "data_hash": link.data_hash.hex(),
        "prev_hash": link.prev_hash.hex(),
        "hash": link.hash.hex(),
        "row": is_row,
    }
