"""Files in a bucket, on servers that speak S3 over HTTP, with and without faults on the way."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.test import override_settings

from checkpoints import payloads
from checkpoints.errors import ContentAway, CorruptHistory
from checkpoints.payloads import s3
from checkpoints.views import ArtifactRow
from dashboard.configuration import storage as configuration
from tests.support import buckets
from tests.support.buckets import BUCKET, FaultyServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.requirement("E04"),
    pytest.mark.requirement("B17"),
]

LONG = os.urandom(3_000_000)
PATH = "artifacts/here/" + "a" * 64


@dataclass
class Bucket:
    """The place of one test in a bucket: below a prefix that no other test has."""

    url: str
    client: Any
    prefix: str

    def chosen(self, url: str = "", key: str = buckets.KEY, secret: str = buckets.SECRET) -> Any:
        """Settings as GATEPOST_STORAGE makes them."""
        address = f"s3://{BUCKET}/{self.prefix}?endpoint={url or self.url}"
        files = configuration.files(address, key=key, secret=secret)
        return override_settings(STORAGES={"default": files})

    def keys(self) -> list[str]:
        """Names of what lies there, below the prefix."""
        listed = self.client.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.prefix}/")
        return [
            entry["Key"].removeprefix(f"{self.prefix}/") for entry in listed.get("Contents", ())
        ]

    def put(self, name: str, raw: bytes) -> None:
        """Put bytes there past the storage."""
        self.client.put_object(Bucket=BUCKET, Key=f"{self.prefix}/{name}", Body=raw)


@pytest.fixture(scope="module", params=["moto", "seaweedfs"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("weed")
    with buckets.moto() if request.param == "moto" else buckets.seaweedfs(folder) as url:
        buckets.client(url).create_bucket(Bucket=BUCKET)
        yield url


@pytest.fixture
def bucket(server: str) -> Iterator[Bucket]:
    """The storage of files of this test."""
    files = Bucket(server, buckets.client(server), f"of/{uuid4().hex}")
    with files.chosen():
        yield files


@pytest.fixture
def proxy(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """The same place behind a proxy that breaks what it is told."""
    monkeypatch.setattr(s3, "READ_SECONDS", 1)
    with buckets.faulty(bucket.url) as faulty, bucket.chosen(faulty.url):
        yield faulty


def row_of(raw: bytes, path: str) -> ArtifactRow:
    sha = hashlib.sha256(raw).hexdigest()
    return ArtifactRow(
        sha256=sha, name="list.bin", media_type="application/octet-stream", size=len(raw), path=path
    )


def saved(raw: bytes) -> ArtifactRow:
    _, _, path = payloads.store_file([raw], lambda sha: f"artifacts/here/{sha[:2]}/{sha}")
    return row_of(raw, path)


def test_a_file_lies_below_the_prefix_and_is_streamed_proved_and_read_from_any_place(
    bucket: Bucket,
) -> None:
    row = saved(LONG)
    assert bucket.keys() == [row.path]
    with payloads.opened(row) as file:
        assert file.read() == LONG
    with default_storage.open(row.path) as file:
        file.seek(2_000_000)
        assert file.read(10) == LONG[2_000_000:2_000_010]
        file.seek(-5, os.SEEK_END)
        assert file.read() == LONG[-5:]
        assert file.read() == b""
        file.seek(7)
        assert file.read(3) == LONG[7:10]
    default_storage.delete(row.path)
    default_storage.delete(row.path)
    assert not default_storage.exists(row.path)
    assert bucket.keys() == []


def test_an_empty_file_is_a_file(bucket: Bucket) -> None:
    row = saved(b"")
    with payloads.opened(row) as file:
        assert file.read() == b""


def test_what_is_not_there_has_the_errors_of_a_folder(bucket: Bucket) -> None:
    with pytest.raises(FileNotFoundError):
        default_storage.size("artifacts/none")
    with pytest.raises(FileNotFoundError), default_storage.open("artifacts/none") as file:
        file.read()
    assert not default_storage.exists("artifacts/none")
    assert default_storage.listdir("artifacts") == ([], [])
    with pytest.raises(CorruptHistory, match="are gone from the storage"):
        payloads.prove(row_of(b"x", "artifacts/none"))


def test_a_bucket_that_is_gone_is_no_damage(bucket: Bucket) -> None:
    bucket.client.create_bucket(Bucket="for-a-while")
    files = configuration.files(
        f"s3://for-a-while?endpoint={bucket.url}", key=buckets.KEY, secret=buckets.SECRET
    )
    with override_settings(STORAGES={"default": files}):
        row = saved(b"bytes")
        bucket.client.delete_object(Bucket="for-a-while", Key=row.path)
        bucket.client.delete_bucket(Bucket="for-a-while")
        for look in (
            lambda: payloads.prove(row),
            lambda: payloads.of_kind("file").get([uuid4()], ["0" * 64]),
        ):
            with pytest.raises(ContentAway, match="The bucket is not there"):
                look()


def test_saving_replaces_at_once_and_many_writers_of_one_name_leave_it_whole(
    bucket: Bucket,
) -> None:
    store, thread = payloads.of_kind("file"), uuid4()
    raw = LONG[:200_000]
    sha, start, wrong = hashlib.sha256(raw).hexdigest(), Barrier(6), []

    def write() -> None:
        start.wait()
        for _ in range(5):
            store.put(thread, {sha: raw})
            if store.get([thread], [sha]) != {sha: raw}:
                wrong.append(1)

    crowd = [Thread(target=write) for _ in range(6)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert not wrong
    assert bucket.keys() == [f"threads/{thread}/contents/{sha}.json"]
    assert payloads.FilePayloads().held(thread) == (1, len(raw))


def test_an_altered_content_is_given_as_it_is_and_written_anew_when_it_is_set_again(
    bucket: Bucket,
) -> None:
    store, thread, sha = payloads.of_kind("file"), uuid4(), hashlib.sha256(b"abc").hexdigest()
    store.put(thread, {sha: b"abc"})
    (key,) = bucket.keys()
    bucket.put(key, b"abd")
    assert store.get([thread], [sha]) == {sha: b"abd"}
    store.put(thread, {sha: b"abc"})
    assert store.get([thread], [sha]) == {sha: b"abc"}


def test_more_names_than_a_list_has_in_one_answer(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "PAGE_NAMES", 5)
    names = [f"{n:04}" for n in range(13)]
    for name in names:
        bucket.put(f"many/{name}", b"x")
    assert default_storage.listdir("many") == ([], names)
    assert default_storage.listdir("") == (["many"], [])
    assert sorted(default_storage.names_below()) == [f"many/{name}" for name in names]


def test_above_64_mib_it_is_sent_in_parts(bucket: Bucket, proxy: FaultyServer) -> None:
    def chunks() -> Iterator[bytes]:
        for n in range(66):
            yield bytes([n]) * s3.MEGABYTE

    sha, size, path = payloads.store_file(chunks(), lambda sha: f"artifacts/here/{sha}")
    parts = [line for line in proxy.requests if "partNumber=" in line]
    assert len(parts) == 5
    with payloads.opened(ArtifactRow(sha, "large", "", size, path)) as file:
        file.seek(65 * s3.MEGABYTE)
        assert file.read() == bytes([65]) * s3.MEGABYTE
    proxy.fail("cut_upload", "partNumber=3", times=10)
    with pytest.raises(ContentAway, match="The storage takes no files"):
        payloads.store_file(chunks(), lambda _: PATH)
    assert not default_storage.exists(PATH), "what was cut off is not there"


# --- faults -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "of"),
    [("503", "PUT"), ("slow", "PUT"), ("cut_upload", "PUT"), ("503", "GET"), ("slow", "GET")],
)
def test_what_passes_by_itself_is_tried_again(proxy: FaultyServer, how: str, of: str) -> None:
    fault = proxy.fail(how, of)
    row = saved(LONG)
    with payloads.opened(row) as file:
        assert file.read() == LONG
    assert fault.seen == 1


def test_a_stream_that_breaks_off_goes_on_where_it_was(proxy: FaultyServer) -> None:
    row = saved(LONG)
    fault = proxy.fail("cut", "GET", times=2)
    proxy.requests.clear()
    with payloads.opened(row) as file:
        assert file.read() == LONG
    assert fault.seen == 2
    assert len([line for line in proxy.requests if line.startswith("GET")]) == 3


@pytest.mark.parametrize(
    ("how", "message"),
    [("503", "The bucket's server is busy"), ("slow", "The bucket's server answers too late")],
)
def test_patience_has_an_end(
    bucket: Bucket,
    proxy: FaultyServer,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    message: str,
) -> None:
    monkeypatch.setattr(s3, "TRIES", 2)
    row = saved(LONG)
    with bucket.chosen(proxy.url):
        fault = proxy.fail(how, ".", times=1_000)
        with pytest.raises(ContentAway, match=f"The storage gives no file: {message}"):
            payloads.prove(row)
        assert fault.seen == 2
        with pytest.raises(ContentAway, match=f"The storage takes no files: {message}"):
            saved(b"more")
        with pytest.raises(ContentAway, match=message):
            payloads.of_kind("file").get([uuid4()], ["0" * 64])
    proxy.faults.clear()
    payloads.prove(row)


def test_a_server_that_is_away(bucket: Bucket) -> None:
    with (
        bucket.chosen("http://127.0.0.1:9"),
        pytest.raises(ContentAway, match=r"The bucket's server does not answer\.$"),
    ):
        payloads.of_kind("file").get([uuid4()], ["0" * 64])


def test_wrong_bytes_are_damage(proxy: FaultyServer) -> None:
    row = saved(LONG)
    proxy.fail("wrong", "GET")
    with pytest.raises(CorruptHistory, match="do not match their hash"):
        payloads.prove(row)
    payloads.prove(row)


def test_a_file_that_is_replaced_while_it_is_read_is_not_mixed(
    bucket: Bucket, proxy: FaultyServer
) -> None:
    """The second part would come from other bytes."""
    row = saved(LONG)
    with default_storage.open(row.path) as file:
        assert file.read(10) == LONG[:10]
        bucket.put(row.path, LONG[::-1])
        file.seek(2_500_000)
        with pytest.raises(OSError, match="The file was replaced while it was read"):
            file.read(10)


@pytest.mark.parametrize("server", ["seaweedfs"], indirect=True)  # the other one takes any
def test_credentials_that_are_refused_are_no_damage(bucket: Bucket) -> None:
    row = saved(b"bytes")
    with (
        bucket.chosen(key="nobody", secret="wrong-secret-1"),
        pytest.raises(ContentAway, match=r"The bucket refuses its credentials\.$"),
    ):
        payloads.prove(row)


def test_only_reading_as_it_is(bucket: Bucket) -> None:
    with pytest.raises(ValueError, match="read as it is"):
        default_storage.open(PATH, "wb")
    assert default_storage.save("a/b", File(ContentFile(b"1"))) == "a/b"
    with pytest.raises(NotImplementedError):
        default_storage.path(PATH)
