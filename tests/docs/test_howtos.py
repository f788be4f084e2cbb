"""What the documentation says to type is taken: commands, calls, settings, conditions, targets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from django.urls import Resolver404, resolve

from approvals.policies.conditions import condition as parsed_condition
from tests.contract.operations import document
from tests.unit.dashboard.command_list import COMMANDS, command_named

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs/howto").glob("*.md")])
DJANGO = {"migrate", "collectstatic", "check", "shell", "makemigrations", "sweep"}

COMMAND = re.compile(r"\./manage\.py ((?:[^`\n|#>&\\;)]|\\\n)+)")
CALL = re.compile(r"`(GET|POST) (/[^`\s?]*)(?:\?([^`\s]*))?`")
SETTING = re.compile(r"\bGATEPOST_[A-Z][A-Z_]*[A-Z]\b")
CONDITION = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def ids(page: Path) -> str:
    return page.name


def parsed(line: str) -> str:
    """Why a command line is not taken; empty where it is."""
    words = shlex.split(line.replace("\\\n", " ").strip().rstrip(".,:"))
    name, *rest = words
    if name in DJANGO or not rest or "--help" in rest or "VERB" in rest:
        return ""  # it is named, not typed
    if name not in COMMANDS:
        return f"no command {name}"
    made = command_named(name)
    verbs = {verb.name for verb in getattr(made, "verbs", ())}
    if len(rest) == 1 and rest[0] in verbs:
        return ""
    if name == "token" and rest and rest[0] not in verbs:
        rest = ["create", *rest]
    try:
        made.create_parser("manage.py", name).parse_args(rest)
    except SystemExit:
        return "not understood"
    except Exception as error:
        return str(error)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_each_command_line_is_understood(page: Path) -> None:
    wrong = {}
    text = re.sub(r" 2>", " >", page.read_text())
    for line in COMMAND.findall(text):
        typed = line.strip()
        if re.match(r"[a-z_]+ ", typed) and (why := parsed(typed)):
            wrong[typed] = why
    assert wrong == {}


def bare(path: str) -> str:
    """A path with nameless parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_each_call_is_there_and_takes_what_is_named(page: Path) -> None:
    paths = {bare(p.removeprefix("/api/v1")): spec for p, spec in document()["paths"].items()}
    nouns = {path.split("/")[1] for path in paths}
    wrong = []
    for method, path, query in CALL.findall(page.read_text()):
        short = path.removeprefix("/api/v1")
        if short.split("/")[1] not in nouns:
            continue  # of another service
        spec = paths.get(bare(short), {}).get(method.lower())
        if spec is None:
            wrong.append(f"{method} {path}")
            continue
        names = {p["name"] for p in spec.get("parameters", ())}
        for part in filter(None, query.split("&")):
            name = part.partition("=")[0]
            if name not in names and name != "…":
                wrong.append(f"{method} {path}: ?{name}")
    assert wrong == []


def test_each_setting_that_is_named_is_read() -> None:
    code = "\n".join(
        path.read_text()
        for floor in (
            "dashboard",
            "agents",
            "gatepost",
            "workers",
            "approvals",
            "checkpoints",
            "tools",
            "clients",
            "tests/faults/chaos",
        )
        for path in (ROOT / floor).rglob("*.py")
    )
    known = set(SETTING.findall(code))
    compose = (ROOT / "docker-compose.yml").read_text() + (ROOT / "Makefile").read_text()
    known |= set(SETTING.findall(compose))
    missing = {
        f"{page.name}: {name}"
        for page in PAGES
        for name in SETTING.findall(page.read_text())
        if name not in known and not any(k.startswith(f"{name}_") for k in known)
    }
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_each_target_of_make_is_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]+)", page.read_text(), re.MULTILINE))
    assert named - targets == set()


def test_each_condition_of_the_policies_page_is_taken() -> None:
    text = (ROOT / "docs/howto/policies.md").read_text()
    conditions = [c.strip() for c in CONDITION.findall(text)]
    assert len(conditions) >= 6
    for condition in conditions:
        parsed_condition(condition)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_each_address_of_a_page_leads_somewhere(page: Path) -> None:
    wrong = []
    text = page.read_text()
    for path in re.findall(r"`(/admin/[^`\s{…<]*)`", text):
        try:
            resolve(path.partition("?")[0])
        except Resolver404:
            wrong.append(path)
    assert wrong == []
