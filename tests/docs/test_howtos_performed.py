"""Commands and calls of how-tos are performed, one after the other, on a workspace with threads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from checkpoints import store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HOWTOS = Path(__file__).parents[2] / "docs/howto"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
type Names = Mapping[str, Callable[[], object]]


@dataclass(frozen=True)
class Page:
    """A how-to: who performs it, and what its words for ids stand for when a line is performed."""

    who: str
    names: Callable[[Cast], Names]
    lines: int


def lines_of(page: str) -> Iterator[list[str]]:
    """The words of each command and call in the blocks of a page; variables as they stand there."""
    for block in BLOCK.findall((HOWTOS / f"{page}.md").read_text()):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            if line.startswith(("./manage.py ", "curl ")):
                yield shlex.split(re.sub(r"\s#.*", "", line))


def with_names(word: str, names: Names) -> str:
    for name, value in names.items():
        pattern = rf"\$?\b{name}\b"
        if re.search(pattern, word):
            word = re.sub(pattern, str(value()), word)
    return word


def newest(table: str, where: str = "true", order: str = "id DESC") -> Callable[[], object]:
    return lambda: rows(f"SELECT id FROM {table} WHERE {where} ORDER BY {order} LIMIT 1")[0][0]


def finished(cast: Cast, agent: str = "payments", **state: Any) -> UUID:
    """A thread that did some steps and was cancelled."""
    thread = scene.start(cast.workspace, scene.make_agent(agent))
    work = scene.lease(thread)
    for _ in range(3):
        scene.step(work, **({"report": "ready"} | state))
    store.hand_back(work, reason="looked")
    store.cancel(thread, actor="user:1")
    return thread


def _erasing(cast: Cast) -> Names:
    waiting = [finished(cast) for _ in range(12)]
    used: list[UUID] = []

    def one() -> UUID:
        # What a line before did to a thread stands in the way of nothing.
        if rows("SELECT 1 FROM gp_hold WHERE lifted_at IS NULL"):
            return used[-1]
        used.append(waiting.pop())
        return used[-1]

    return {"ID": one, "ERASURE": newest("gp_erasure", "state = 'requested'")}


def _stopping(cast: Cast) -> Names:
    for _ in range(20):
        scene.start(cast.workspace, scene.make_agent("payments"))
    return {"ID": newest("gp_breaker", "closed_at IS NULL", "id")}


def _no_names(cast: Cast) -> Names:
    finished(cast)
    return {}


PAGES = {
    "costs": Page("admin", _no_names, 5),
    "erasure": Page("operator", _erasing, 14),
    "stop-threads": Page("operator", _stopping, 7),
}


@pytest.mark.parametrize("page", PAGES)
def test_each_line_of_the_page_is_performed(
    cast: Cast, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = PAGES[page]
    names = one.names(cast)
    performed = 0
    for program, *words in lines_of(page):
        made = [with_names(word, names) for word in words]
        needs_admin = re.search(r"\bretention\b|\b(hold|holds|lift)$", " ".join(made[:2]))
        who = "admin" if needs_admin else one.who
        if program == "curl":
            address = next(word for word in made if word.startswith("$GATEPOST_URL"))
            path = address.removeprefix("$GATEPOST_URL")
            client, data = cast.client(who), next_after(made, "-d")
            if data is None:
                answer = client.get(path)
            else:
                answer = client.post(path, data, content_type="application/json")
            assert answer.status_code < 300, (page, made, answer.content)
        else:
            by = [] if "--as" in made else ["--as", who]
            assert _exit_code(*made, *by) == 0, (page, made, capsys.readouterr().err)
        performed += 1
    capsys.readouterr()
    assert performed == one.lines


def _exit_code(*words: str) -> object:
    try:
        call_command(*words)
    except SystemExit as end:
        return end.code or 0
    return 0


def next_after(words: list[str], option: str) -> str | None:
    return words[words.index(option) + 1] if option in words else None
