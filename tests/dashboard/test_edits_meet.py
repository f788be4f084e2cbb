"""Two people edit one state at once: what the second sends never undoes what the first wrote."""

from __future__ import annotations

import html as escapes
import json
import re
from itertools import product
from typing import Any

import pytest
from django.test import Client

from checkpoints import queries
from dashboard import actions
from tests.cast import Cast

from . import scene

MINE = {"goal": "my goal", "limit": "7", "findings": "mine"}
THEIRS: dict[str, Any] = {"goal": "their goal", "limit": 9, "findings": ["theirs"]}
MINE_READ: dict[str, Any] = {"goal": "my goal", "limit": 7, "findings": ["mine"]}
NAMES = tuple(MINE)
SUBSETS = [
    tuple(name for name, there in zip(NAMES, bits, strict=True) if there)
    for bits in product((False, True), repeat=len(NAMES))
]


def _inputs(page: str) -> dict[str, str]:
    """Everything that a browser would send of the form as it stands."""
    form = page.partition('<form class="sheet" id="edit"')[2].partition("</form>")[0]
    found = {
        name: escapes.unescape(value)
        for name, value in re.findall(r'<input [^>]*name="([\w-]+)"[^>]*?value="([^"]*)"', form)
    }
    for name, value in re.findall(
        r'<textarea [^>]*name="([\w-]+)"[^>]*>(.*?)</textarea>', form, re.S
    ):
        found[name] = escapes.unescape(value)
    found.pop("csrfmiddlewaretoken", None)
    return found


def _type(sent: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return sent | {f"f-{name}": MINE[name] for name in names} | {"reason": "typo"}


@pytest.fixture
def client(cast: Cast) -> Client:
    return cast.client("operator")


@pytest.mark.parametrize("mine", SUBSETS[1:], ids="+".join)
def test_every_pair_of_edits(cast: Cast, client: Client, mine: tuple[str, ...]) -> None:
    agent = scene.make_agent()
    for theirs in SUBSETS[1:]:
        thread = scene.waiting(cast.workspace, agent).thread
        url = f"/threads/{thread}/edit/"
        opened = _inputs(client.get(url).content.decode())
        assert "checkpoint" in opened
        written = {name: THEIRS[name] for name in theirs}
        actions.edit(cast.actor("operator"), thread, written, "r")
        late = client.post(url, _type(opened, mine))
        page = late.content.decode()
        assert late.status_code == 412
        again = _inputs(page)
        # What this person wrote is kept, everything else stands as it does now.
        for name in NAMES:
            if name in mine:
                assert again[f"f-{name}"].replace("\r", "") == MINE[name]
            elif name in theirs:
                text = written[name]
                shown = "\n".join(text) if isinstance(text, list) else str(text)
                assert again[f"f-{name}"] == shown
        overtaken = set(mine) & set(theirs)
        assert page.count("Somebody else changed this meanwhile") == len(overtaken)
        sent = client.post(url, again)
        assert sent.status_code == 303, sent.content.decode()
        row = queries.thread(thread, workspace=cast.workspace)
        state = queries.state_at(thread, row.head)
        for name in NAMES:
            wanted = MINE_READ[name] if name in mine else written.get(name, state[name])
            assert json.dumps(state[name]) == json.dumps(wanted), (mine, theirs, name)


def test_nothing_typed_is_nothing_changed_though_the_state_moved(
    cast: Cast, client: Client
) -> None:
    thread = scene.waiting(cast.workspace, scene.make_agent()).thread
    url = f"/threads/{thread}/edit/"
    opened = _inputs(client.get(url).content.decode()) | {"reason": "typo"}
    actions.edit(cast.actor("operator"), thread, {"goal": "their goal"}, "r")
    answer = client.post(url, opened)
    assert answer.status_code == 422
    assert "Change at least one value." in answer.content.decode()
    head = queries.thread(thread, workspace=cast.workspace).head
    assert queries.state_at(thread, head)["goal"] == "their goal"
