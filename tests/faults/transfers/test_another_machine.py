"""A machine is gone with its folders; another, with other folders, goes on with its threads.

What they share is the database, the broker and the file storage.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection

from checkpoints import queries
from dashboard.threads.page.anatomy import anatomy_of
from tests.faults.bench import AGENTS, LEASE, SWEEP, Field, Worker, workers
from tests.support import buckets

pytestmark = [
    pytest.mark.hazard,
    pytest.mark.requirement("B30"),
    pytest.mark.requirement("B48"),
]
GOES_ON = LEASE + SWEEP + 20
PAGES, HELD = 6, 3  # as in scratch_agents, and where the first machine is lost


def machine(ground: Path, home: Path, files: dict[str, str]) -> Worker:
    """A worker with nothing but addresses: data and temporary files lie in a folder of its own."""
    (home / "tmp").mkdir(parents=True)
    server = connection.settings_dict
    return Worker(
        ground,
        f"machine-{home.name}",
        queues="scratch",
        environment={
            "GATEPOST_AGENTS": "scratch_agents",
            "GATEPOST_DATA": str(home / "data"),
            "TMPDIR": str(home / "tmp"),
            **files,
            "DATABASE_URL": f"postgresql:///{server['NAME']}"
            f"?host={server['HOST']}&user={server['USER']}",
            "REDIS_URL": settings.REDIS_URL,
        },
    )


def scratch_files(home: Path) -> list[str]:
    return sorted(path.name for path in home.glob("tmp/gatepost-*/*"))


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.requirement("E04"))])
def files(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Where files lie, as every process is told by its environment; here as well."""
    if request.param == "folder":
        yield {"GATEPOST_FILES": str(settings.MEDIA_ROOT)}
        return
    with buckets.moto() as url, buckets.files_on(url) as environment:
        yield environment


def test_a_worker_with_other_folders_goes_on(
    ground: Path, field: Field, files: dict[str, str], tmp_path: Path
) -> None:
    shutil.copy(AGENTS / "scratch_agents.py", ground)
    one, two = tmp_path / "one", tmp_path / "two"
    with workers(machine(ground, one, files)) as (first,):
        case = field.start("scratch", holds=(f"in-page-{HELD}",))
        case.wait_called(f"page-{HELD}")
        assert scratch_files(one) == ["pages.txt"], "the folder of the first call went with it"
        first.kill()
    shutil.rmtree(one)
    case.go(f"in-page-{HELD}")

    # What a resume takes over names no folder of that machine, and its files are in the storage.
    row = case.row()
    head = queries.checkpoint(case.id, row.head)
    shown = anatomy_of(row, head, queries.state_at(case.id, row.head))
    assert str(one) not in json.dumps(shown.model_dump(mode="json"))
    (crawl, fetch) = sorted(shown.tools.since, key=lambda call: call.tool)
    assert (fetch.tool, fetch.state, fetch.result["rows"]) == ("fetch", "done", 3)
    assert (crawl.tool, crawl.cursor["at"]) == ("crawl", HELD)
    assert {file.name for file in shown.tools.files} == {"table.csv", "pages.txt"}

    with workers(machine(ground, two, files)):
        case.wait_status("succeeded", seconds=GOES_ON)
    assert case.state()["text"] == "page\n" * 3 + "".join(f"page {n}\n" for n in range(PAGES))
    assert len(case.calls("fetch")) == 1
    assert [len(case.calls(f"page-{n}")) for n in range(PAGES)] == [
        2 if n == HELD else 1 for n in range(PAGES)
    ]
    assert len(set(case.callers("page-0")) | set(case.callers(f"page-{PAGES - 1}"))) == 2
    assert scratch_files(two) == []
    assert (two / "data").is_dir(), "it had a data folder of its own"
    artifacts, _ = default_storage.listdir(f"artifacts/{field.workspace}")
    assert artifacts, "its files are where it was told"
    assert not list((two / "data").glob("artifacts/artifacts/*/*/*")), "and nowhere else"
