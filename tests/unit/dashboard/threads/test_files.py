"""Files of a thread by the API, which MCP tools call: added, listed, read in pieces."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any
from uuid import UUID, uuid4

import pytest

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from dashboard.threads import files
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import make_thread
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F11")]


class Door:
    """The calls of one person about one thread."""

    def __init__(self, cast: Cast, thread: UUID, who: str = "operator") -> None:
        self.client, self.thread = cast.client(who), thread

    def get(self, path: str = "", *, status: int = 200, **query: Any) -> Any:
        answer = self.client.get(f"/api/v1/threads/{self.thread}/files/{path}", query)
        assert answer.status_code == status, answer.content.decode()
        return answer.json()

    def add(self, name: str, *, status: int = 201, **content: Any) -> Any:
        answer = self.client.post(
            f"/api/v1/threads/{self.thread}/files/",
            json.dumps({"name": name, **content}),
            content_type="application/json",
        )
        assert answer.status_code == status, answer.content.decode()
        return answer.json()

    def whole(self, sha: str, length: int) -> tuple[bytes, int]:
        """(the bytes of a file read in pieces, how many pieces)."""
        raw, offset, n = b"", 0, 0
        while offset is not None:
            piece = self.get(f"{sha}/", offset=offset, length=length)
            assert (piece["text"] is None) is not (piece["base64"] is None)
            raw += b64decode(piece["base64"]) if piece["text"] is None else piece["text"].encode()
            offset, n = piece["next_offset"], n + 1
        return raw, n


def thread_of(cast: Cast, **more: Any) -> UUID:
    return make_thread(workspace=cast.workspace, **more)


def test_a_file_is_added_listed_and_read(cast: Cast) -> None:
    door = Door(cast, thread_of(cast))
    ref = door.add("../north.csv", text="a,b\n1,2\n")
    assert (ref["name"], ref["media_type"], ref["size"]) == ("north.csv", "text/csv", 8)
    [stored] = door.get()["stored"]
    assert stored["sha256"] == ref["$artifact"]
    assert stored["actor"].startswith("user:")
    assert stored["node"] == ""
    piece = door.get(f"{ref['$artifact']}/")
    assert (piece["text"], piece["next_offset"]) == ("a,b\n1,2\n", None)
    report = verify_thread(door.thread)
    assert report.intact, report.what
    # Whoever may look reads it, and adds none.
    viewer = Door(cast, door.thread, "viewer")
    assert viewer.get(f"{ref['$artifact']}/") == piece
    viewer.add("a.txt", text="x", status=403)


@pytest.mark.slow
@pytest.mark.parametrize(
    "raw", [b"", b"plain", "äöü€🙂".encode() * 50, bytes(range(256)) * 3, b"\xff\xfe" * 40, b"a\0b"]
)
@pytest.mark.parametrize("length", [4, 7, 1_000])
def test_pieces_add_up_to_the_bytes_of_the_file(cast: Cast, raw: bytes, length: int) -> None:
    door = Door(cast, thread_of(cast))
    ref = door.add("a.bin", base64=b64encode(raw).decode())
    result, n_pieces = door.whole(ref["$artifact"], length)
    assert result == raw
    assert n_pieces <= max(1, -(-len(raw) // max(1, length - 3)))


def test_files_of_the_state_are_listed_and_read_at_each_checkpoint(cast: Cast) -> None:
    ref = store.put_artifact(
        cast.workspace, name="list.csv", media_type="text/csv", chunks=[b"1,2\n"]
    )
    thread = scene.start(cast.workspace, scene.make_agent("files"), file=ref)
    door = Door(cast, thread)
    first = str(queries.thread(thread, workspace=cast.workspace).head)
    assert door.get()["state"] == [ref]
    assert door.get(f"{ref['$artifact']}/")["text"] == "1,2\n"
    store.pause(thread, actor="user:1")
    store.edit(thread, changes={"file": None}, reason="", actor="user:1")
    assert door.get()["state"] == []
    door.get(f"{ref['$artifact']}/", status=404)
    assert door.get(checkpoint=first)["state"] == [ref]
    assert door.get(f"{ref['$artifact']}/", checkpoint=first)["text"] == "1,2\n"


def test_a_file_of_another_thread_is_not_read_by_way_of_this_one(cast: Cast) -> None:
    other = Door(cast, thread_of(cast))
    ref = other.add("a.txt", text="theirs")
    door = Door(cast, thread_of(cast))
    problem = door.get(f"{ref['$artifact']}/", status=404)
    assert "its list names them" in problem["detail"]
    door.get("nonsense/", status=404)
    stranger = Door(cast, other.thread, "stranger")
    stranger.get(f"{ref['$artifact']}/", status=404)
    stranger.add("a.txt", text="x", status=404)


def test_sizes_are_bounded(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door(cast, thread_of(cast))
    most = files.ADDED_MAX
    door.add("most.txt", text="x" * most)
    assert door.add("a.txt", text="ä" * (most // 2 + 1), status=413)["path"] == "$.text"
    assert door.add("a.txt", text="x" * (most + 1), status=422)["path"] == "$.text"
    large = b64encode(bytes(most + 1)).decode()
    assert door.add("a.txt", base64=large, status=413)["path"] == "$.base64"
    [stored] = door.get()["stored"]
    door.get(f"{stored['sha256']}/", length=files.PIECE_MAX + 1, status=422)
    assert len(door.get(f"{stored['sha256']}/")["text"]) == files.PIECE
    past = door.get(f"{stored['sha256']}/", offset=most + 5)
    assert (past["text"], past["next_offset"]) == ("", None)
    monkeypatch.setattr(files, "READ_MAX", most - 1)
    door.get(f"{stored['sha256']}/", status=413)


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({}, "$.text"),
        ({"text": "x", "base64": "eA=="}, "$.base64"),
        ({"base64": "no base64!"}, "$.base64"),
        ({"base64": "eA"}, "$.base64"),
        ({"text": 7}, "$.text"),
        ({"text": "x", "more": 1}, "$.more"),
    ],
)
def test_bad_content_is_refused_with_its_path(cast: Cast, content: Any, path: str) -> None:
    door = Door(cast, thread_of(cast))
    assert door.add("a.txt", **content, status=422)["path"] == path
    assert door.get()["stored"] == []


def test_pages_of_stored_files_go_on_after_the_last(cast: Cast) -> None:
    door = Door(cast, thread_of(cast))
    for number in range(5):
        door.add(f"{number}.txt", text=str(number))
    first = door.get(limit=3)
    second = door.get(limit=3, after=first["next_after"])
    names = [one["name"] for one in first["stored"] + second["stored"]]
    assert names == [f"{number}.txt" for number in range(5)]
    assert second["next_after"] is None


def test_a_thread_that_is_nobodys_takes_none(cast: Cast) -> None:
    Door(cast, uuid4()).add("a.txt", text="x", status=404)
