"""`./manage.py record ...`: ask the record, take answers away, read the report on a decision."""

from __future__ import annotations

import argparse
import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from dashboard.approvals.report import DecisionReport
from dashboard.approvals.report_outcomes import outcomes_in_words
from dashboard.approvals.report_page import text_of
from dashboard.approvals.report_shape import Report
from dashboard.board.filters.records import RECORDS
from dashboard.board.saved_views.questions import named
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.command import verb
from dashboard.kit.filters import add_options, option_texts
from dashboard.kit.terminal.console import PersonalCommand, Usage, Verb, VerbsCommand
from dashboard.kit.terminal.new_files import write_new
from dashboard.kit.terminal.tables import facts, table
from dashboard.questions.ask import ASK_RECORD, RecordAnswer
from dashboard.records.export import export_records
from dashboard.records.exports.package import FACTS, ROWS_DEFAULT
from dashboard.records.exports.rows import FORMS
from dashboard.records.search import RecordedEvents, ask, integrity_of_answers, page_of
from dashboard.wording.text import moment


class ExportedPart(BaseModel):
    """A file of an export; `next_cursor` leads to the part behind it, "" of the last one."""

    file: str
    rows: int
    logs: int
    requests: int
    bytes: int
    manifest: str
    next_cursor: str


class ExportedRecords(BaseModel):
    """The files that were written, in order; none where the folder had them all."""

    parts: list[ExportedPart]


def search(command: PersonalCommand) -> None:
    """Events that fit every filter, newest first."""
    o, actor = command.options, command.actor("read")
    filters = option_texts(RECORDS, o)
    answers = ask(actor, filters, cursor=o["cursor"], limit=o["limit"])
    page = page_of(answers, integrity_of_answers(actor, answers))
    command.show(page, _table(page))
    checked = page.checked
    command.say(
        f"Threads verified now: {checked.now}; as of the last verification: {checked.earlier}; "
        f"never: {checked.never}; damaged: {checked.damaged}."
    )
    if page.next_cursor:
        command.say(f"More: --cursor {page.next_cursor}")


def export(command: PersonalCommand) -> None:
    """Write the events that fit, part by part; called again it continues behind the last part."""
    o, actor = command.options, command.actor("export")
    folder, filters = Path(o["to"]), named(option_texts(RECORDS, o))
    folder.mkdir(parents=True, exist_ok=True)
    n, cursor = _written(folder, filters, o["form"])
    parts: list[ExportedPart] = []
    while n == 0 or cursor:
        part = export_records(actor, filters, form=o["form"], cursor=cursor, limit=o["limit"])
        n += 1
        path = folder / _name(n)
        size, exported = write_new(part.chunks(), path), part.exported
        cursor = exported.next_cursor
        parts.append(
            ExportedPart(
                file=str(path),
                rows=exported.rows,
                logs=exported.logs,
                requests=exported.requests,
                bytes=size,
                manifest=exported.manifest_sha,
                next_cursor=cursor,
            )
        )
    rows = ((p.file, p.rows, p.logs, p.bytes, p.manifest) for p in parts)
    columns = ("file", "events", "threads", "bytes", "manifest")
    command.show(ExportedRecords(parts=parts), table("", columns, rows))
    if not parts:
        command.say(f"{folder} has all parts of this export.")


def report(command: PersonalCommand) -> None:
    """The report on a request; with --to as one file to print."""
    o, actor = command.options, command.actor("read")
    try:
        result = DecisionReport(actor.workspace, UUID(o["approval"]), by=actor.id)
    except ValueError:
        raise Missing("There is no such request in this workspace.") from None
    shown = Report.of(result)
    if o["to"] is not None:
        write_new([text_of(result).encode()], o["to"])
    votes = "; ".join(f"{v.reviewer_name}: {v.verdict}" for v in shown.votes)
    rows = [
        ("request", shown.title),
        ("status", f"{shown.status} {shown.outcome}".strip()),
        ("decisions", votes or "none"),
        ("outcome", outcomes_in_words(shown.came_of, complete=shown.came_of_all) or "nothing"),
        ("proposal hash", shown.proposal_hash),
        ("policy", shown.policy_version),
        ("events", ", ".join(f"{one.seq} {one.kind}" for one in shown.proof)),
        ("record", _record_in_words(shown)),
    ]
    command.show(shown, facts("", rows))


def answered(command: PersonalCommand, _: Actor, answer: RecordAnswer) -> None:
    """The sentences of an answer, each with its event."""
    rows = ((one.text, one.title, one.seq, moment(one.at)) for one in answer.sentences)
    command.show(answer, table("", ("answer", "thread", "event", "when"), rows))


def _record_in_words(shown: Report) -> str:
    if shown.verified_at is None:
        return "not verified yet"
    state = "intact" if shown.verified else f"damaged: {shown.damage}"
    return f"events 1 to {shown.verified_events} verified {moment(shown.verified_at)}: {state}"


def _name(n: int) -> str:
    return f"part-{n:04}.zip"


def _written(folder: Path, filters: dict[str, str], form: str) -> tuple[int, str]:
    """(how many parts the folder has, where the last one leads); Usage for another export's."""
    n = 0
    while (folder / _name(n + 1)).exists():
        n += 1
    if not n:
        return 0, ""
    path = folder / _name(n)
    try:
        with zipfile.ZipFile(path) as packed:
            last = json.loads(packed.read(FACTS))
        if (last["filters"], last["form"]) != (filters, form):
            raise Usage("--to", f"{path} is a part of another export; name another folder")
        return n, str(last["next"])
    except (OSError, zipfile.BadZipFile, ValueError, KeyError) as error:
        raise Usage("--to", f"{path} is not a part of an export") from error


def _table(page: RecordedEvents) -> Any:
    return table(
        "",
        (
            *("when", "thread", "event", "kind", "who", "decision", "amount", "payee"),
            *("outcome", "integrity"),
        ),
        (
            (
                moment(one.at),
                one.title,
                one.seq,
                one.kind,
                one.by or one.actor,
                one.decision,
                one.amount,
                one.payee,
                outcomes_in_words(one.came_of, complete=one.came_of_all),
                one.damage or one.integrity,
            )
            for one in page.results
        ),
    )


def _search_options(parser: argparse.ArgumentParser) -> None:
    add_options(parser, RECORDS)
    parser.add_argument("--cursor", default="", help="where the page before leads")
    parser.add_argument("--limit", type=int, default=50, help="events of a page")


def _export_options(parser: argparse.ArgumentParser) -> None:
    add_options(parser, RECORDS)
    parser.add_argument("--to", required=True, metavar="FOLDER", help="where the parts are put")
    parser.add_argument(
        "--form", choices=tuple(FORMS), default="jsonl", help="the form of the rows"
    )
    parser.add_argument("--limit", type=int, default=ROWS_DEFAULT, help="events of a part")


def _report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("approval", metavar="ID")
    parser.add_argument("--to", type=Path, metavar="FILE", help="as one HTML file")


class Command(VerbsCommand):
    """The record."""

    help = (
        "Asks and searches the record across threads, exports it with its proof, reports on "
        "decisions."
    )
    examples = """
        record ask "Who approved the payment?" --agent payments
        record search --q "ACME" --decision approve
        record export --to audit --since 2026-11-01 --until 2026-11-30 --form csv
        record report ID --to decision.html
    """
    verbs = (
        verb(ASK_RECORD, answered),
        Verb(
            "search",
            "finds events across threads",
            search,
            _search_options,
            'record search --q "ACME" --decision approve\n'
            "record search --actor manager --since 2026-11-01",
        ),
        Verb(
            "export",
            "writes events with the chains that prove them",
            export,
            _export_options,
            "record export --to audit --since 2026-11-01 --until 2026-11-30 --form csv",
        ),
        Verb(
            "report",
            "reports on one decision",
            report,
            _report_options,
            "record report ID --to decision.html",
        ),
    )
