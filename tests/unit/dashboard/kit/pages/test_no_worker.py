"""Every page says when threads are queued and no worker lives, and stops saying so."""

from __future__ import annotations

import pytest

from checkpoints.queries.installation import backlog
from dashboard.approvals.inbox import InboxPage
from tests.support.cast import Cast
from tests.unit.approvals.policies.test_coverage import announced
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.examples import make_examples

pytestmark = pytest.mark.django_db
WARNING = "No worker is running."


@pytest.mark.rubric(8)
@pytest.mark.requirement("D01")
def test_each_page_says_that_nobody_works_while_threads_wait(cast: Cast) -> None:
    examples = make_examples(cast)
    rows("UPDATE gp_worker SET seen_at = seen_at - interval '1 minute'")
    paths = (
        "/",
        "/overview/",
        "/approvals/",
        f"/approvals/{examples.request.id}/",
        f"/threads/{examples.queued}/",
        f"/threads/{examples.queued}/fork/",
        "/incidents/",
        "/threads/new/",
    )
    client = cast.client("operator")
    ((queued,),) = rows(
        "SELECT count(*) FROM gp_thread WHERE status = 'queued' AND workspace_id = %s "
        "AND parent IS NULL",
        (cast.workspace,),
    )
    for path in paths:
        html = client.get(path).content.decode()
        assert html.count(WARNING) == 1, path
        assert f"{queued}\n              thread" in html, path
    before = InboxPage(cast.workspace).mark
    scene.alive(scene.make_agent())
    for path in paths:
        assert WARNING not in client.get(path).content.decode(), path
    # Open pages hear of it: the mark that the hub compares is another one.
    assert InboxPage(cast.workspace).mark != before


def test_other_workspaces_wait_for_no_worker_of_ours(cast: Cast) -> None:
    agent = scene.make_agent()
    scene.start(cast.elsewhere, agent)
    assert backlog.unworked(workspace=cast.workspace) is None
    scene.start(cast.workspace, agent)
    row = backlog.unworked(workspace=cast.workspace)
    assert row is not None
    assert row.threads == 1


def test_a_thread_of_an_agent_elsewhere_is_none_of_them(cast: Cast) -> None:
    agent = announced(cast, "elsewhere", "pay")
    scene.start(cast.workspace, agent)
    assert backlog.unworked(workspace=cast.workspace) is None
