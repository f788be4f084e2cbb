"""Counts agree with their nouns, names are no Python, and the way back leads to the row left."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings
from django.utils.html import strip_tags

from dashboard.wording.savings import counted
from dashboard.wording.text import prose
from tests.support.cast import Cast
from tests.unit.dashboard import scene

TEMPLATES: Final = Path(settings.BASE_DIR) / "templates"
NOUNS: Final = (
    "actions|approvals|attempts|calls|checkpoints|days|decisions|devices|effects|errors|events|"
    "files|hooks|hours|incidents|items|keys|lines|links|messages|minutes|policies|problems|"
    "reports|requests|rows|seconds|steps|threads|tokens|tools|values|versions|votes|workers"
)
# A number straight before a plural noun: what is 1 reads "1 events".
UNCOUNTED: Final = re.compile(rf"\{{\{{ [^}}|]+(?:\|length)?(?:\|number)? \}}\}} (?:{NOUNS})\b")
SINGULAR: Final = re.compile(rf"(?<![\w.,:#/$+-])1 (?:{NOUNS}|children|people)\b")
QUOTED: Final = re.compile(r"(?<![\w'])'[a-z_]+(?:\.[a-z_]+)+'")


def test_each_count_of_a_template_agrees_with_its_noun() -> None:
    """`{{ n|counted:"event" }}` writes both; cancelling and rolling back speak of spent tokens."""
    wrong = [
        f"{path.relative_to(TEMPLATES)}: {match[0]}"
        for path in sorted(TEMPLATES.rglob("*.html"))
        for match in UNCOUNTED.finditer(path.read_text())
        if match[0] != "{{ thread.tokens|number }} tokens"
    ]
    assert wrong == []
    assert [counted(n, "event") for n in (0, 1, 2, 1_234)] == [
        *("0 events", "1 event", "2 events", "1,234 events"),
    ]


@pytest.mark.django_db
def test_pages_with_one_of_each_say_so(cast: Cast) -> None:
    """A thread that has done one thing, on every page that counts; nothing is in Python quotes."""
    row = scene.waiting(cast.workspace, scene.make_agent())
    client, wrong = cast.client("manager"), []
    thread, read = f"/threads/{row.thread}/", 0
    for path in (
        *("/", "/overview/", "/approvals/", "/approvals/ended/", "/incidents/", "/threads/many/"),
        *(
            thread,
            f"{thread}?tab=anatomy",
            f"{thread}?cp=0",
            f"{thread}fork/",
            f"{thread}rollback/",
        ),
        *(f"/approvals/{row.id}/", f"/threads/compare/?left={row.thread}", "/deputies/"),
    ):
        answer = client.get(path)
        if answer.status_code != 200:
            continue
        read += 1
        words = " ".join(unescape(strip_tags(answer.content.decode())).split())
        wrong += [f"{path}: {m[0]}" for rule in (SINGULAR, QUOTED) for m in rule.finditer(words)]
    assert wrong == []
    assert read > 9


def test_a_name_in_quotes_is_code_on_pages() -> None:
    code = '<code class="w">bank.reserve</code>'
    assert prose("Before the rollback, 'bank.reserve' was done.") == (
        f"Before the rollback, {code} was done."
    )
    assert prose("Whether 'bank.reserve' happened is unknown") == (
        f"Whether {code} happened is unknown"
    )
    # Apostrophes, speech and values stay as people wrote them.
    for text in ("It isn't the agent's.", "the '90s'", "a 'b c' d", "x='y'z", "can't, won't"):
        assert unescape(prose(text)) == text
    assert prose("'<b>'") == "&#x27;&lt;b&gt;&#x27;"


@pytest.mark.django_db
def test_the_way_back_leads_to_the_row_that_was_left(cast: Cast) -> None:
    """The board's link has the focus after it, with scripts and without."""
    thread = scene.start(cast.workspace, scene.make_agent())
    client = cast.client("operator")
    board = client.get("/").content.decode()
    assert f'id="to-{thread}" href="/threads/{thread}/"' in board
    for path in ("", "fork/"):
        page = client.get(f"/threads/{thread}/{path}").content.decode()
        assert f'href="/#to-{thread}" hx-boost="false">Threads</a>' in page, path
