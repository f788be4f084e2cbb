"""The agent with large values on each store, and what lies there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import override_settings

from dashboard.configuration import storage as configuration
from tests.support import buckets
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.play_bench import play_bench_of

from . import agents

STORES = ("memory", "database", "file", "elsewhere", "bucket", "hot")
# Those whose contents lie in rows.
IN_ROWS = ("memory", "database", "hot")


@dataclass
class Storage:
    """A store: the bench that writes there, and what lies there of a thread."""

    kind: str
    bench: Bench
    rows: Callable[..., list[Any]] = rows

    def lies(self, thread: UUID) -> dict[str, int]:
        """Bytes of each content by its hash."""
        if self.kind in IN_ROWS:
            result = self.rows(
                "SELECT sha256, octet_length(body) FROM gp_content WHERE thread_id = %s", [thread]
            )
            return dict(result)
        try:
            _, names = default_storage.listdir(f"threads/{thread}/contents")
        except FileNotFoundError:
            return {}
        sizes = {n: default_storage.size(f"threads/{thread}/contents/{n}") for n in names}
        return {name.removesuffix(".json"): size for name, size in sizes.items()}

    def spoil(self, thread: UUID, sha: str, change: Callable[[bytes], bytes | None]) -> None:
        """Alter a content past all guards, or lose it (None)."""
        if self.kind in IN_ROWS:
            key = [thread, sha]
            (body,) = self.rows(
                "SELECT body FROM gp_content WHERE thread_id = %s AND sha256 = %s", key
            )[0]
            raw = change(body.encode())
            self.rows("SET session_replication_role = replica")
            if raw is None:
                self.rows("DELETE FROM gp_content WHERE thread_id = %s AND sha256 = %s", key)
            else:
                self.rows(
                    "UPDATE gp_content SET body = %s WHERE thread_id = %s AND sha256 = %s",
                    [raw.decode(), *key],
                )
            self.rows("SET session_replication_role = DEFAULT")
        else:
            path = f"threads/{thread}/contents/{sha}.json"
            with default_storage.open(path, "rb") as file:
                raw = change(file.read())
            default_storage.delete(path)
            if raw is not None:
                default_storage.save(path, ContentFile(raw))


@pytest.fixture(scope="session")
def bucket_server() -> Iterator[str]:
    """A server of S3 with the bucket of these tests."""
    with buckets.moto() as url:
        buckets.client(url).create_bucket(Bucket=buckets.BUCKET)
        yield url


@pytest.fixture
def storage_of(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str], Storage]]:
    """Makes a place of a kind; files lie in a folder of its own, in none, or in a bucket."""
    agents.calls.clear()
    settings: list[Any] = []

    def make(kind: str) -> Storage:
        if kind == "memory":  # that of the author's Harness
            bench, plays = play_bench_of(agents.module_of("database"))
            return Storage(kind, bench, partial(plays.call, rows))
        request.getfixturevalue("db")
        if kind == "hot":
            request.getfixturevalue("hot_store")
        if kind in ("database", "hot"):
            return Storage(kind, bench_of(agents.module_of(kind)))
        backend = "InMemoryStorage" if kind == "elsewhere" else "FileSystemStorage"
        files: dict[str, Any] = {"BACKEND": f"django.core.files.storage.{backend}"}
        if kind == "bucket":
            server = request.getfixturevalue("bucket_server")
            files = configuration.files(
                f"s3://{buckets.BUCKET}/{uuid4().hex}?endpoint={server}",
                key=buckets.KEY,
                secret=buckets.SECRET,
            )
        changed = override_settings(MEDIA_ROOT=tmp_path / "media", STORAGES={"default": files})
        changed.enable()
        settings.append(changed)
        return Storage(kind, bench_of(agents.module_of("file")))

    yield make
    for changed in settings:
        changed.disable()


@pytest.fixture(params=STORES)
def storage(request: pytest.FixtureRequest, storage_of: Callable[[str], Storage]) -> Storage:
    """Each store in turn."""
    return storage_of(request.param)
