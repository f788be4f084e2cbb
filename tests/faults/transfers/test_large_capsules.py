"""A capsule with a gigabyte in it leaves the web server as a stream."""

from __future__ import annotations

import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from django.core.files.storage import default_storage

from checkpoints import queries, store
from tests.faults.agents.own_agents import pieces
from tests.faults.web import Person, Web
from tests.unit.checkpoints.builders import make_agent, make_thread

from .test_large_files import GIB, MAY_GROW, forget_peak, memory, operator, web  # noqa: F401

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]


def test_a_gigabyte_leaves_in_a_capsule_as_a_stream(
    workspace: UUID,
    web: Web,  # noqa: F811
    operator: Person,  # noqa: F811
    tmp_path: Path,
) -> None:
    ref = store.put_artifact(
        workspace, name="big.bin", media_type="application/octet-stream", chunks=pieces(GIB)
    )
    unserved = make_agent(queue="nobody-listens")
    thread = make_thread(workspace=workspace, agent=unserved, input={"facts": {"big": ref}})
    before, path = forget_peak(web.process.pid), tmp_path / "big.zip"
    with (
        operator.http.stream("GET", f"/api/v1/threads/{thread}/capsule/", timeout=120) as answer,
        path.open("wb") as file,
    ):
        assert answer.status_code == 200
        for piece in answer.iter_raw(1 << 20):
            file.write(piece)
    assert memory(web.process.pid)[1] - before < MAY_GROW
    with zipfile.ZipFile(path) as packed:
        assert packed.getinfo(f"artifacts/{ref['$artifact']}").file_size == GIB
        assert packed.testzip() is None
    path.unlink()
    default_storage.delete(queries.artifact(ref["$artifact"], workspace=workspace).path)
    assert queries.thread(thread, workspace=workspace).status == "queued"
