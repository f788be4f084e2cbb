"""The graph in the browser lists each node with external calls and flags those unguarded."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.utils.html import strip_tags

from checkpoints import store
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.workers.checking.test_source_calls import AGENT, code

pytestmark = pytest.mark.django_db
GRAPH = {
    "entry": ["collect"],
    "nodes": [
        {"name": "collect", "then": ["analyse"], "label": "Collect"},
        {"name": "analyse", "then": ["collect", "publish"], "label": "Analyse"},
        {"name": "publish", "then": ["end"], "label": "Publish"},
        {"name": "end", "then": [], "label": "End it"},
    ],
}


def announced(code_of: object) -> UUID:
    return store.announce_version(
        agent="market",
        version=1,
        fingerprint="a" * 64,
        label="Market",
        description="",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS,
        graph=GRAPH,
        tools=scene.TOOLS,
        queue="gatepost",
        code=code_of,
    )


def titles(html: str) -> dict[str, str]:
    """What the drawing says of each node."""
    boxes = re.findall(r'<g class="box \w+" data-node="(\w+)">.*?<title>(.*?)</title>', html, re.S)
    return {node: " ".join(title.split()) for node, title in boxes}


@pytest.mark.requirement("A18")
def test_the_graph_marks_external_calls_flags_unguarded_ones_and_counts_passes(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, announced(code(AGENT))))
    for nodes, following in (
        (("collect",), ("analyse",)),
        (("analyse",), ("collect",)),
        (("collect",), ("analyse",)),
        (("analyse",), ("publish",)),
    ):
        scene.step(work, nodes=nodes, next_nodes=following, report="x")
    html = cast.client("viewer").get(f"/threads/{work.thread}/").content.decode()
    drawn = titles(html)
    assert drawn["collect"] == "Collect, 2 passes, 4 unguarded"
    assert drawn["analyse"] == "Analyse, 2 passes, 3 external calls: checkpoint candidate"
    assert drawn["publish"] == "Publish, 1 external call: checkpoint candidate"
    assert drawn["end"] == "End it"
    assert html.count('class="outside unguarded"') == 1
    assert html.count('class="outside"') == 2
    assert html.count(">2×</text>") == 2
    listed = {
        node: " ".join(strip_tags(body).split())
        for node, body in re.findall(
            r'<li data-node="(\w+)">(.*?)</li>',
            html.partition('id="outside-calls"')[2].partition("</details>")[0],
            re.S,
        )
    }
    assert set(listed) == {"collect", "analyse", "publish"}
    assert "unguarded httpx.get speaks to the network" in listed["collect"]
    assert "unguarded" not in listed["analyse"] + listed["publish"]
    assert listed["publish"].endswith("effect mail")


@pytest.mark.requirement("A18")
def test_where_no_source_is_recorded_the_log_says_which_nodes_call(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="draft")
    scene.effect(work)
    html = cast.client("viewer").get(f"/threads/{work.thread}/").content.decode()
    assert titles(html)["publish"] == "Publish, 1 external call: checkpoint candidate"
    assert titles(html)["analyse"] == "Analyse, 1 pass"
