"""Pages, pushes and calls of a thread whose contents lie on a drive that is away."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.files.storage import default_storage
from django.test import Client

from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.errors import ContentAway
from checkpoints.states import Status
from dashboard.live import regions
from dashboard.live.process import HubSource
from dashboard.wire.topics import parse
from tests.support.cast import Cast
from tests.unit.dashboard.carried import run
from tests.unit.workers.conftest import Bench, bench_of

from . import agents
from .agents import LARGE, text_of
from .test_contract import sha_of

pytestmark = [pytest.mark.requirement("B12"), pytest.mark.requirement("B14")]

OUT_OF_REACH = "The contents of this state can’t be loaded."
MESSAGE = "is its drive mounted?"


@dataclass
class Drive:
    """A thread at its gate, and the folder that holds its contents."""

    bench: Bench
    thread: UUID
    aside: Path

    @property
    def mount(self) -> Path:
        return Path(default_storage.path("threads"))

    def unmount(self) -> None:
        self.mount.rename(self.aside)

    def break_down(self) -> None:
        """A mount that answers with an error: here a file in the place of the folder."""
        self.unmount()
        self.mount.write_text("Input/output error")

    def mount_again(self) -> None:
        self.mount.unlink(missing_ok=True)
        self.aside.rename(self.mount)


@pytest.fixture
def drive(cast: Cast, tmp_path: Path, settings: Any) -> Drive:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    }
    bench = replace(bench_of(agents.module_of("file")), workspace=cast.workspace)
    thread = bench.start(folder=str(tmp_path), rounds=1)
    assert bench.advance(thread).status is Status.WAITING
    return Drive(bench, thread, tmp_path / "unmounted")


def regions_of(page: str) -> dict[str, str]:
    """The elements of a page that carry a region, by id, as far as their first line."""
    return dict(re.findall(r'<[a-z]+ id="([a-z-]+)"[^>]*data-region="([a-z-]+)"', page))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["unmount", "break_down"])
def test_the_page_opens_and_only_what_needs_the_state_says_so(
    cast: Cast, drive: Drive, how: str
) -> None:
    client: Client = cast.client("operator")
    at = f"/threads/{drive.thread}/"
    whole = client.get(at).content.decode()
    assert OUT_OF_REACH not in whole
    request = drive.bench.open(drive.thread)
    getattr(drive, how)()
    head = drive.bench.row(drive.thread).number
    for query in ("", "?tab=state", f"?cp={head}", f"?cp={head}&tab=state", "?cp=0"):
        answer = client.get(at + query)
        page = answer.content.decode()
        assert answer.status_code == 200, query
        assert regions_of(page) == regions_of(whole), query
        if query == "?cp=0":
            # What is small lies in the database.
            assert OUT_OF_REACH not in page
            continue
        assert page.count(OUT_OF_REACH) == 1, query
        assert (MESSAGE in page) is (how == "unmount")
        assert "Tried at" in page
        assert "Nothing is lost" in page
        assert str(drive.aside.parent) not in page, "no path of this machine"
        assert f'href="/approvals/{request.id}/"' in page, "the gate"
        assert "approval.requested" in page, "the history"
        assert f"/threads/{drive.thread}/fork/" in page
        assert f"/threads/{drive.thread}/rollback/" in page
        assert "Files that only the state refers to are not listed" in page
        counted = "its files can’t be reached and are not counted"
        assert (counted in page) is (how == "break_down")
    for page in ("/", "/approvals/", f"/approvals/{request.id}/"):
        assert client.get(page).status_code == 200, page
    # A poll for all regions is answered whole.
    names = ",".join(sorted(regions.of_topic("thread")))
    polled = client.get(at, headers={"X-Gatepost-Regions": names})
    assert polled.status_code == 200
    html = polled.json()["regions"]
    assert html.keys() == regions.of_topic("thread")
    assert [name for name in html if OUT_OF_REACH in html[name]] == ["thread-state"]
    drive.mount_again()
    again = client.get(at).content.decode()
    assert OUT_OF_REACH not in again
    assert regions_of(again) == regions_of(whole)


def test_other_entries_to_it(cast: Cast, drive: Drive, client: Client) -> None:
    """The records open; what needs the state is 503, what needs none is not."""
    request = drive.bench.open(drive.thread)
    head = drive.bench.row(drive.thread).head
    first = queries.checkpoint_by_number(drive.thread, 0).id
    drive.unmount()
    operator: Client = cast.client("operator")
    api = f"/api/v1/threads/{drive.thread}/"
    for call in ("", "events/", "checkpoints/", "activities/"):
        assert operator.get(api + call).status_code == 200, call
    assert operator.get("/api/v1/approvals/").status_code == 200
    assert operator.get(f"/api/v1/approvals/{request.id}/").status_code == 200
    assert operator.get(f"{api}state/?checkpoint={first}").status_code == 200
    for call in ("state/", f"diff/?from={first}", "capsule/"):
        answer = operator.get(api + call)
        assert answer.status_code == 503, call
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:gatepost:problem:storage-away"
        assert MESSAGE in answer.json()["detail"]
    edited = operator.post(
        f"{api}edit/",
        {"changes": {"done": 3}, "reason": "Other."},
        content_type="application/json",
    )
    assert edited.status_code == 503
    page = operator.get(f"/threads/{drive.thread}/edit/")
    assert page.status_code == 503
    assert MESSAGE in page.content.decode()
    assert f'href="/threads/{drive.thread}/"' in page.content.decode(), "the way back"
    assert operator.get(f"/threads/{drive.thread}/rollback/?checkpoint={first}").status_code == 200
    auditor: Client = cast.client("auditor")
    for page_of in (
        f"thread/{drive.thread}/change/",
        f"checkpoint/?thread_id={drive.thread}",
        f"content/?thread_id={drive.thread}",
        f"event/?thread_id={drive.thread}",
    ):
        response = auditor.get(f"/admin/checkpoints/{page_of}", follow=True)
        assert response.status_code == 200, page_of
    assert drive.bench.row(drive.thread).head == head, "nothing was written"
    for call, status in (("pause", 200), ("resume", 200), ("pause", 200), ("rollback", 202)):
        body = {"checkpoint": str(first), "reason": "Anew."} if call == "rollback" else {}
        done = operator.post(f"{api}{call}/", body, content_type="application/json")
        assert done.status_code == status, (call, done.content)


@pytest.mark.parametrize("how", ["unmount", "break_down"])
def test_a_thread_whose_drive_is_away_is_not_called_broken(
    cast: Cast, drive: Drive, how: str
) -> None:
    """Nothing is known of it, and what was known stays; damage is still found afterwards."""
    client: Client = cast.client("auditor")
    at = f"/api/v1/threads/{drive.thread}/verify/"
    first = client.post(at, content_type="application/json")
    assert first.status_code == 200, first.content
    assert first.json()["intact"]
    noted = queries.verification(drive.thread)
    getattr(drive, how)()
    with pytest.raises(ContentAway):
        verify(drive.thread)
    answer = client.post(at, content_type="application/json")
    assert (answer.status_code, answer.json()["type"]) == (
        503, "urn:gatepost:problem:storage-away",
    )  # fmt: skip
    code, output, _ = run("verify")
    assert (code, output["intact"], output["broken"]) == (1, False, [])
    assert [item["id"] for item in output["unverified"]] == [str(drive.thread)]
    assert queries.verification(drive.thread) == noted
    drive.mount_again()
    code, output, _ = run("verify")
    assert (code, output["intact"], output["unverified"]) == (0, True, [])
    for content in drive.mount.rglob("contents/*"):
        content.unlink()
        break
    code, output, _ = run("verify", str(drive.thread))
    assert (code, len(output["broken"]), output["unverified"]) == (1, 1, [])


@pytest.mark.parametrize("entry", ["page", "api"])
def test_a_decision_needs_no_contents(cast: Cast, drive: Drive, entry: str) -> None:
    request = drive.bench.open(drive.thread)
    reviewer: Client = cast.client("manager")
    drive.unmount()
    if entry == "page":
        message: Any = reviewer.post(
            f"/approvals/{request.id}/decide/",
            {
                "verdict": "approve",
                "confirmed": "1",
                "known": "1",
                "proposal_hash": request.proposal_hash,
            },
        )
        assert message.status_code in (302, 303), message.content
    else:
        message = reviewer.post(
            f"/api/v1/approvals/{request.id}/decide/",
            {"verdict": "approve", "proposal_hash": request.proposal_hash},
            content_type="application/json",
        )
        assert message.status_code == 200, message.content
    assert drive.bench.row(drive.thread).status is Status.QUEUED
    drive.mount_again()
    assert drive.bench.advance(drive.thread).status is Status.SUCCEEDED


def test_a_fork_without_changes_needs_no_contents(cast: Cast, drive: Drive) -> None:
    client: Client = cast.client("operator")
    at = f"/threads/{drive.thread}/fork/"
    full = client.get(at).content.decode()
    assert 'name="f-text"' in full
    assert 'name="as_it_is"' not in full
    drive.unmount()
    page = client.get(at)
    assert page.status_code == 200
    shown = page.content.decode()
    assert 'name="f-text"' not in shown
    assert 'name="as_it_is"' in shown
    assert MESSAGE in shown
    # A form that was opened before would change what nobody can compare.
    before = queries.forks_of(drive.thread)
    assert client.post(at, {"f-text": "short", "title": "Changed"}).status_code == 503
    assert queries.forks_of(drive.thread) == before
    assert client.post(at, {"as_it_is": "1", "title": "As it is"}).status_code == 303
    head = str(drive.bench.row(drive.thread).head)
    body = {"checkpoint": head, "title": "By API"}
    kinds = {"content_type": "application/json"}
    api = f"/api/v1/threads/{drive.thread}/fork/"
    assert client.post(api, body, **kinds).status_code == 201
    assert client.post(f"{api}?preview=1", body, **kinds).status_code == 200
    changed = body | {"changes": {"text": "z" * LARGE}}
    assert client.post(api, changed, **kinds).status_code == 503
    drive.mount_again()
    # The form of then is still taken for what it was.
    assert client.post(at, {"as_it_is": "1", "title": "Late"}).status_code == 303
    born = {fork.title: fork for fork in queries.forks_of(drive.thread)}
    assert born.keys() == {"As it is", "By API", "Late"}
    for fork in born.values():
        assert drive.bench.state(fork.id) == drive.bench.state(drive.thread)
        assert drive.bench.advance(fork.id).status is Status.WAITING


def test_a_push_shows_the_rest_and_the_state_when_it_is_back(cast: Cast, drive: Drive) -> None:
    topic = regions.resolve(parse(f"thread:{drive.thread}", workspace=cast.workspace))
    wanted = {frozenset({"operator"}): regions.of_topic("thread")}
    memo: dict[str, Any] = {}

    def look() -> Any:
        result = HubSource.look.__wrapped__(HubSource(), topic, wanted, None, memo)
        assert result is not None
        (html,) = result.html.values()
        assert html.keys() == regions.of_topic("thread")
        return html

    drive.unmount()
    away = look()
    assert [name for name in away if OUT_OF_REACH in away[name]] == ["thread-state"]
    drive.mount_again()
    back = look()
    assert OUT_OF_REACH not in back["thread-state"], "what could not be read is not remembered"
    assert "not listed" not in back["thread-artifacts"]
    drive.unmount()
    assert look()["thread-state"] == back["thread-state"], "a checkpoint never changes"
    drive.mount_again()


def test_a_region_that_fails_keeps_no_other_from_being_pushed(
    cast: Cast, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = regions.resolve(parse(f"thread:{drive.thread}", workspace=cast.workspace))
    wanted = {frozenset({role}): regions.of_topic("thread") for role in ("operator", "viewer")}
    real = regions.render

    def look() -> Any:
        result = HubSource.look.__wrapped__(HubSource(), topic, wanted, None, {})
        assert result is not None
        return result

    def failing(page: Any, name: str, roles: Any) -> str:
        if name in ("thread-plan", "thread-note"):
            raise KeyError("a graph that nobody thought of")
        return real(page, name, roles)

    monkeypatch.setattr(regions, "render", failing)
    result = look()
    for html in result.html.values():
        assert html.keys() == regions.of_topic("thread") - {"thread-plan", "thread-note"}
    assert result.mark is None, "it is looked at again"
    monkeypatch.setattr(regions, "render", real)
    result = look()
    assert all(html.keys() == regions.of_topic("thread") for html in result.html.values())
    assert result.mark is not None


@pytest.mark.parametrize("how", ["altered", "gone"])
def test_a_damaged_content_hides_no_history(
    cast: Cast, drive: Drive, how: str, change: Callable[[Path, str], None]
) -> None:
    change(drive.mount / str(drive.thread) / "contents" / f"{sha_of(text_of(0))}.json", how)
    client: Client = cast.client("operator")
    answer = client.get(f"/threads/{drive.thread}/")
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "This state cannot be shown." in page
    assert OUT_OF_REACH not in page
    assert f"/threads/{drive.thread}/rollback/" in page
    assert client.get(f"/api/v1/threads/{drive.thread}/state/").status_code == 409


def test_a_state_is_shown_though_the_one_before_it_is_damaged(
    cast: Cast, drive: Drive, change: Callable[[Path, str], None]
) -> None:
    drive.bench.edit(drive.thread, {"text": "mended by hand"}, "It was damaged.")
    change(drive.mount / str(drive.thread) / "contents" / f"{sha_of(text_of(0))}.json", "gone")
    client: Client = cast.client("operator")
    for query in ("", "?tab=state"):
        page = client.get(f"/threads/{drive.thread}/{query}").content.decode()
        assert "mended by hand" in page, query
        assert "The changes can’t be shown" in page
        assert "This state cannot be shown." not in page
        assert "not listed" not in page


@pytest.fixture
def change() -> Callable[[Path, str], None]:
    """Alters a content, or loses it."""

    def changed(content: Path, how: str) -> None:
        raw = content.read_bytes()
        content.unlink()
        if how == "altered":
            content.write_bytes(raw.replace(b"even", b"EVEN", 1))

    return changed
