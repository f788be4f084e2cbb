"""docs/howto/commands.md: each line is typed on a workspace with everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.things import make_factor
from tests.contract.world import World, make_world
from tests.docs.performing import Performance, in_days
from tests.docs.units import PROGRAM, sections_of
from tests.support.cast import Cast
from tests.unit.approvals.news import endpoint

from .answers import ANSWERS
from .sections import SECTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
DAYS = {
    "2026-11-01": in_days(-20),
    "2026-11-30": in_days(1),
    "2026-12-01": in_days(0),
    "2026-12-15": in_days(14),
}
# Lines that stay until Ctrl-C.
STAYS = dict.fromkeys(
    ("./manage.py watch ./sessions", "./manage.py watch ./sessions --every 10 --json"),
    "stays until Ctrl-C: tests/unit/dashboard/operate/agents/test_watch.py",
)


@pytest.fixture
def world(cast: Cast) -> World:
    return make_world(cast)


def fitting[T](table: dict[str, T], line: str) -> Iterator[T]:
    """What a table holds for the beginnings of a line, the longest last."""
    typed = PROGRAM.sub("", line)
    return (table[start] for start in sorted(table, key=len) if typed.startswith(start))


@pytest.mark.parametrize("title", SECTIONS)
def test_each_line_of_a_section_is_performed(
    world: World, title: str, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a-long-password")
    section, howto = SECTIONS[title], Performance("commands", world.cast, title)
    settings.GATEPOST_MCP_COMMANDS = ["npx"]
    endpoint(world.cast, "email", name="mail")
    howto.person("grace", "reviewer")
    if title != "user":
        howto.person("ada", "reviewer", "admin")
        make_factor(world.cast, "ada")
        make_factor(world.cast, "admin")
    for line in howto.units:
        if line.startswith(tuple(section.left_out) or "\0") or line in STAYS:
            continue
        names: dict[str, Any] = {}
        for make in fitting(section.names, line):
            names = make(world) if not names else names | make(world)
        who = [section.who, *fitting(section.people, line)][-1]
        code = [0, *fitting(section.codes, line)][-1]
        more = ["", *fitting(section.more, line)][-1]
        answer = howto.run(line, who, code, more, **{str(k): v for k, v in DAYS.items()} | names)
        for wanted in list(fitting(ANSWERS, line))[-1:] if isinstance(answer, dict) else ():
            shown = {name: answer.get(name) for name in wanted}
            full = {
                name: bool(value) if wanted[name] is True else value
                for name, value in shown.items()
            }
            assert full == wanted, line
    howto.complete(
        section.left_out | {line: why for line, why in STAYS.items() if line in howto.units}
    )


def test_each_section_is_performed() -> None:
    assert set(SECTIONS) == set(sections_of("commands"))
