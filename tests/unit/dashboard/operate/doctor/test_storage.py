"""The checks of file storage: a bucket that can be used, and each way in which it can't."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import override_settings

from checkpoints.payloads import s3
from dashboard.configuration import storage as configuration
from dashboard.operate.doctor import storage
from dashboard.operate.doctor.checks import CHECKS
from dashboard.operate.doctor.findings import Seen
from tests.support import buckets
from tests.support.buckets import BUCKET, FaultyServer

pytestmark = pytest.mark.requirement("E04")


def chosen(url: str, bucket: str = BUCKET) -> Any:
    files = configuration.files(
        f"s3://{bucket}/p?endpoint={url}", key=buckets.KEY, secret=buckets.SECRET
    )
    return override_settings(STORAGES={"default": files})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    monkeypatch.setattr(s3, "TRIES", 1)
    with buckets.moto() as url, buckets.faulty(url) as faulty:
        buckets.client(url).create_bucket(Bucket=BUCKET)
        yield faulty


def test_a_bucket_that_works_is_ok_and_nothing_stays_there(server: FaultyServer) -> None:
    with chosen(server.url):
        (one,) = storage.answers(Seen())
        assert (one.level, one.name) == ("ok", "file storage")
        assert list(default_storage.names_below()) == []
    done = [line.split()[0] for line in server.requests]
    assert [kind for kind in done if kind in ("PUT", "DELETE")] == ["PUT", "DELETE"]
    assert [c.part for c in CHECKS if c.name == "file storage"] == ["reachable", "unsafe"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "done"),
    [("^PUT", "written"), ("^GET .*probe", "read"), ("list-type", "listed"), ("^DEL", "deleted")],
)
def test_each_thing_that_cannot_be_done_is_named(server: FaultyServer, of: str, done: str) -> None:
    server.fail("503", of, times=99)
    with chosen(server.url):
        (one,) = storage.answers(Seen())
    assert one.level == "wrong"
    assert one.value == f"a file can't be {done}: The bucket's server is busy"
    assert "GATEPOST_STORAGE" in one.do


@pytest.mark.slow
def test_wrong_bytes_and_no_bucket(server: FaultyServer) -> None:
    with chosen(server.url):
        server.fail("wrong", "^GET .*probe")
        (one,) = storage.answers(Seen())
        assert (one.level, "isn't what it was" in one.value) == ("wrong", True)
    with chosen(server.url, "another-one"):
        (one,) = storage.answers(Seen())
        assert one.value == "a file can't be written: The bucket is not there"


def test_a_folder_is_said_to_be_one() -> None:
    (one,) = storage.answers(Seen())
    assert (one.level, one.value) == ("ok", "a folder")
    assert [f.level for f in storage.wire(Seen())] == ["ok"]


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://files.example.com", True),
        ("https://files.example.com", False),
        ("http://127.0.0.1:9000", False),
    ],
)
def test_files_that_cross_a_network_unencrypted_are_a_warning(url: str, warned: bool) -> None:
    with chosen(url):
        findings = list(storage.wire(Seen()))
    assert [f.level for f in findings] == ["warning" if warned else "ok"]
