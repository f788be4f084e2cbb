"""Page, fragment and push show the same bytes, whoever of a rights class looks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from checkpoints import queries, store
from checkpoints.states import EventKind
from dashboard.live import regions
from dashboard.live.marks import region_mark
from dashboard.wire.topics import Topic, parse
from tests.contract.things import make_incident
from tests.support.cast import Cast
from tests.unit.dashboard import scene

PAGES: dict[str, Callable[[dict[str, str]], tuple[str, str]]] = {
    "board": lambda ids: ("/", "board"),
    "waiting": lambda ids: (f"/threads/{ids['waiting']}/", f"thread:{ids['waiting']}"),
    "done": lambda ids: (f"/threads/{ids['done']}/", f"thread:{ids['done']}"),
    "queued": lambda ids: (f"/threads/{ids['queued']}/", f"thread:{ids['queued']}"),
    "fork": lambda ids: (f"/threads/{ids['fork']}/", f"thread:{ids['fork']}"),
    "inbox": lambda ids: ("/approvals/", "approvals"),
    "incidents": lambda ids: ("/incidents/", "incidents"),
    "incident": lambda ids: (f"/incidents/{ids['incident']}/", f"incident:{ids['incident']}"),
    "open": lambda ids: (f"/approvals/{ids['open']}/", f"approval:{ids['open']}"),
    "decided": lambda ids: (f"/approvals/{ids['decided']}/", f"approval:{ids['decided']}"),
}
OF_ONE = {"thread": "queued", "approval": "open", "incident": "incident"}
VARIANTS = {
    "past": "/threads/{done}/?cp=1",
    "state": "/threads/{done}/?tab=state",
    "events": "/threads/{done}/?kind=checkpoint",
    "filter": "/?status=waiting&q=delays",
    "decided": "/approvals/?box=decided",
    "mine": "/approvals/?box=mine&sort=age",
    "closed": "/incidents/?state=closed",
}


@pytest.fixture
def ids(cast: Cast) -> dict[str, str]:
    """Ids of threads and requests by what they are."""
    agent = scene.make_agent()
    scene.alive(agent)
    work = scene.lease(scene.start(cast.workspace, agent, by=cast.actor("operator").id))
    scene.step(work, report="draft")
    scene.effect(work)
    scene.step(work, report="final", leave_by=EventKind.THREAD_SUCCEEDED)
    first = queries.checkpoint_by_number(work.thread, 1)
    fork = store.fork(work.thread, checkpoint=first.id, changes={}, actor="user:1")
    open_ = scene.waiting(cast.workspace, agent)
    decided = scene.waiting(cast.workspace, agent)
    cast.client("manager").post(
        f"/approvals/{decided.id}/decide/",
        {"verdict": "approve", "proposal_hash": decided.proposal_hash},
    )
    return {
        "queued": str(scene.start(cast.workspace, agent)),
        "done": str(work.thread),
        "fork": str(fork),
        "waiting": str(open_.thread),
        "open": str(open_.id),
        "decided": str(decided.id),
        "incident": str(make_incident(cast.workspace)),
    }


def region_ids(html: str) -> list[str]:
    """The regions that everybody of a rights class sees alike; the others are never pushed."""
    matches: list[str] = re.findall(r'data-region="([^"]+)"', html)
    return [name for name in matches if not regions.regions()[name].personal]


def unmarked(html: str) -> str:
    """A page without the marks of its regions, which fragments do not have."""
    return re.sub(r'data-mark="[0-9a-f]{12}" (?=data-region=)', "", html)


def steady(look: Callable[[], Iterator[tuple[str, bool]]]) -> None:
    """Ages are written in words of now: a second that passes between two looks is no difference."""
    for _ in range(3):
        different = [name for name, same in look() if not same]
        if not different:
            return
    pytest.fail(f"not the same bytes: {different}")


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["operator", "manager", "auditor"])
@pytest.mark.parametrize("what", PAGES)
def test_fragment_and_push_are_parts_of_the_page(
    cast: Cast, ids: dict[str, str], what: str, name: str
) -> None:
    client, roles = cast.client(name), cast.actor(name).roles
    path, topic_name = PAGES[what](ids)
    topic = regions.resolve(parse(topic_name, workspace=cast.workspace))
    frame = Topic("approvals", cast.workspace)

    def look() -> Iterator[tuple[str, bool]]:
        html = client.get(path).content.decode()
        names = region_ids(html)
        assert len(names) == len(set(names)) >= 2
        assert regions.of_topic(topic.kind) <= set(names)
        polled = client.get(path, headers={"X-Gatepost-Regions": ",".join(names)}).json()
        assert set(polled["regions"]) == set(names)
        assert topic_name in polled["seq"]
        pages = {topic.kind: regions.page_of(topic), "approvals": regions.page_of(frame)}
        if topic.kind == "thread":
            pages["family"] = regions.page_of(replace(topic, kind="family"))
        for region in names:
            fragment = polled["regions"][region]
            pushed = regions.render(pages[regions.topic_of(region)], region, roles)
            # What depends on the person who looks is fetched, never pushed.
            own = "data-refetch" in fragment.partition(">")[0]
            marked = f'data-mark="{region_mark(pushed)}" data-region="{region}"' in html
            yield region, fragment in unmarked(html) and (own or (fragment == pushed and marked))

    steady(look)


@pytest.mark.slow
@pytest.mark.parametrize("what", VARIANTS)
def test_a_variant_s_fragments_are_parts_of_it(cast: Cast, ids: dict[str, str], what: str) -> None:
    client, path = cast.client("operator"), VARIANTS[what].format(**ids)

    def look() -> Iterator[tuple[str, bool]]:
        html = client.get(path).content.decode()
        names = region_ids(html)
        polled = client.get(path, headers={"X-Gatepost-Regions": ",".join(names)}).json()
        for region in names:
            yield region, polled["regions"][region] in unmarked(html)

    steady(look)
    assert "data-refetch" in client.get(path).content.decode()


def test_a_region_is_the_same_for_everybody_with_the_same_roles(
    cast: Cast, ids: dict[str, str]
) -> None:
    one, other = cast.client("manager"), cast.client("second_manager")

    def look() -> Iterator[tuple[str, bool]]:
        for what in PAGES:
            path, _ = PAGES[what](ids)
            names = region_ids(one.get(path).content.decode())
            headers = {"X-Gatepost-Regions": ",".join(names)}
            yield (
                what,
                (
                    one.get(path, headers=headers).json()["regions"]
                    == other.get(path, headers=headers).json()["regions"]
                ),
            )

    steady(look)


def test_only_regions_by_roles_differ_with_roles(cast: Cast, ids: dict[str, str]) -> None:
    """What the hub shares between rights classes must not depend on them."""

    def look() -> Iterator[tuple[str, bool]]:
        for what in PAGES:
            topic = regions.resolve(parse(PAGES[what](ids)[1], workspace=cast.workspace))
            page = regions.page_of(topic)
            for name in sorted(regions.of_topic(topic.kind)):
                if not regions.regions()[name].by_roles:
                    html = {
                        regions.render(page, name, frozenset({role}))
                        for role in ("operator", "reviewer", "auditor")
                    }
                    yield name, len(html) == 1

    steady(look)


def test_dear_regions_are_rendered_once_per_checkpoint(
    cast: Cast, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = regions.resolve(parse(f"thread:{ids['waiting']}", workspace=cast.workspace))
    rendered: list[str] = []
    real = regions.render

    def counting(page: regions.Page, name: str, roles: frozenset[str]) -> str:
        rendered.append(name)
        return real(page, name, roles)

    monkeypatch.setattr(regions, "render", counting)
    wanted = {
        frozenset({role}): frozenset({"thread-state", "thread-head"})
        for role in ("operator", "reviewer")
    }
    memo: regions.Memo = {}
    first = regions.render_for(regions.page_of(topic), wanted, memo)
    assert sorted(rendered) == ["thread-head", "thread-head", "thread-state"]
    second = regions.render_for(regions.page_of(topic), wanted, memo)
    assert rendered.count("thread-state") == 1
    assert rendered.count("thread-head") == 4
    for roles in wanted:
        assert first[roles]["thread-state"] == second[roles]["thread-state"]
        assert first[roles]["thread-head"] != ""


def test_every_region_of_the_templates_is_known_and_the_other_way_round() -> None:
    """Its root is in the template of its page, or in the part that its partial there includes."""
    folder = Path(settings.BASE_DIR) / "templates"
    results = {
        (name, str(path.relative_to(folder)))
        for path in folder.rglob("*.html")
        for name in re.findall(r'data-region="([^"]+)"', path.read_text())
    }
    wanted = set()
    for name, region in regions.regions().items():
        text = (folder / region.template).read_text()
        partial = f"{{% partialdef {name} inline %}}{{% region %}}"
        assert partial in text, name
        part = re.search(rf'{re.escape(partial)}\s*{{% include "([^"]+)" %}}', text)
        wanted.add((name, part[1] if part else region.template))
    assert results == wanted


def test_strange_regions_are_refused(cast: Cast, ids: dict[str, str]) -> None:
    client = cast.client("operator")
    for names in ("nothing", "thread-head", "board-lanes,<script>"):
        assert client.get("/", headers={"X-Gatepost-Regions": names}).status_code == 400
    # Pages without regions of their own still have the frame's.
    for path in ("/threads/new/", f"/threads/{ids['done']}/fork/", f"/threads/{ids['done']}/edit/"):
        answer = client.get(path, headers={"X-Gatepost-Regions": "nav-approvals"})
        assert list(answer.json()["regions"]) == ["nav-approvals"], path
    gone = client.get(
        "/threads/00000000-0000-0000-0000-000000000000/",
        headers={"X-Gatepost-Regions": "nav-approvals"},
    )
    assert "nav-approvals" in gone.json()["regions"]


def test_marks_move_with_what_pages_show(cast: Cast, ids: dict[str, str]) -> None:
    names = (
        *("board", "approvals", "incidents"),
        *(f"{kind}:{ids[name]}" for kind, name in OF_ONE.items()),
    )
    topics = [regions.resolve(parse(name, workspace=cast.workspace)) for name in names]

    def moved(before: dict[Topic, object]) -> set[str]:
        now = regions.marks(topics)
        return {topic.kind for topic in topics if now[topic] != before[topic]}

    before = dict(regions.marks(topics))
    assert moved(before) == set()
    for topic in topics:
        assert regions.page_of(topic).mark == before[topic]
    cast.client("operator").post(f"/threads/{ids['queued']}/pause/")
    assert moved(before) == {"board", "thread"}
    before = dict(regions.marks(topics))
    cast.client("manager").post(
        f"/approvals/{ids['open']}/decide/",
        {
            "verdict": "approve",
            "proposal_hash": re.findall(
                r'name="proposal_hash" value="([0-9a-f]{64})"',
                cast.client("manager").get(f"/approvals/{ids['open']}/").content.decode(),
            )[0],
        },
    )
    assert moved(before) == {"board", "approvals", "approval"}
    before = dict(regions.marks(topics))
    cast.client("operator").post(f"/incidents/{ids['incident']}/take/")
    assert moved(before) >= {"incidents", "incident"}
