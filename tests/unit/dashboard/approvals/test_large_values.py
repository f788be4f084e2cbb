"""A value of megabytes in a proposal makes no page of megabytes, and its mark is honest."""

from __future__ import annotations

import re
from base64 import b64encode
from html import unescape
from random import Random
from typing import Any

import pytest

from dashboard.approvals.templatetags.decision import EXACT_MAX, exact_json
from dashboard.html import trees
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
# No text that a database packs: what is read of an output is bounded by its packed size.
PICTURE = "data:image/png;base64," + b64encode(Random(1).randbytes(2_775_000)).decode()
PAGE_MAX = 800_000  # bytes of any page, whatever one value has


@pytest.fixture
def request_with(cast: Cast) -> Any:
    """Make a request whose `note` was the output of a call, in a thread that waits."""

    def made(note: str) -> Any:
        work = scene.lease(scene.start(cast.workspace, scene.make_agent("pictures")))
        scene.step(work, report="ready")
        scene.effect(work, key="draw#0", result=note, args={})
        return scene.gate(work, args={"note": note, "to": "Ada"}, tool="mail.send")

    return made


@pytest.mark.slow
def test_no_page_about_it_is_large(cast: Cast, request_with: Any) -> None:
    row = request_with(PICTURE)
    addresses = {
        "manager": (
            f"/approvals/{row.id}/",
            f"/approvals/{row.id}/?exact=1",
            f"/approvals/{row.id}/report/",
            f"/approvals/{row.id}/edit/",
            f"/threads/{row.thread}/",
            f"/threads/{row.thread}/?tab=state",
            f"/threads/{row.thread}/?tab=anatomy",
            "/approvals/",
        ),
        "auditor": (f"/admin/approvals/approval/{row.id}/change/",),
    }
    large = {}
    for name, paths in addresses.items():
        for path in paths:
            answer = cast.client(name).get(path)
            assert answer.status_code == 200, path
            if len(answer.content) > PAGE_MAX:
                large[path] = len(answer.content)
    assert large == {}


@pytest.mark.slow
def test_the_whole_is_one_click_away_and_says_how_much_is_left_out(
    cast: Cast, request_with: Any
) -> None:
    row = request_with(PICTURE)
    client = cast.client("manager")
    page = client.get(f"/approvals/{row.id}/").content.decode()
    assert "more characters</a>" in page
    [link] = re.findall(r'href="([^"]+)">Exact JSON</a>', page)
    assert client.get(link).json()["args"]["note"] == PICTURE


@pytest.mark.slow
@pytest.mark.requirement("F15")
def test_a_long_text_is_fetched_when_it_is_unfolded(cast: Cast, request_with: Any) -> None:
    row = request_with(PICTURE)
    client = cast.client("manager")
    page = client.get(f"/approvals/{row.id}/").content.decode()
    assert len(page) < 60_000
    assert PICTURE[:400] in page
    assert PICTURE[400:500] not in page
    [link] = links(page)
    fetched, first = PICTURE[:400], link
    while link:
        answer = client.get(link, headers={"HX-Request": "true"})
        assert (answer.status_code, answer.headers["HX-Push-Url"]) == (200, "false")
        part = answer.content.decode()
        assert len(part) < 110_000
        fetched += re.findall(r'data-value="[^"]*">([^<]*)<', part)[0]
        link = next(iter(links(part)), "")
    assert fetched == PICTURE
    # Without scripts the same address is the page with the beginning of the text in it.
    page = client.get(first).content.decode()
    assert PICTURE[400:99_000] in page
    assert "<h1" in page


def links(html: str) -> list[str]:
    return [unescape(one) for one in re.findall(r'class="cut" href="([^"]+)"', html)]


def test_nobody_else_fetches_it_and_nothing_else_is_fetched(cast: Cast, request_with: Any) -> None:
    row = request_with(PICTURE)
    hx = {"HX-Request": "true"}
    at = f"/approvals/{row.id}/?text=/note"
    assert cast.client("stranger").get(at, headers=hx).status_code == 404
    for pointer in ("/none", "/note/0", "/to/x", "/"):
        answer = cast.client("manager").get(f"/approvals/{row.id}/?text={pointer}", headers=hx)
        assert answer.status_code == 404, pointer
    short = cast.client("manager").get(f"/approvals/{row.id}/?text=/to", headers=hx)
    assert ">Ada<" in short.content.decode()


def test_texts_beside_other_ones_are_short_on_the_page(cast: Cast, request_with: Any) -> None:
    client = cast.client("manager")
    row = request_with("before " + PICTURE)
    body = {"verdict": "approve", "proposal_hash": row.proposal_hash, "confirmed": "approve"}
    assert client.post(f"/approvals/{row.id}/decide/", body).status_code == 303
    page = client.get(f"/approvals/{request_with(PICTURE).id}/").content.decode()
    assert "<del>" in page
    assert len(page) < 80_000
    assert len(links(page)) == 1


def test_large_arguments_are_not_offered_for_an_edit(cast: Cast, request_with: Any) -> None:
    client = cast.client("manager")
    page = client.get(f"/approvals/{request_with(PICTURE).id}/edit/").content.decode()
    assert 'id="too-large"' in page
    assert 'data-decide="edit"' not in page
    page = client.get(f"/approvals/{request_with(PICTURE[:5_000]).id}/edit/").content.decode()
    assert 'id="too-large"' not in page
    assert 'data-decide="edit"' in page


@pytest.mark.slow
def test_a_text_that_only_an_unread_output_can_hold_is_not_called_the_agents_own(
    cast: Cast, request_with: Any
) -> None:
    client = cast.client("manager")
    row = request_with(PICTURE)
    result = client.get(f"/api/v1/approvals/{row.id}/").json()["receipts"]
    origins = {value["path"]: value["origin"] for value in result["values"]}
    assert origins == {"$.note": "unread", "$.to": "agent"}
    assert "1 large output" in result["unread"]
    assert (result["agent"], "1 too large to look up" in result["summary"]) == (1, True)
    page = client.get(f"/approvals/{row.id}/").content.decode()
    assert page.count("Not looked up") == 1

    # A shorter one is looked up: it is the call's output, byte for byte.
    row = request_with(PICTURE[:5_000])
    result = client.get(f"/api/v1/approvals/{row.id}/").json()["receipts"]
    assert {v["path"]: v["origin"] for v in result["values"]}["$.note"] == "recorded"


@pytest.mark.parametrize("n", [EXACT_MAX - 100, EXACT_MAX + 100, 10 * EXACT_MAX])
def test_exact_json_has_a_bound(n: int) -> None:
    result = exact_json({"a": "x" * n}, wanted=True)
    assert result["too_large"] is (n > EXACT_MAX)
    assert bool(result["text"]) is not result["too_large"]


@pytest.mark.parametrize("value", ["x" * 5_000_000, {"a": ["y" * 1_000_000] * 3}])
@pytest.mark.parametrize("whole", [False, True])
def test_a_tree_is_bounded_by_the_text_of_a_value(value: object, whole: bool) -> None:
    assert len(trees.render({"v": value}, whole=whole)) < PAGE_MAX
