"""The page that compares: any two checkpoints, branches or threads, by its address."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from checkpoints import queries, store
from checkpoints.states import EventKind
from dashboard.html.comparison.changes import changed_values
from dashboard.threads.fork import fork as fork_thread
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, make_agent, make_thread, rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.html.comparison.runs import planted, played, script_of

pytestmark = pytest.mark.django_db
# The thread, its checkpoint, the way and its end of either side; two reads of each stretch of a
# log; the states and their versions; the event of each side; who may see it, and the frame.
QUERIES = 32


def section(html: str, ident: str) -> str:
    """The text of a part of the page by its id."""
    rest = html.partition(f'id="{ident}"')[2].partition(">")[2]
    return " ".join(strip_tags(re.split(r'<section|<div class="side"', rest)[0]).split())


def page(cast: Cast, left: object, right: object, more: str = "") -> str:
    answer = cast.client("viewer").get(f"/threads/compare/?left={left}&right={right}{more}")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def pair(cast: Cast) -> tuple[UUID, UUID]:
    """Two independent runs of 20 steps that part in step 13 by what a tool answered."""
    agent = make_agent()
    script = script_of(1, 20)
    changed = planted(script, 2, 12, "result")
    return (
        played(script, 1, workspace=cast.workspace, agent=agent),
        played(changed, 2, workspace=cast.workspace, agent=agent),
    )


@pytest.mark.requirement("A24")
def test_the_tool_output_at_which_two_runs_part_is_shown(
    cast: Cast, pair: tuple[UUID, UUID]
) -> None:
    one, other = pair
    html = page(cast, one, other)
    parted = section(html, "parted")
    assert "First difference: step 13" in parted
    assert "13 equal steps before" in parted  # the input counts as one
    assert "They began independently" in parted
    assert section(html, "event-left").startswith("Left activity.finished plan look done")
    # Of the answer only the price is marked; ids, times and hashes are there and not compared.
    marked = html.partition('id="content"')[2].partition("</section>")[0]
    assert re.findall(r"<ins>(.*?)</ins>", marked) == ['<span class="n">-1</span>']
    assert "&lt;time&gt;" in marked
    # What the page says, the API says.
    head = queries.thread(one, workspace=cast.workspace).head
    payload = (
        cast.client("viewer")
        .get(f"/api/v1/threads/{one}/diff/?from={head}&to_thread={other}")
        .json()
    )
    assert (payload["diverged_step"], payload["equal_steps"]) == (13, 13)
    assert payload["compared_all"] is True
    for side, thread in (("from", one), ("to", other)):
        event = payload["diverged"][side]
        assert event["kind"] == "activity.finished"
        assert event["data"]["key"] == "look#0"
        assert f"/threads/{thread}/?event={event['seq']}#event-{event['seq']}" in html


def test_a_comparison_asks_as_much_of_long_runs_as_of_short_ones(
    cast: Cast, pair: tuple[UUID, UUID]
) -> None:
    one, other = pair
    page(cast, one, other)
    client = cast.client("viewer")
    for right in (other, f"{other}:3", f"{one}:5"):
        with CaptureQueriesContext(connection) as sent:
            client.get(f"/threads/compare/?left={one}&right={right}")
        assert len(sent) <= QUERIES, [q["sql"][:80] for q in sent]


@pytest.mark.rubric(15)
def test_any_two_checkpoints_branches_and_threads(cast: Cast) -> None:
    driver = drive(make_thread(workspace=cast.workspace))
    for _ in range(4):
        driver.step()
    thread = driver.work.thread
    at = queries.checkpoint_by_number(thread, 2)
    html = page(cast, f"{thread}:2", f"{thread}:4")
    assert "First difference: step 3" in section(html, "parted")
    assert "up to checkpoint #2" in section(html, "parted")
    assert "it ends before this step" in section(html, "event-left")
    assert "First difference: step 3" in section(page(cast, f"{thread}:{at.id}", thread), "parted")
    # A fork with another value, against its base.
    fork = store.fork(thread, checkpoint=at.id, changes={"goal": "other"}, actor="user:1")
    html = page(cast, thread, fork)
    assert "thread.forked" in section(html, "event-right")
    assert "Nothing of the kind" in section(html, "event-left")
    assert "other" in section(html, "states")
    # The shared past counts as equal, and the summary says what the fork changed.
    assert "3 equal steps" in section(html, "parted")
    assert section(html, "summary").startswith("1 input differs 3 equal steps")
    assert "→ other" in section(html, "summary")
    assert html.index('id="summary"') < html.index('id="states"') < html.index('id="parted"')
    head = queries.thread(thread, workspace=cast.workspace).head
    api = f"/api/v1/threads/{thread}/diff/?from={head}"
    assert cast.client("viewer").get(f"{api}&to_thread={fork}").json()["equal_steps"] == 3
    # The same checkpoint, and a thread with itself.
    assert "Both did the same" in section(page(cast, thread, f"{thread}:4"), "parted")
    assert "The states are the same" in section(page(cast, thread, thread), "states")


def test_two_inputs_are_named_before_the_log(cast: Cast) -> None:
    """Values of every kind are named in one line each, where both begin and where both end."""
    old: dict[str, Any] = {
        "a": 1,
        "same": 2,
        "gone": "x",
        "rows": [1],
        "at": {"x": 1, "y": 2},
        "deep": {"z": [1]},
    }
    new: dict[str, Any] = {
        "a": 2,
        "same": 2,
        "rows": [1, 2],
        "at": {"x": 1, "y": 3},
        "late": True,
        "deep": {"z": [2]},
    }
    by_name = {one.name: (one.left, one.right) for one in changed_values(old, new)}
    assert by_name == {
        "a": ("1", "2"),
        "gone": ("x", "nothing"),
        "late": ("nothing", "true"),
        "rows": ("1 item", "2 items"),
        "at.y": ("2", "3"),
        "deep": ("", "~ 1 changed"),
    }
    agent = scene.make_agent()
    one, other = (scene.start(cast.workspace, agent, goal=goal) for goal in ("Tea", "Ink"))
    html = page(cast, one, other)
    assert section(html, "summary").startswith("1 input differs")
    assert "Tea → Ink" in section(html, "summary")
    assert section(page(cast, one, one), "summary").startswith("Same input")


def test_a_comparison_begins_with_two_threads_that_people_choose(cast: Cast) -> None:
    """Nobody types an id: the empty page, the board's dialog and a thread's page lead there."""
    agent = scene.make_agent()
    work = scene.lease(scene.start(cast.workspace, agent))
    point = scene.step(work)
    fork = store.fork(work.thread, checkpoint=point, changes={}, actor="user:1", title="Its fork")
    other = scene.start(cast.workspace, agent)
    elsewhere = scene.start(cast.elsewhere, agent)
    client = cast.client("operator")
    empty = client.get("/threads/compare/").content.decode()
    assert "Choose two threads" in empty
    assert f"?left={other}" in empty
    assert str(elsewhere) not in empty
    chosen = client.get(f"/threads/compare/?left={work.thread}").content.decode()
    links = re.findall(r"\?left=([\w-]+)&amp;right=([\w-]+)", chosen)
    assert {(str(work.thread), str(fork)), (str(work.thread), str(other))} <= set(links)
    assert links[0] == (str(work.thread), str(fork)), "relatives first"
    assert (str(work.thread), str(work.thread)) not in links
    base = client.get(f"/threads/compare/?left={fork}").content.decode()
    assert f"?left={fork}&amp;right={work.thread}" in base
    assert f"/threads/compare/?left={fork}" in client.get(f"/threads/{fork}/").content.decode()
    assert client.get(f"/threads/compare/?left={elsewhere}").status_code == 404

    dialog = client.get("/threads/many/").content.decode()
    values = re.findall(r'name="thread" value="([^"]+)"', dialog)
    two = [value for value in values if value.startswith((str(fork), str(other)))]
    answer = client.post("/threads/many/", {"thread": two, "do": "compare", "board": ""})
    assert answer.status_code == 303
    assert set(re.findall(r"(?:left|right)=([\w-]+)", answer["Location"])) == {
        str(fork),
        str(other),
    }
    for wrong in ([], two[:1], values):
        answer = client.post("/threads/many/", {"thread": wrong, "do": "compare", "board": ""})
        assert answer.status_code == 422, wrong


def test_the_newest_checkpoint_of_a_branch(cast: Cast) -> None:
    agent = scene.make_agent()
    work = scene.lease(scene.start(cast.workspace, agent))
    for report in ("one", "two"):
        scene.step(work, report=report)
    html = page(cast, f"{work.thread}:branch-0", work.thread)
    assert "#2" in section(html, "side-left")
    client = cast.client("viewer")
    for side in (f"{work.thread}:branch-7", f"{work.thread}:99", uuid4()):
        answer = client.get(f"/threads/compare/?left={side}&right={work.thread}")
        assert answer.status_code == 404
    refused = client.get(f"/threads/compare/?left=nothing&right={work.thread}")
    assert refused.status_code == 422
    elsewhere = scene.start(cast.elsewhere, agent)
    answer = client.get(f"/threads/compare/?left={elsewhere}&right={work.thread}")
    assert answer.status_code == 404


@pytest.mark.rubric(20)
def test_values_stand_in_two_columns(cast: Cast, pair: tuple[UUID, UUID]) -> None:
    one, other = pair
    html = page(cast, one, other, "&view=sides")
    assert html.count('class="channel mono"') == 1
    assert ">goal</h3>" in html


def test_without_two_sides_the_page_asks_for_them(cast: Cast) -> None:
    thread = scene.start(cast.workspace, scene.make_agent())
    html = cast.client("viewer").get(f"/threads/compare/?left={thread}").content.decode()
    assert f'value="{thread}"' in html
    assert 'id="parted"' not in html


def test_a_fork_and_a_past_checkpoint_lead_to_the_comparison(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    point = scene.step(work, report="one")
    scene.step(work, report="two")
    fork = store.fork(work.thread, checkpoint=point, changes={}, actor="user:1")
    client = cast.client("operator")
    base = client.get(f"/threads/{work.thread}/").content.decode()
    assert f"/threads/compare/?left={work.thread}&amp;right={fork}" in base
    past = client.get(f"/threads/{work.thread}/?cp=1").content.decode()
    assert f"/threads/compare/?left={work.thread}:1&amp;right={work.thread}" in past
    forked = client.get(f"/threads/{fork}/").content.decode()
    assert f"/threads/compare/?left={work.thread}&amp;right={fork}" in forked


def test_each_number_of_both_sides(cast: Cast, pair: tuple[UUID, UUID]) -> None:
    """What the page shows of each side is what is there by SQL."""
    html = page(cast, *pair)
    for name, thread in zip(("left", "right"), pair, strict=True):
        number, step, tokens, seq = rows(
            "SELECT c.number, c.step, t.tokens, (SELECT e.seq FROM gp_event e "
            "WHERE e.thread_id = t.id AND e.data ->> 'key' = 'look#0' "
            "AND (e.data ->> 'step')::integer = 13) FROM gp_thread t "
            "JOIN gp_checkpoint c ON c.id = t.head WHERE t.id = %s",
            (thread,),
        )[0]
        side = section(html, f"side-{name}")
        assert f"Checkpoint #{number} " in side
        assert f"Step {step} " in side
        assert f"Tokens, cost {tokens}" in side
        assert f"Event {seq} " in section(html, f"event-{name}")


def test_forks_have_the_colours_of_their_lanes_on_every_page(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    for n in range(3):
        scene.step(work, report=f"draft {n}")
    store.leave(work, EventKind.THREAD_FAILED, reason="no bank")
    point = queries.checkpoint_by_number(work.thread, 1)
    forks = [
        fork_thread(cast.actor("manager"), work.thread, point.id, {"goal": goal}, f"To {goal}")
        for goal in ("trains", "ships")
    ]
    client = cast.client("viewer")
    thread = client.get(f"/threads/{work.thread}/").content.decode()
    compared = client.get(f"/threads/compare/?left={forks[0]}&right={forks[1]}").content.decode()
    colours = set()
    for fork, side in zip(forks, ("left", "right"), strict=True):
        (colour,) = set(re.findall(rf'id="lane-{fork}" data-row class="forked (lane-\d)"', thread))
        colours.add(colour)
        listed = thread.partition(f'id="fork-{fork}"')[2].partition("</li>")[0]
        assert f'class="lane {colour}"' in listed
        part = compared.partition(f'id="side-{side}"')[2].partition("</p>")[0]
        assert f'class="lane {colour}"' in part
        assert f'class="ln-fork {colour}"' in thread
    assert len(colours) == 2
    newest = re.search(r'class="forked (lane-\d)">\s*<title>Fork: To ships</title>', thread)
    assert newest, "the bar of time marks the newest of one place"
    assert newest[1] in colours


def test_hashes_and_ids_are_no_values_to_read() -> None:
    old = {"file": {"$artifact": "a" * 64, "by": str(UUID(int=1)), "size": 1}}
    new = {"file": {"$artifact": "b" * 64, "by": str(UUID(int=2)), "size": 2}}
    assert [one.name for one in changed_values(old, new)] == ["file.size"]
