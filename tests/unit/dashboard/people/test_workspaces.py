"""A member of two workspaces acts in the one that they chose, and sees nothing of the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from approvals import queries as requests
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from dashboard.identity import tokens
from dashboard.identity.permissions import Actor
from dashboard.identity.visitors import visitor
from dashboard.live.consumers import OtherWorkspace, read_join
from tests.contract.written import everything
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.kit.pages.test_addresses import patterns

pytestmark = pytest.mark.django_db
MARKS = ("Northern", "Southern")
ROLES = ("operator", "reviewer", "auditor", "admin")


class Both:
    """Somebody with every role in two workspaces, each with a thread that waits for a decision."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.user = cast.users["nobody"]
        self.places: list[UUID] = []
        self.rows: list[ApprovalRow] = []
        agent = scene.make_agent()
        for mark in MARKS:
            workspace = store.create_workspace(mark, actor="user:0")
            for role in ROLES:
                store.grant(workspace, self.user.pk, role, actor="user:0")
            thread = store.start(
                agent,
                input={"goal": f"{mark} goal"},
                workspace=workspace,
                actor="user:1",
                title=f"{mark} thread",
                labels={"of": mark},
            )
            work = scene.lease(thread)
            scene.step(work, report="draft")
            self.rows.append(scene.gate(work, title=f"{mark} request"))
            self.places.append(workspace)
        self.client = cast.client("nobody")

    def choose(self, n: int) -> Any:
        return self.client.post("/workspace/", {"workspace": str(self.places[n])})

    def marked(self, n: int) -> set[str]:
        """What names the workspace: words and ids."""
        row = self.rows[n]
        return {f"{MARKS[n]} thread", f"{MARKS[n]} request", str(row.thread), str(row.id)}


@pytest.fixture
def both(cast: Cast) -> Both:
    return Both(cast)


def addresses(both: Both, n: int) -> Iterator[str]:
    """Every address of the site that takes no other arguments than ids of threads and requests."""
    values = {"thread_id": both.rows[n].thread, "approval_id": both.rows[n].id}

    def walk(patterns: Any, prefix: str) -> Iterator[str]:
        for one in patterns:
            route = prefix + str(one.pattern).replace("\\Z", "")
            if isinstance(one, URLResolver):
                yield from walk(one.url_patterns, route)
            elif isinstance(one, URLPattern):
                yield route

    for route in walk(get_resolver().url_patterns, ""):
        address = route
        for name, value in values.items():
            address = address.replace(f"<uuid:{name}>", str(value))
        if not re.search(r"[<>^$()]|^(logout|healthz|readyz)", address):
            yield f"/{address}"


@pytest.mark.nightly
def test_no_page_shows_anything_of_the_other_workspace(both: Both) -> None:
    seen = 0
    for n, other in ((0, 1), (1, 0)):
        assert both.choose(n).status_code == 303
        pages = set(addresses(both, n)) | {
            "/?q=thread",
            "/approvals/?box=open",
            "/approvals/?box=mine",
            "/api/v1/threads/?q=thread",
            "/api/v1/approvals/?status=pending",
        }
        for page in sorted(pages):
            answer = both.client.get(page)
            assert answer.status_code < 500, page
            text = b"".join(answer) if answer.streaming else answer.content
            for mark in both.marked(other):
                assert mark.encode() not in text, (page, mark)
            seen += any(mark.encode() in text for mark in both.marked(n))
        for page in addresses(both, other):
            answer = both.client.get(page)
            text = b"".join(answer) if answer.streaming else answer.content
            # The ids stand in the address that was asked for.
            for mark in (f"{MARKS[other]} thread", f"{MARKS[other]} request"):
                assert mark.encode() not in text, (page, mark)
    assert seen >= 40, "the pages did show the chosen one"


def test_the_header_names_the_workspace_and_offers_the_others(both: Both) -> None:
    text = both.client.get("/").content.decode()
    assert 'id="workspaces"' in text
    assert re.search(rf'name="workspace" value="{both.places[1]}">\s*Southern\s*<', text)
    assert both.choose(1).url == "/"
    text = both.client.get("/").content.decode()
    assert "You are in the workspace Southern now." in text
    assert re.search(rf'name="workspace" value="{both.places[0]}">\s*Northern\s*<', text)
    assert "Switch to Northern" in both.client.get("/admin/").content.decode()
    assert 'id="workspaces"' not in both.cast.client("operator").get("/").content.decode()


def test_a_link_into_the_other_workspace_offers_the_switch(both: Both) -> None:
    both.choose(0)
    row = both.rows[1]
    for address in (f"/threads/{row.thread}/?tab=state", f"/approvals/{row.id}/"):
        answer = both.client.get(address)
        text = answer.content.decode()
        assert answer.status_code == 404
        assert "Switch to Southern" in text
        assert "Southern thread" not in text
        [following] = re.findall(r'name="next" value="([^"]+)"', text)
        form = {"workspace": str(both.places[1]), "next": following}
        there = both.client.post("/workspace/", form, follow=True)
        assert there.status_code == 200
        assert there.request["PATH_INFO"] + "?" + there.request["QUERY_STRING"] in (
            address,
            f"{address}?",
        )
        assert "Southern" in there.content.decode()
        both.choose(0)
    stranger = both.cast.client("operator").get(f"/threads/{row.thread}/")
    assert stranger.status_code == 404
    assert b"Southern" not in stranger.content


def test_only_ones_own_can_be_chosen_and_a_lost_one_is_left(both: Both) -> None:
    for wanted in (both.cast.workspace, "nothing", ""):
        assert both.client.post("/workspace/", {"workspace": str(wanted)}).status_code == 404
    assert both.client.get("/workspace/").status_code == 405
    both.choose(1)
    for role in ("operator", "reviewer", "auditor"):
        store.withdraw(both.places[1], both.user.pk, role, actor="user:0")
    assert b"Southern thread" in both.client.get("/").content
    store.grant(both.places[1], both.cast.users["admin"].pk, "admin", actor="user:0")
    store.withdraw(both.places[1], both.user.pk, "admin", actor="user:0")
    text = both.client.get("/").content
    assert b"Northern thread" in text
    assert b"Southern" not in text


def test_sockets_follow_the_login(both: Both) -> None:
    key = both.client.session.session_key
    first = visitor(key)
    both.choose(1)
    second = visitor(both.client.session.session_key)
    assert isinstance(first, Actor)
    assert isinstance(second, Actor)
    assert (first.workspace, second.workspace) == tuple(both.places)


def test_a_token_keeps_to_its_workspace_whatever_the_login_chose(both: Both) -> None:
    _, secret = tokens.make(both.user, made_by="user:0", workspace="Southern")
    both.choose(0)
    head = {"Authorization": f"Bearer {secret}"}
    for client in (Client(), both.client):
        result = client.get("/api/v1/threads/", headers=head).json()["results"]
        assert [row["title"] for row in result] == ["Southern thread"]
    address = f"/api/v1/threads/{both.rows[0].thread}/"
    assert Client().get(address, headers=head).status_code == 404
    assert queries.in_workspace([both.rows[0].thread], workspace=both.places[0])


def mark(text: str) -> set[str]:
    """The workspaces that the forms of a page say they belong to."""
    return set(re.findall(r'name="acts_in" value="([^"]+)"', text))


PAGES = ("/", "/approvals/", "/threads/new/", "/incidents/", "/subscriptions/", "/overview/")
PAGES += ("/overview/budgets/", "/erasures/", "/account/sign-ins/", "/breakers/trip/?agent=x")
PAGES += ("/admin/", "/admin/policies/", "/admin/search/", "/admin/auth/user/add/")
PAGES += ("/admin/retention/",)
PAGES += ("/threads/{thread}/", "/threads/{thread}/edit/", "/threads/{thread}/cancel/")
PAGES += ("/approvals/{request}/", "/approvals/{request}/edit/")


@pytest.mark.slow
def test_every_form_says_which_workspace_its_page_showed(both: Both) -> None:
    """And every page shows which, with the switch: in the frame, on a phone and by key."""
    both.choose(1)
    row, forms = both.rows[1], 0
    for page in PAGES:
        text = both.client.get(page.format(thread=row.thread, request=row.id)).content.decode()
        sent = [form for form in text.split("<form")[1:] if 'method="post"' in form[:400]]
        unmarked = [form[:200] for form in sent if not mark(form.partition("</form>")[0])]
        assert not unmarked, (page, unmarked)
        assert mark(text) == {str(both.places[1])}, page
        assert "Southern" in text, page
        assert f'value="{both.places[0]}"' in text, (page, "no way to the other one")
        if not page.startswith("/admin/"):
            assert 'data-key="w"' in text, page
            assert f'data-workspace="{both.places[1]}"' in text, page
        forms += len(sent)
    assert forms >= 60


ENTRIES = (
    *("login", "login_code", "welcome", "violations", "logout", "workspace"),
    *("healthz", "readyz", "metrics"),
)


# Every form of a page, sent from a window that shows the other workspace.
@pytest.mark.slow
def test_a_form_of_the_other_workspace_is_never_done_in_this_one(both: Both) -> None:
    """Every address that takes a form: refused with 409 before anything is read or written."""
    both.choose(0)
    old = {"acts_in": str(both.places[1])}
    before = everything()
    n = 0
    for address, pattern in patterns():
        name = pattern.name or ""
        if name in ENTRIES:
            continue
        path = "/" + re.sub(r"<[a-z]+:(\w+)>", lambda part: str(ids(both, part[1])), address)
        answer = both.client.post(path, old)
        if answer.status_code in (404, 405):
            continue  # an address that takes no form
        assert answer.status_code == 409, (path, answer.status_code)
        assert "Switch to Southern" in answer.content.decode(), path
        n += 1
    assert n >= 40, n
    for path in ("/admin/policies/add/", "/admin/auth/user/add/", "/admin/policies/cap/"):
        assert both.client.post(path, old).status_code == 409, path
    after = everything()
    assert {name for name in after if after[name] != before[name]} <= {"django_session"}


def ids(both: Both, name: str) -> object:
    """Something for a parameter of an address."""
    row = both.rows[0]
    known: dict[str, object] = {"thread_id": row.thread, "approval_id": row.id, "name": "spending"}
    return known.get(name, "0" * 64 if name == "sha256" else row.id)


def test_two_windows_in_two_workspaces(both: Both) -> None:
    """A decision of the first window, sent after the second one switched, is done in neither."""
    both.choose(0)
    first = both.client.get(f"/approvals/{both.rows[0].id}/").content.decode()
    both.choose(1)
    [shown] = mark(first)
    form = {"verdict": "approve", "proposal_hash": both.rows[0].standing_hash, "acts_in": shown}
    page = f"/approvals/{both.rows[0].id}/"
    came = {"HTTP_REFERER": f"http://testserver{page}"}
    answer = both.client.post(f"{page}decide/", form, **came)
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "This page showed the workspace Northern; you are in Southern now" in text
    assert f'name="next" value="{page}"' in text
    assert requests.approval(both.rows[0].id, workspace=both.places[0]).open
    both.choose(0)
    assert both.client.post(f"{page}decide/", form).status_code == 303
    assert not requests.approval(both.rows[0].id, workspace=both.places[0]).open


def test_a_poll_and_a_socket_of_the_other_workspace_show_nothing(both: Both) -> None:
    both.choose(0)
    poll = {"X-Gatepost-Regions": "nav-approvals", "X-Gatepost-Workspace": str(both.places[1])}
    assert both.client.get("/", headers=poll).status_code == 403
    poll["X-Gatepost-Workspace"] = str(both.places[0])
    assert both.client.get("/", headers=poll).status_code == 200
    join = json.dumps({"type": "join", "workspace": str(both.places[1]), "topics": {"board": 0}})
    assert read_join(join, workspace=both.places[1])
    with pytest.raises(OtherWorkspace):
        read_join(join, workspace=both.places[0])
