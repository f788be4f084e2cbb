"""`./manage.py doctor`: what is installed, reachable, unsafe, behind; or why a thread stands."""

from __future__ import annotations

import argparse
from datetime import datetime

from pydantic import BaseModel

from dashboard.kit.terminal.arguments import thread_named
from dashboard.kit.terminal.console import REFUSED, PersonalCommand, Usage, add_common_arguments
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.operate.doctor.checks import PARTS, examine
from dashboard.operate.doctor.findings import LEVELS, Finding, Seen
from dashboard.operate.doctor.standstill import Standstill, standstill
from dashboard.wording.text import plain, span


class Report(BaseModel):
    """All findings, how many of each level, and whether nothing is wrong."""

    ok: bool
    counts: dict[str, int]
    findings: list[Finding]


class Command(PersonalCommand):
    """Read only; report each thing with its measured value and, where needed, what to do."""

    help = (
        "Says what is installed, reachable, unsafe and behind; with a thread, why it is stuck "
        "and what can be done."
    )
    examples = """
        doctor
        doctor --strict --json
        doctor --deploy
        doctor --deploy --accept "Valkey connection"
        doctor demo-flights
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """A thread, or how strict."""
        parser.add_argument("thread", nargs="?", help="id, how it begins, or name")
        parser.add_argument(
            "--strict", action="store_true", help="exit 1 for warnings too, not only for wrong"
        )
        parser.add_argument(
            "--deploy",
            action="store_true",
            help="judge only what is unsafe where others reach it; exit 1 for each such thing",
        )
        parser.add_argument(
            "--accept",
            action="append",
            default=[],
            metavar="NAME",
            help="with --deploy: live with the warnings of this name, and show that",
        )
        parser.add_argument(
            "--url", default="", help="a page to ask (else where `up` of this data folder listens)"
        )
        add_common_arguments(parser)

    def act(self) -> None:
        """The installation, or one thread."""
        if self.options["thread"]:
            actor = self.actor("read")
            result = standstill(actor, thread_named(actor, self.options["thread"]))
            steps = table(
                "", ("what", "command"), ((r.sentence, r.command) for r in result.remedies)
            )
            if self.as_json or not self.stdout.isatty():
                self.show(result, _thread_table(result), steps)
                return
            self.show(result, _thread_table(result))
            # Commands are copied from here: nothing may fold them.
            for sentence, command in steps.rows:
                self.stdout.write(f"\n{sentence}\n    {command}")
            return
        deploy, accepted = self.options["deploy"], frozenset(self.options["accept"])
        if accepted and not deploy:
            raise Usage("--accept", "goes with --deploy")
        findings = examine(Seen(url=self.options["url"].rstrip("/"), deploy=deploy))
        for name in sorted(accepted - {f.name for f in findings}):
            self.say(f"--accept {name!r}: nothing of that name was looked at or is amiss.")
        findings = [_accept(f) if f.name in accepted else f for f in findings]
        counts: dict[str, int] = {
            level: sum(f.level == level for f in findings) for level in LEVELS
        }
        strict = self.options["strict"] or deploy
        bad = counts["wrong"] + (counts["warning"] if strict else 0)
        tables = _part_tables(findings) if self.stdout.isatty() else (_all_in_one(findings),)
        self.show(Report(ok=not bad, counts=counts, findings=findings), *tables)
        self.say(", ".join(f"{n} {level}" for level, n in counts.items()))
        if bad:
            raise SystemExit(REFUSED)


def _accept(finding: Finding) -> Finding:
    """A warning that somebody lives with; what is wrong stays wrong."""
    if finding.level != "warning":
        return finding
    return finding.model_copy(update={"level": "note", "value": f"{finding.value} (accepted)"})


def _part_tables(findings: list[Finding]) -> tuple[Table, ...]:
    """One table per part, what to do under what was found."""
    return tuple(
        table(
            part.capitalize(),
            ("level", "what", "found"),
            (
                (f.level, f.name, f"{plain(f.value)}\n→ {f.do}" if f.do else f.value)
                for f in findings
                if f.part == part
            ),
            headed=False,
        )
        for part in PARTS
    )


def _all_in_one(findings: list[Finding]) -> Table:
    rows = ((f.part, f.level, f.name, f.value, f.do) for f in findings)
    return table("", ("part", "level", "what", "found", "do"), rows)


def _thread_table(standstill: Standstill) -> Table:
    f, why = standstill.facts, standstill.why_waiting
    lease = "nobody"
    if f.lease_owner:
        state = "ran out" if f.lease_expired else "until"
        lease = f"{f.lease_owner}, {state} {f.lease_until:%H:%M:%S} UTC, fence {f.fence}"
    workers = (
        f"{f.workers} alive, {f.workers_with_code} with this code, {f.workers_of_queue} serve the "
        f"queue {f.queue}, {f.workers_with_both} both"
    )
    event = f.last_event
    pairs: list[tuple[str, object]] = [
        ("thread", standstill.thread),
        ("title", standstill.title),
        ("status", standstill.status),
        ("why", f"{why.sentence} {why.action}".strip()),
        ("for", span(f.waits_seconds)),
        ("agent", f"{f.agent} {f.version} (code {f.fingerprint[:12]})"),
        ("next", ", ".join(f.next_nodes) or "-"),
        ("lease", lease),
        ("workers", workers),
        *(
            [("before it", f"{f.before_in_queue} of its workspace, {f.turns_of_others} of others")]
            if f.before_in_queue is not None
            else []
        ),
        *([("crashes", f.crash_count)] if f.crash_count else []),
        *([("wish", f.wish)] if f.wish else []),
        *([("pauses at", f.pause_at)] if f.pause_at else []),
        *([("wakes at", f.wake_at)] if f.wake_at else []),
        *(("request", f"{a.id} {a.headline} ({_until(a.decide_by)})") for a in f.approvals),
        ("last event", f"{event.seq} {event.kind} at {event.at:%H:%M:%S}" if event else "none"),
    ]
    return facts("", pairs)


def _until(at: datetime | None) -> str:
    return f"until {at:%Y-%m-%d %H:%M:%S} UTC" if at else "no deadline"
