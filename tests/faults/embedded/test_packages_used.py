"""Each package that the product is made of is called by its code while it is at work.

A web process and a worker note which packages are entered below a function of ours, imports aside,
while a thread is started by the API, worked on, decided, and followed over a socket.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connection
from websockets.sync.client import connect

from dashboard.identity import tokens
from tests.faults.embedded.helpers import wait_until
from tests.support.cast import Cast, make_cast
from tests.support.site import Site, started_site

ROOT = Path(__file__).parents[3]
FLOORS = ("dashboard", "workers", "approvals", "checkpoints")
# Python imports a module of this name when it starts.
NOTING = """
import os, sys
FOLDER, ROOT, FLOORS = {folder!r}, {root!r}, {floors!r}
PACKAGES = {packages!r}
TOOL, SITE = 3, "/site-packages/"
seen = set()

def entered(code, offset):
    _, site, path = code.co_filename.rpartition(SITE)
    package = path.partition("/")[0]
    if not site or package not in PACKAGES or package in seen:
        return sys.monitoring.DISABLE
    frame = sys._getframe(1).f_back
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "<module>" or name.startswith("<frozen importlib"):
            return None  # what an import calls is no use of it
        if name.startswith(ROOT) and name[len(ROOT):].partition("/")[0] in FLOORS:
            seen.add(package)
            role = os.environ.get("GATEPOST_ROLE", "")
            with open(os.path.join(FOLDER, f"{{role}}-{{package}}-{{os.getpid()}}"), "w") as file:
                file.write(f"{{name[len(ROOT):]}} {{frame.f_code.co_name}} {{code.co_qualname}}")
            return sys.monitoring.DISABLE
        frame = frame.f_back
    return None

sys.monitoring.use_tool_id(TOOL, "gatepost-packages")
sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, entered)
sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
"""
# {package of the card: (its module, the processes whose code calls it)}
USED = {
    "django": ("django", ("web", "worker")),
    "djangorestframework": ("rest_framework", ("web",)),
    "channels": ("channels", ("web",)),
    "celery": ("celery", ("web", "worker")),
    "redis": ("redis", ("web", "worker")),
    "psycopg": ("psycopg", ("web", "worker")),
}


def live_through(site: Site, cast: Cast, folder: Path) -> None:
    """Start a thread by the API, follow it over a socket, approve what it asks, see it end."""
    cookie = {n: m.value for n, m in cast.client("operator").cookies.items()}
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookie.items())}
    with connect(
        f"{site.url.replace('http', 'ws', 1)}/ws/live/",
        origin=site.url,  # type: ignore[arg-type]
        additional_headers=headers,
    ) as socket:
        assert json.loads(socket.recv(timeout=20))
        scopes = ["read", "start"]
        _, token = tokens.make(cast.users["operator"], made_by="test", scopes=scopes)
        with httpx.Client(
            base_url=f"{site.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=20
        ) as http:
            script = [[["look", "first"]], [["deliver", "parcel"]]]
            body = {"agent": "script", "input": {"folder": str(folder), "script": script}}
            answer = http.post("/threads/", json=body)
            assert answer.status_code == 201, answer.text
            thread = answer.json()["id"]
            wait_until(
                lambda: http.get(f"/threads/{thread}/").json()["status"] == "succeeded",
                seconds=60,
                what=lambda: http.get(f"/threads/{thread}/").text,
            )
    assert (folder / "parcel.parcel").exists()


@pytest.fixture
def noted(real_db: str, tmp_path: Path, settings: Any) -> dict[tuple[str, str], str]:
    """{(process, module): where ours called it} of one life of a thread."""
    settings.ALLOWED_HOSTS = ["testserver"]
    notes, path, work = tmp_path / "notes", tmp_path / "path", tmp_path / "work"
    for folder in (notes, path, work):
        folder.mkdir()
    (path / "sitecustomize.py").write_text(
        NOTING.format(
            folder=str(notes),
            root=f"{ROOT}/",
            floors=FLOORS,
            packages=tuple(module for module, _ in USED.values()),
        )
    )
    paths = os.pathsep.join([str(path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"PYTHONPATH": paths, "GATEPOST_AGENTS": "tests.faults.agents.own_agents"}
    with started_site(**environment) as site:
        live_through(site, make_cast(), work)
    results: dict[tuple[str, str], str] = {}
    for note in notes.iterdir():
        role, module, _ = note.name.split("-")
        results[role, module] = note.read_text()
    return results


@pytest.mark.requirement("D09")
def test_running_processes_call_each_package(noted: dict[tuple[str, str], str]) -> None:
    wanted = {(role, module) for module, roles in USED.values() for role in roles}
    assert wanted <= noted.keys(), noted
    for where in noted.values():
        assert where.partition("/")[0] in FLOORS


@pytest.mark.requirement("D09")
def test_the_suite_runs_on_pytest_django(request: pytest.FixtureRequest) -> None:
    """A test that does not ask for the database gets none; one that does gets it by the plugin."""
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        connection.cursor()
    request.getfixturevalue("db")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
