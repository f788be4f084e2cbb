"""The pages that pictures are taken of, their files, and what each is made from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TEMPLATES = ROOT / "templates"
STATIC = ROOT / "dashboard" / "static"
MADE = HERE / "made.json"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = {1440: 900, 390: 844}
REFERENCE = re.compile(
    r"""\{%\s*(?:extends|include)\s+"([^"]+)"|\{%\s*static\s+'([^']+\.(?:css|svg))'"""
)


@dataclass(frozen=True)
class Shot:
    """A page: who looks at it, where it is, the template it comes from, the title it has.

    `at` names a part of it: then the picture is one screen from there on. `press` is a button that
    is pressed first.
    """

    who: str
    path: str
    template: str
    title: str
    at: str = ""
    press: str = ""


SHOTS = {
    "login": Shot("", "/login/", "registration/login.html", "Sign in"),
    "start": Shot("operator", "/threads/new/", "threads/new.html", "Start a thread"),
    "thread": Shot("operator", "/threads/{gate}/", "threads/detail.html", "What delays flights"),
    "thread-finished": Shot(
        "operator", "/threads/{published}/", "threads/detail.html", "How cold does it get"
    ),
    "thread-past": Shot(
        "operator", "/threads/{published}/?cp=3", "threads/detail.html", "How cold does it get"
    ),
    "thread-failed": Shot(
        "operator", "/threads/{failed}/", "threads/detail.html", "Prices of the second quarter"
    ),
    "thread-rolled-back": Shot(
        "operator", "/threads/{rolled_back}/", "threads/detail.html", "Sales of the first quarter"
    ),
    "family": Shot(
        "operator", "/threads/{family}/", "threads/detail.html", "All packages", "#thread-family"
    ),
    "conversation": Shot(
        "manager",
        "/threads/{conversation}/",
        "threads/detail.html",
        "My kettle",
        "#thread-conversation",
    ),
    "stream": Shot(
        "operator", "/threads/{stream}/", "threads/detail.html", "How long", "#thread-progress"
    ),
    "inbox": Shot("manager", "/approvals/", "approvals/inbox.html", "Approvals"),
    "approval": Shot("manager", "/approvals/{open}/", "approvals/request.html", "Publish “"),
    "approval-decided": Shot(
        "manager", "/approvals/{decided}/", "approvals/request.html", "Publish “"
    ),
    "fork": Shot(
        "manager",
        "/threads/{published}/fork/?checkpoint=1",
        "threads/fork.html",
        "Fork How cold",
    ),
    "rollback": Shot(
        "manager",
        "/threads/{published}/rollback/?checkpoint=1",
        "threads/rollback.html",
        "Roll back How cold",
    ),
    "edit": Shot("operator", "/threads/{failed}/edit/", "threads/edit.html", "Edit Prices"),
    "reveal": Shot(
        "auditor",
        "/threads/{case}/reveal/?channel=diagnosis",
        "threads/reveal.html",
        "diagnosis of",
        press="Show the value",
    ),
    "memories": Shot("operator", "/memories/", "memories/list.html", "Memory"),
    "admin": Shot("auditor", "/admin/", "", "Audit records"),
    "api-docs": Shot("operator", "/api/docs/", "drf_spectacular/swagger_ui.html", "Gatepost API"),
    "board": Shot("operator", "/", "board/board.html", "Board"),
}
# Pages of the fleet that `make demo` fills, which is another product than that of the pages above.
FLEET = {
    "fleet": Shot("operator", "/", "board/board.html", "Board"),
    "overview": Shot("operator", "/overview/?period=24h", "board/overview/page.html", "Overview"),
    "budgets": Shot("admin", "/overview/budgets/", "administration/budgets.html", "Budgets"),
    "compare": Shot(
        "operator",
        "/threads/compare/?left={demo-weather}&right={fork}",
        "threads/compare.html",
        "Compare",
    ),
    "incidents": Shot("operator", "/incidents/", "board/incidents/list.html", "Incidents"),
    "incident": Shot("operator", "/incidents/{incident}/", "board/incidents/detail.html", "Failed"),
    "breaker": Shot(
        "operator", "/breakers/trip/?agent=payments", "board/trip.html", "Stop threads"
    ),
    "many": Shot(
        "operator", "/threads/many/?agent=payments&status=failed", "board/many.html", "Act on"
    ),
    "skip": Shot("operator", "/threads/{demo-broken-1}/skip/", "threads/skip.html", "Skip a node"),
    "record-search": Shot(
        "auditor",
        "/admin/search/?payee=Alpenblick&kind=approval",
        "records/search.html",
        "Search the record",
    ),
    "erase": Shot("admin", "/threads/{demo-weather}/erase/", "records/erase.html", "Erase"),
}


SHOTS |= FLEET


# ---- what a picture was made from ---------------------------------------------------------------


def sources(template: str) -> list[Path]:
    """The files that decide how a template's page looks: templates it uses, and styles."""
    results: dict[Path, None] = {}
    waiting = [TEMPLATES / template] if template else []
    while waiting:
        path = waiting.pop()
        if path in results:
            continue
        results[path] = None
        if path.suffix != ".html" or not path.exists():  # Django's own are not ours to watch
            continue
        for used, static in REFERENCE.findall(path.read_text()):
            waiting.append(TEMPLATES / used if used else STATIC / static)
    return sorted(path for path in results if path.exists())


def made_from(template: str) -> str:
    """A hash that changes with any of the sources."""
    digest = hashlib.sha256()
    for path in sources(template):
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def pictures() -> Iterator[tuple[str, str, int, Path]]:
    """(page, theme, width, file) of every picture that should be there."""
    for page in SHOTS:
        for theme in THEMES:
            for width in WIDTHS:
                yield page, theme, width, HERE / f"{page}-{theme}-{width}.png"
