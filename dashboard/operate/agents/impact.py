"""`agent impact`: what the code that is installed here would do with every suspended thread."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import IO

from pydantic import BaseModel

from checkpoints import queries
from checkpoints.errors import GatepostError
from checkpoints.queries.installation.suspended import SuspendedRow
from dashboard.documents.json_text import json_of
from dashboard.errors import Conflict
from dashboard.kit.terminal.console import REFUSED, PersonalCommand
from dashboard.kit.terminal.tables import table
from workers.checking.modules import import_finding
from workers.code import registry
from workers.engine import impact as judging
from workers.engine.impact import VERDICTS, Installed, Judgement

PROGRESS_SECONDS = 2.0
BATCH = 200


class ThreadImpact(BaseModel):
    """One suspended thread: what would happen to it, why, and what to do about it."""

    thread: str
    title: str
    agent: str
    status: str
    step: int
    verdict: str
    why: str
    do: str


class Group(BaseModel):
    """Threads of one agent that share a fate and its reason."""

    threads: int
    agent: str
    verdict: str
    reason: str
    do: str


class Impact(BaseModel):
    """The head of the report; `ok` is what the exit code says: nothing stops."""

    ok: bool
    modules: list[str]
    agents: list[str]
    counts: dict[str, int]
    groups: list[Group]


def impact_options(parser: argparse.ArgumentParser) -> None:
    """Which modules, which threads are listed."""
    parser.add_argument(
        "module",
        nargs="*",
        help="look at the threads of these modules' agents only; without one at all threads",
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="VERDICTS",
        help=f"list only these, by commas: {', '.join(VERDICTS)}; all are counted",
    )


def impact(command: PersonalCommand) -> None:
    """Judge every suspended thread, count, list; exit 1 when one would stop."""
    o = command.options
    modules = [name.partition(":")[0] for name in o["module"]]
    only = {word for word in o["only"].split(",") if word} or set(VERDICTS)
    if unknown := only - set(VERDICTS):
        raise Conflict(f"--only knows {', '.join(VERDICTS)}, not {', '.join(sorted(unknown))}.")
    # What authors print is not part of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        code = _installed(modules)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
            head = _judged(command, code, modules, spool, only)
            _show(command, head, spool)
    text = ", ".join(f"{n:,} {verdict.replace('_', ' ')}" for verdict, n in head.counts.items())
    command.say(text)
    if not head.ok:
        raise SystemExit(REFUSED)


def _installed(modules: list[str]) -> dict[str, Installed]:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m workers` in this folder has it
    results: dict[str, Installed] = {}
    for name in modules or registry.agent_modules():
        try:
            results |= judging.installed([name])
        except GatepostError:
            raise
        except (Exception, SystemExit) as error:
            finding = import_finding(name, error)
            path = f" ({finding.file}:{finding.line})" if finding.line else ""
            raise Conflict(f"{finding.place}{path}: {finding.said} {finding.fix}") from error
    return results


def _judged(
    command: PersonalCommand,
    code: dict[str, Installed],
    modules: list[str],
    spool: IO[str],
    only: set[str],
) -> Impact:
    """Look at each thread once; rows go to a file, so that memory does not grow with them."""
    counts: Counter[str] = Counter()
    groups: Counter[tuple[str, str, str]] = Counter()
    advice: dict[tuple[str, str, str], str] = {}
    payload = time.monotonic()
    former = lru_cache(maxsize=64)(queries.code_of_version)
    for row in itertools.chain.from_iterable(
        queries.suspended(agents=list(code) if modules else None)
    ):
        result = judging.judge(row, code, partial(queries.state_at, row.id, row.head), former)
        counts[result.verdict] += 1
        key = (row.agent, result.verdict, result.group)
        groups[key] += 1
        advice.setdefault(key, result.do)
        if result.verdict in only:
            spool.write(_row(row, result).model_dump_json() + "\n")
        if time.monotonic() - payload > PROGRESS_SECONDS:
            payload = time.monotonic()
            command.say(f"{counts.total():,} threads looked at, {counts['stops']:,} would stop ...")
    order = sorted(groups, key=lambda k: (VERDICTS.index(k[1]), k[0], k[2]))
    return Impact(
        ok=not counts["stops"],
        modules=modules or registry.agent_modules(),
        agents=sorted(code),
        counts={verdict: counts[verdict] for verdict in VERDICTS},
        groups=[
            Group(threads=groups[k], agent=k[0], verdict=k[1], reason=k[2], do=advice[k])
            for k in order
        ],
    )


def _row(row: SuspendedRow, judgement: Judgement) -> ThreadImpact:
    return ThreadImpact(
        thread=str(row.id),
        title=row.title,
        agent=row.agent,
        status=str(row.status),
        step=row.step,
        verdict=judgement.verdict,
        why=judgement.why,
        do=judgement.do.replace("THREAD", str(row.id)),
    )


def _spooled(spool: IO[str]) -> Iterator[ThreadImpact]:
    spool.seek(0)
    return (ThreadImpact.model_validate_json(line) for line in spool)


def _show(command: PersonalCommand, head: Impact, spool: IO[str]) -> None:
    """Counts first, then the threads, a batch at a time."""
    if command.as_json:
        # One document, written piece by piece.
        command.stdout.write(
            json_of(head).rstrip().removesuffix("}").rstrip() + ',\n  "threads": ['
        )
        for i, row in enumerate(_spooled(spool)):
            command.stdout.write(("," if i else "") + "\n" + json_of(row), ending="")
        command.stdout.write("\n  ]\n}")
        return
    grouped = ((g.threads, g.agent, g.verdict, g.reason, g.do) for g in head.groups)
    command.show(head, table("", ("threads", "agent", "verdict", "reason", "do"), grouped))
    columns = ("thread", "agent", "status", "step", "verdict", "why")
    rows = _spooled(spool)
    while batch := list(itertools.islice(rows, BATCH)):
        shown = ((r.thread, r.agent, r.status, r.step, r.verdict, r.why) for r in batch)
        command.show(head, table("", columns, shown))
