"""`agent check`: a child process imports the module; here it is compared with what is announced."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from pydantic import BaseModel

from checkpoints import queries
from checkpoints.code_parts import changes, summary
from checkpoints.queries.why import sentence
from checkpoints.states import Status
from checkpoints.views import AgentRow
from dashboard.configuration.import_path import python_path
from dashboard.kit.terminal.arguments import number_from
from dashboard.kit.terminal.console import REFUSED, PersonalCommand
from dashboard.kit.terminal.tables import table
from workers.code import registry

LEVELS = ("error", "warning", "note")


class CheckFinding(BaseModel):
    """One finding: where in the code, what, and the fix."""

    level: Literal["error", "warning", "note"]
    module: str = ""
    agent: str
    place: str
    said: str
    fix: str
    file: str
    line: int


class CheckedAgent(BaseModel):
    """An agent as its code declares it.

    `compared` with the announced versions: new, same, changed (other code under this version) or
    unknown (no database). `unfinished` threads stand on other code of this agent.
    """

    name: str
    version: int
    schema_version: int
    queue: str
    nodes: list[str]
    tools: list[str]
    fingerprint: str
    compared: Literal["new", "same", "changed", "unknown"]
    unfinished: int


class CheckReport(BaseModel):
    """Everything about the modules that were checked; `ok` is what the exit code says."""

    ok: bool
    modules: list[str]
    agents: list[CheckedAgent]
    findings: list[CheckFinding]


def check_options(parser: argparse.ArgumentParser) -> None:
    """Which modules, how long, how strict."""
    parser.add_argument(
        "module", nargs="*", help="as in GATEPOST_AGENTS; without one all that a worker would take"
    )
    parser.add_argument(
        "--timeout",
        type=number_from(1, 3_600),
        default=60,
        metavar="SECONDS",
        help="how long importing one may take (60)",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 for warnings too")


def check(command: PersonalCommand) -> None:
    """Check each module in a child process."""
    o = command.options
    modules = [name.partition(":")[0] for name in o["module"]] or registry.agent_modules()
    agents: list[CheckedAgent] = []
    findings: list[CheckFinding] = []
    counted = _unfinished()
    for module in modules:
        result = _examined(module, o["timeout"])
        findings += [CheckFinding(**f, module=module) for f in result["findings"]]
        for declared in result["agents"]:
            made, more = _compared(declared, counted)
            agents.append(made)
            findings += [f.model_copy(update={"module": module}) for f in more]
    if agents and counted is None:
        findings.append(_not_compared())
    findings.sort(key=lambda f: LEVELS.index(f.level))
    counts = {level: sum(f.level == level for f in findings) for level in LEVELS}
    bad = counts["error"] + (counts["warning"] if o["strict"] else 0)
    report = CheckReport(ok=not bad, modules=modules, agents=agents, findings=findings)
    shown = (
        (
            f.level,
            f"{f.file}:{f.line}" if f.line else f.file,
            f.place,
            f"{sentence(f.said)} {f.fix}",
        )
        for f in findings
    )
    declared_rows = (
        (a.name, a.version, a.fingerprint[:12], a.compared, a.unfinished, " ".join(a.nodes))
        for a in agents
    )
    columns = ("agent", "version", "code", "compared", "unfinished", "nodes")
    command.show(
        report,
        table("", columns, declared_rows),
        table("", ("level", "where", "place", "what"), shown, headed=False),
    )
    command.say(", ".join(f"{n} {level}{'s' * (n != 1)}" for level, n in counts.items()))
    if bad:
        raise SystemExit(REFUSED)


def _examined(module: str, seconds: int) -> dict[str, Any]:
    """Check a module in a child process; a crash or a timeout becomes a finding."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "workers.checking", module],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            cwd=Path.cwd(),
            env=os.environ | {"PYTHONPATH": python_path()},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _failed(
            module,
            f"Importing it took longer than {seconds} s.",
            "Nothing may work or wait at import: put it into nodes and activities.",
        )
    try:
        payload: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        message = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return _failed(
            module,
            f"Importing it ended the process (exit {done.returncode}): {message}",
            "Nothing may end or crash the worker at import.",
        )
    return payload


def _failed(module: str, text: str, fix: str) -> dict[str, Any]:
    finding = {
        "level": "error",
        "agent": "",
        "place": f"module {module}",
        "said": text,
        "fix": fix,
        "file": "",
        "line": 0,
    }
    return {"agents": [], "findings": [finding]}


def _unfinished() -> dict[Any, dict[Status, int]] | None:
    """Threads of each announced version by status; None where no database answers."""
    try:
        return queries.version_threads()
    except (DatabaseError, InterfaceError):
        connection.close()
        return None


def _not_compared() -> CheckFinding:
    return CheckFinding(
        level="note",
        agent="",
        place="announced",
        said=f"Not compared with the announced versions: no database answers for "
        f"{_database_location()}.",
        fix="If Gatepost is up elsewhere, name its data folder with --data-dir; else start it.",
        file="",
        line=0,
    )


def _compared(
    declared: dict[str, Any], counted: dict[Any, dict[Status, int]] | None
) -> tuple[CheckedAgent, list[CheckFinding]]:
    """The agent beside the announced versions, and what a worker with this code would change."""
    schema, on_change = declared.pop("schema"), declared.pop("on_code_change")
    code = declared.pop("code")
    made = CheckedAgent(**declared, compared="unknown", unfinished=0)
    if counted is None or not made.fingerprint:
        return made, []
    rows = queries.agent_versions(made.name)
    others = [row for row in rows if row.fingerprint != made.fingerprint]
    made.unfinished = sum(sum(counted.get(row.id, {}).values()) for row in others)
    if not rows:
        made.compared = "new"
    elif len(others) < len(rows):
        made.compared = "same"
    else:
        made.compared = "changed" if any(r.version == made.version for r in rows) else "new"
    return made, list(_consequences(made, rows, others, schema, on_change, counted, code))


def _database_location() -> str:
    """Name the location at which the database was looked for."""
    return "DATABASE_URL" if os.environ.get("DATABASE_URL") else f"{settings.GATEPOST_DATA}"


def _consequences(
    made: CheckedAgent,
    rows: list[AgentRow],
    others: list[AgentRow],
    schema: dict[str, Any],
    on_change: str,
    counted: dict[Any, dict[Status, int]],
    code: dict[str, Any],
) -> Iterator[CheckFinding]:
    if made.unfinished:
        many = "1 thread" if made.unfinished == 1 else f"{made.unfinished} threads"
        if on_change == "stop":
            message = f"{many} stopped with other code."
            advice = "`agent impact` says which continue, by an upgrade, and which ask a person."
            yield _note(made, "note", message, advice)
        else:
            yield _note(made, "note", f"{many} stopped with other code continue with this one.", "")
        if named := summary(changes(queries.code_of_version(others[0].id), code)):
            was = others[0].fingerprint[:12]
            yield _note(made, "note", f"Changed since the code {was}: {named}.", "")
    newer = [row for row in rows if row.version > made.version]
    if newer:
        message = f"Version {newer[0].version} is announced already, this is {made.version}."
        yield _note(made, "warning", message, "Raise version=, or install the newer code.")
    behind = [
        row for row in others if row.schema_version > made.schema_version and counted.get(row.id)
    ]
    if behind:
        message = (
            f"Unfinished threads have schema {behind[0].schema_version}, newer than this code."
        )
        yield _note(made, "error", message, "Install the newer code: this one cannot take them.")
    twin = next((row for row in others if row.schema_version == made.schema_version), None)
    if made.compared != "same" and twin is not None and twin.schema != schema:
        message = f"The state's schema changed, and schema_version is still {made.schema_version}."
        yield _note(made, "warning", message, "Raise schema_version= and register an upgrade.")


def _note(
    made: CheckedAgent, level: Literal["error", "warning", "note"], text: str, fix: str
) -> CheckFinding:
    return CheckFinding(
        level=level, agent=made.name, place="announced", said=text, fix=fix, file="", line=0
    )
