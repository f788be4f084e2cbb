"""A page of the past: nothing on it acts on the head, and posts from it are refused."""

from __future__ import annotations

import re

import pytest

from checkpoints import queries
from dashboard.html import graphs
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.examples import Examples, make_examples


@pytest.fixture
def examples(cast: Cast) -> Examples:
    return make_examples(cast)


def _main(html: str) -> str:
    return html.partition('<main id="main"')[2].partition("</main>")[0]


@pytest.mark.rubric(14)
def test_nothing_live_stands_on_a_page_of_the_past(examples: Examples) -> None:
    agent = scene.make_agent("mailer", inbox="findings")
    mailer = scene.lease(scene.start(examples.cast.workspace, agent))
    scene.step(mailer, report="draft")
    asking, _ = scene.asking(examples.cast.workspace, examples.agent)
    for name in ("operator", "manager", "second_manager"):
        client = examples.cast.client(name)
        for thread in (examples.waiting, examples.failed, examples.queued, mailer.thread, asking):
            row = queries.thread(thread, workspace=examples.cast.workspace)
            if row.number == 0:
                continue
            html = _main(client.get(f"/threads/{thread}/?cp=0").content.decode())
            assert f"You're viewing checkpoint #0 of {row.number}." in html
            # Buttons that post: verifying the record changes nothing of the thread.
            posts = set(re.findall(r'formaction="([^"]+)"', html))
            assert posts <= {f"/threads/{thread}/verify/"}, posts
            assert "data-action=" not in html
            for form in ("stop-before", "send-input", "settle"):
                assert f'form="{form}"' not in html
            # What is offered names the checkpoint that it acts on.
            for link in re.findall(
                r'href="(/threads/[0-9a-f-]+/(?:fork|rollback|edit|cancel)/[^"]*)"', html
            ):
                assert "?checkpoint=" in link, link
            assert "Review and decide" not in html
            now = _main(client.get(f"/threads/{thread}/").content.decode())
            assert "data-action=" in now


@pytest.mark.rubric(14)
def test_a_post_from_a_page_of_the_past_is_refused(examples: Examples) -> None:
    client = examples.cast.client("operator")
    before = queries.thread(examples.queued, workspace=examples.cast.workspace)
    for verb in ("pause", "resume", "retry"):
        answer = client.post(f"/threads/{examples.queued}/{verb}/", {"past": "0"})
        assert answer.status_code == 409
        assert "That page shows checkpoint #0 of the past." in answer.content.decode()
    after = queries.thread(examples.queued, workspace=examples.cast.workspace)
    assert after == before


GRAPH = {
    "nodes": [
        {"name": "read", "then": ["check"]},
        {"name": "check", "then": ["read", "pay", "stop"]},
        {"name": "pay", "then": ["mail"]},
        {"name": "stop", "then": []},
        {"name": "mail", "then": []},
    ]
}


@pytest.mark.parametrize(
    ("current", "begun", "ahead"),
    [
        (("read",), False, {"read", "check", "pay", "stop", "mail"}),
        (("read",), True, {"read", "check", "pay", "stop", "mail"}),  # by the way back
        (("pay",), False, {"pay", "mail"}),
        (("pay",), True, {"mail"}),
        (("mail",), True, set()),
        ((), True, set()),
        (("gone",), False, set()),
    ],
)
def test_only_nodes_that_can_still_come_are_ahead(
    current: tuple[str, ...], begun: bool, ahead: set[str]
) -> None:
    assert graphs.ahead(GRAPH, current, begun=begun) == ahead


def test_a_thread_stops_only_before_what_comes(cast: Cast) -> None:
    """The seen case: nodes that were done were offered, the first of all preselected."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    client = cast.client("operator")

    def offered() -> list[str]:
        html = client.get(f"/threads/{work.thread}/").content.decode()
        return re.findall(r'<option value="(\w+)"', html.partition('id="before_node"')[2])

    assert offered() == ["publish"]
    scene.step(work, report="draft")  # publish is being worked on and ends it
    assert offered() == []
    queued = scene.start(cast.workspace, scene.make_agent())
    html = client.get(f"/threads/{queued}/").content.decode()
    assert re.findall(r'<option value="(\w+)"', html) == ["analyse", "publish"]
