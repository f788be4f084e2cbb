"""`./manage.py verify [THREAD ...]`: whether anything in the record was altered."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel

from approvals.verification.proof import (
    installation,
    left_behind,
    verify,
    workspace_report,
)
from approvals.verification.reports import keep_report
from checkpoints import queries, store
from checkpoints.chain import CHECKS, ChainReport
from checkpoints.errors import ContentAway, NotFound
from dashboard.kit.terminal.arguments import thread_named
from dashboard.kit.terminal.console import REFUSED, PersonalCommand, add_common_arguments
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.records.integrity import anchors, column_cover, outside_anchors
from dashboard.records.integrity.outside_anchors import Compared

PROGRESS_SECONDS = 2.0


class Finding(BaseModel):
    """A check that failed: for a thread, workspace, approval or agent version, where, and why."""

    of: str
    id: UUID
    seq: int | None
    what: str


class Verified(BaseModel):
    """The scope and result of a verification; `anchor` is the time of the one compared with.

    `since` is when the record of policies, tokens and other settings began, where a workspace is
    older: nothing proves them before that. `unverified` are threads whose contents or files a
    storage did not return: their state is unknown. `erased` are intact but for their content: by
    whom, and who approved it.
    """

    intact: bool
    threads: int
    workspaces: int
    events: int
    seconds: float
    anchor: str | None
    since: dict[UUID, datetime]
    broken: list[Finding]
    erased: list[Finding]
    unverified: list[Finding]


class Command(PersonalCommand):
    """Exit code 1 as soon as anything is found, or could not be verified."""

    help = (
        "Verifies threads: every event, checkpoint, activity, approval and decision, and the bytes "
        "of their files. Without a thread, everything, the logs of workspaces included, "
        "and what is left of threads that are gone. Leaves with 1 when anything is broken, or "
        "could not be verified since a storage does not answer."
    )
    examples = """
        verify
        verify 01a2f0c3
        verify --anchor /safe/place/20261122.anchor
        verify --anchors /mnt/audit/gatepost.jsonl
        verify --json --no-files
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare what to verify, and against what."""
        parser.add_argument("thread", nargs="*", metavar="THREAD", help="id, or how it begins")
        parser.add_argument(
            "--anchor",
            type=Path,
            metavar="FILE",
            help="also find what was cut off or lost since `anchor` wrote this file",
        )
        parser.add_argument(
            "--anchors",
            type=Path,
            metavar="FILE",
            help="also compare with a copy of the anchors that went out (JSON Lines)",
        )
        parser.add_argument(
            "--no-files", action="store_true", help="do not read the bytes of files again"
        )
        parser.add_argument(
            "--columns",
            action="store_true",
            help="print what is proved of each column of each table, as Markdown",
        )
        add_common_arguments(parser)

    def act(self) -> None:
        """Verify, report, and leave with 1 if anything was found."""
        if self.options["columns"]:
            self.stdout.write(column_cover.page(), ending="")
            return
        began = time.monotonic()
        self._printed_at, self._threads, self._workspaces, self._events = began, 0, 0, 0
        self._unverified: list[Finding] = []
        self._erased: list[Finding] = []
        self._since: dict[UUID, datetime] = {}
        self._anchored = self.options["anchor"] is not None or self.options["anchors"] is not None
        self._deviations: dict[tuple[str, UUID], anchors.Deviation] = {}
        self._of_workspace: dict[UUID, int] = {}
        anchored_at = None
        path: Path | None = self.options["anchor"]
        if path is not None:
            anchored_at = anchors.check_signature(path)
            self._deviations = {(d.of, d.ident): d for d in anchors.deviations(path)}
        if (copy := self.options["anchors"]) is not None:
            seen = Compared()
            for one in outside_anchors.compare(copy, seen):
                self._deviations.setdefault((one.of, one.ident), one)
            anchored_at = seen.last_at.isoformat() if seen.last_at else anchored_at
            self.say(f"{seen.anchors:,} anchors compared, {seen.stamped:,} time stamps hold.")
        results = [_finding(report, of) for of, report in self._reports() if not report.intact]
        verified = Verified(
            intact=not (results or self._unverified),
            threads=self._threads,
            workspaces=self._workspaces,
            events=self._events,
            seconds=round(time.monotonic() - began, 3),
            anchor=anchored_at,
            since=self._since,
            broken=results,
            erased=self._erased,
            unverified=self._unverified,
        )
        self.show(verified, *_tables(verified))
        if not verified.intact:
            raise SystemExit(REFUSED)

    def _reports(self) -> Iterator[tuple[str, ChainReport]]:
        named: list[str] = self.options["thread"]
        if named:
            reader = self.actor("read")
            idents: Iterator[UUID] = (thread_named(reader, name) for name in named)
        else:
            idents = (head.ident for head in queries.heads("thread"))
        for ident in idents:
            try:
                report = verify(ident, files=not self.options["no_files"], seen=self._progress)
            except ContentAway as error:
                self._threads += 1
                self._unverified.append(Finding(of="thread", id=ident, seq=None, what=str(error)))
                continue
            except NotFound as error:
                report = ChainReport(ident, False, 0, None, str(error))
            self._threads += 1
            yield "thread", self._save_report(report, "thread")
        of_installation = [] if named else installation()
        unrecorded = {report.ident: report for of, report in of_installation if of == "workspace"}
        for head in () if named else queries.heads("workspace"):
            self._workspaces += 1
            report = workspace_report(head.ident, unrecorded)
            if report.since is not None:
                self._since[head.ident] = report.since
            yield "workspace", self._save_report(report, "workspace")
        if not named:
            for of, report in of_installation:
                # The first of its workspace is reported above.
                if report is not unrecorded.get(report.ident):
                    yield of, report
            for of, report, workspace in left_behind():
                yield of, self._save_report(report, of, workspace)
        for (of, _), result in list(self._deviations.items()):
            report = ChainReport(result.ident, False, 0, result.seq, result.what, checks=CHECKS)
            yield of, self._save_report(report, of)
        if not named:
            for workspace, n_events in self._of_workspace.items():
                store.note_complete(workspace, n_events)

    def _save_report(
        self, report: ChainReport, of: str, workspace: UUID | None = None
    ) -> ChainReport:
        """Store what was found, together with what the anchor says of it; the whole report."""
        self._events += report.n_events
        if report.erased and report.intact:
            self._erased.append(Finding(of=of, id=report.ident, seq=None, what=report.erased))
        if self._anchored:
            deviation = self._deviations.pop((of, report.ident), None)
            report = replace(report, checks=(*report.checks, CHECKS[-1]))
            if deviation is not None and report.intact:
                what, seq = deviation.what, deviation.seq
                report = replace(report, intact=False, first_broken_seq=seq, what=what)
        if of in ("thread", "workspace"):
            with suppress(NotFound):  # of what is gone with all its rows nobody knows where it lay
                noted = keep_report(report, actor="command", of=of, workspace=workspace)
                if noted.workspace is not None:
                    total = self._of_workspace.get(noted.workspace, 0) + report.n_events
                    self._of_workspace[noted.workspace] = total
        return report

    def _progress(self, in_thread: int) -> None:
        now = time.monotonic()
        if now - self._printed_at >= PROGRESS_SECONDS:
            self._printed_at = now
            self.say(f"{self._threads:,} threads, {self._events + in_thread:,} events ...")


def _finding(report: ChainReport, of: str) -> Finding:
    return Finding(of=of, id=report.ident, seq=report.first_broken_seq, what=report.what)


def _tables(verified: Verified) -> Iterator[Table]:
    broken, unverified = len(verified.broken), len(verified.unverified)
    messages = [f"{broken} broken"] if broken else []
    messages += [f"{unverified} not verified"] if unverified else []
    rows = [
        ("result", ", ".join(messages) or "intact"),
        ("threads", f"{verified.threads:,}"),
        ("workspaces", f"{verified.workspaces:,}"),
        ("events", f"{verified.events:,}"),
        ("seconds", f"{verified.seconds:,.1f}"),
    ]
    if verified.anchor:
        rows.append(("anchor of", verified.anchor))
    yield facts("", rows)
    if verified.since:
        began = ((ident, f"{at:%Y-%m-%d %H:%M}") for ident, at in verified.since.items())
        yield table("Settings are proved since", ("workspace", "since (UTC)"), began)
    if verified.erased:
        erased = ((f.id, f.what) for f in verified.erased)
        yield table("Erased: intact but for their content", ("id", "by whom"), erased)
    if verified.broken:
        rows_of = ((f.of, f.id, f.seq, f.what) for f in verified.broken)
        yield table("Broken", ("of", "id", "event", "what"), rows_of)
    if verified.unverified:
        left = ((f.of, f.id, f.what) for f in verified.unverified)
        yield table("Not verified: try again later", ("of", "id", "why"), left)
