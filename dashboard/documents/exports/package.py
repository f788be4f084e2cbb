"""An export: the answers to a question with the chains of their threads, as one zip file.

It is collected in a temporary file and then sent, like a capsule: memory holds the numbers of the
rows of one part, never their content. docs/proof.md is its specification.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import batched
from typing import Any, Final
from uuid import UUID

from approvals.records import Question, RecordRow, oldest_first, recorded_requests
from checkpoints.capsules import layout
from checkpoints.queries.records import chains
from checkpoints.queries.records.chains import LinkRow, LogRow
from dashboard.operating import anchors

from .rows import FORMS, microseconds, timestamp

FORMAT: Final = "gatepost-export-1"
FACTS, REQUESTS, CHAIN, ANCHORS = "export.json", "requests.jsonl", "chain.jsonl", "anchors.jsonl"
ROWS_DEFAULT: Final = 100_000
ROWS_MAX: Final = 1_000_000
AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Export:
    """A part about to be sent; `next_cursor` leads to the part behind it, "" of the last one."""

    name: str
    manifest_sha: str
    rows: int
    logs: int
    requests: int
    next_cursor: str
    writer: layout.Writer

    def chunks(self) -> Iterator[bytes]:
        """Its bytes; memory holds one chunk."""
        return self.writer.chunks()

    def close(self) -> None:
        """Forget what was not sent."""
        self.writer.close()


def export_of(
    question: Question,
    filters: Mapping[str, str],
    *,
    form: str,
    by: str,
    cursor: str = "",
    limit: int = ROWS_DEFAULT,
) -> Export:
    """The first `limit` answers behind a cursor, oldest first, in one of FORMS."""
    writer = layout.Writer()
    try:
        collected = _Collected(question, cursor, limit)
        name, written = FORMS[form]
        writer.add(name, written(collected.rows()))
        writer.add_lines(REQUESTS, collected.requests())
        writer.add_lines(CHAIN, collected.chains())
        writer.add_lines(ANCHORS, collected.anchors())
        at = datetime.now(UTC)
        facts = {
            "format": FORMAT,
            "form": form,
            "workspace": str(question.workspace),
            "exported_at": timestamp(at),
            "exported_by": by,
            "filters": dict(filters),
            "after": cursor,
            "next": collected.next_cursor,
            "counts": collected.counts,
        }
        writer.add_json(FACTS, facts)
    except BaseException:
        writer.close()
        raise
    return Export(
        name=f"gatepost-{form}-{at:%Y%m%d-%H%M%S-%f}.zip",
        manifest_sha=layout.sha_of(writer.manifest),
        rows=collected.counts["rows"],
        logs=collected.counts["logs"],
        requests=collected.counts["requests"],
        next_cursor=collected.next_cursor,
        writer=writer,
    )


class _Collected:
    """The threads and requests that the rows of one part lead to."""

    def __init__(self, question: Question, cursor: str, limit: int) -> None:
        self._question = question
        self._cursor = cursor
        self._limit = limit
        self._seqs: dict[UUID, array[int]] = {}
        self._requests: set[UUID] = set()
        self.next_cursor = ""
        self.counts = dict.fromkeys(("rows", "requests", "logs", "links", "anchors"), 0)

    def rows(self) -> Iterator[RecordRow]:
        """The rows of the part; notes what they lead to."""
        last = ""
        for row, position in oldest_first(self._question, cursor=self._cursor):
            if self.counts["rows"] == self._limit:
                self.next_cursor = last
                return
            self.counts["rows"] += 1
            last = position
            self._seqs.setdefault(row.thread, array("q")).append(row.seq)
            if row.approval is not None:
                self._requests.add(row.approval)
            yield row

    def requests(self) -> Iterator[dict[str, Any]]:
        """The requests that the rows are about, with their verdicts."""
        for some in batched(sorted(self._requests), AT_ONCE):
            for one in recorded_requests(some, workspace=self._question.workspace):
                self.counts["requests"] += 1
                yield one

    def chains(self) -> Iterator[dict[str, Any]]:
        """For each thread its log's end, then all links up to there."""
        for some in batched(sorted(self._seqs), AT_ONCE):
            logs = chains.logs_of(some, workspace=self._question.workspace)
            for log, links in chains.links_of(logs):
                in_rows = set(self._seqs[log.thread])
                self.counts["logs"] += 1
                yield _log_line(log, rows=len(in_rows))
                for link in links:
                    self.counts["links"] += 1
                    yield _link_line(link, is_row=link.seq in in_rows)

    def anchors(self) -> Iterator[dict[str, Any]]:
        """Lines of the newest anchor of this installation about these threads."""
        for one in anchors.newest_of(self._seqs):
            self.counts["anchors"] += 1
            yield one


def _log_line(log: LogRow, *, rows: int) -> dict[str, Any]:
    return {
        "type": "log",
        "thread": str(log.thread),
        "chain": str(log.chain),
        "agent": log.agent,
        "title": log.title,
        "last_seq": log.last_seq,
        "last_hash": log.last_hash.hex(),
        "rows": rows,
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
