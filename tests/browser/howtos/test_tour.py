"""docs/howto/tour.md: the demo fills itself once, and visitors find what the page promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest

from tests.docs.performing import Performance
from tests.faults.embedded.helpers import ROOT, Up, clean_environment, up, wait_until
from tests.support.cast import Cast

pytestmark = pytest.mark.hazard
COMPARED = re.compile(r"compare\s+(http\S+/threads/compare/\?left=\S+&right=\S+)")
PEOPLE = ["operator", "manager", "manager2", "manager3", "auditor", "admin"]


def manage(data: Path, *words: str) -> Any:
    """What a command in a second terminal answers as JSON."""
    done = subprocess.run(
        [sys.executable, ROOT / "manage.py", *words, "--json"],
        env=clean_environment() | {"GATEPOST_DATA": str(data)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


class Visitor:
    """One of the demo's people in a browser without scripts."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self.http = httpx.Client(base_url=f"{parts.scheme}://{parts.netloc}", timeout=30)
        page = self.http.get(link)
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
        answer = self.http.post(parts.path, data=fields, headers={"Referer": link})
        assert answer.status_code == 303, answer.text

    def page(self, path: str) -> str:
        """The words of a page."""
        answer = self.http.get(path, follow_redirects=True)
        assert answer.status_code == 200, (path, answer.status_code)
        text = re.sub(r"<(script|style).*?</\1>", " ", answer.text, flags=re.S)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())

    def get(self, path: str) -> Any:
        return self.http.get(f"/api/v1{path}").raise_for_status().json()

    def post(self, path: str, body: Any) -> Any:
        token = self.http.cookies["csrftoken"]
        headers = {"X-CSRFToken": token, "Referer": str(self.http.base_url)}
        answer = self.http.post(f"/api/v1{path}", json=body, headers=headers)
        assert answer.is_success, (path, answer.text)
        return answer.json()


def links_of(started: Up) -> dict[str, str]:
    return dict(re.findall(r"As (\w+) +(http\S+/welcome/\?sesame=\S+)", started.text))


def test_the_tour(tmp_path: Path) -> None:
    tour = Performance("tour", Cast(UUID(int=0), UUID(int=0)))
    (target,) = re.findall(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert tour.unit("make demo") == "make demo"
    assert "--fleet" in target
    data = tmp_path / "demo"
    with up(data, "--fleet") as started:
        links = links_of(started)
        people = re.findall(r"^\| \*\*(\w+)\*\* \|", tour.text, re.MULTILINE)
        assert list(links) == people == PEOPLE
        wait_until(lambda: COMPARED.search(started.text), seconds=240, what="the fleet")
        assert "all taken" in started.text
        again = manage(data, "demo")
        assert (again["started"], again["complete"]) == ([], True), "it adds nothing"
        assert not [pid for pid, line in started.leftovers() if "django demo" in line]
        typed = tour.unit("./manage.py login_link manager").split()
        assert typed[2:] == ["manager", "--data-dir", ".gatepost/demo"]
        links["manager"] = manage(data, "login_link", "manager")["url"]
        with ExitStack() as stack:
            visitors = {name: Visitor(link) for name, link in links.items()}
            for visitor in visitors.values():
                stack.callback(visitor.http.close)
            walk(tour, visitors, started.text)
        words = tour.unit("./manage.py verify").split()
        report = manage(data, words[1], "--data-dir", str(data))
        assert report["broken"] == []
    tour.complete()


def walk(tour: Performance, people: dict[str, Visitor], printed: str) -> None:
    """The numbered sections, one after the other."""
    operator, manager, _, _, auditor, admin = people.values()
    listed = operator.get("/threads/?q=-has:parent&limit=100")["results"]
    threads = {one["title"]: one for one in listed}
    # 1. Watch.
    board = operator.page("/")
    assert len([one for one in listed if one["forked_from"] is None]) >= 16, "sixteen threads"
    for words in ("Needs attention", "Failed", "All packages of this installation"):
        assert f"**{words}**" in tour.text
        assert words in board, words
    for button in re.findall(r"helps: (\w+), (\w+), (\w+)\.", tour.text)[0]:
        assert button in board, button
    # 2. Approve: one of each kind; the agent continues.
    inbox = manager.page("/approvals/?box=open")
    assert "Publish “" in inbox
    requests = manager.get("/approvals/?limit=50")["results"]
    (report, *_) = [one for one in requests if one["title"] == "Publish this?"]
    assert len({one["tool"] for one in requests}) >= 3
    body = {"verdict": "approve", "proposal_hash": report["standing_hash"]}
    manager.post(f"/approvals/{report['id']}/decide/", body)
    address = f"/threads/{report['thread']}/"
    wait_until(lambda: operator.get(address)["status"] == "succeeded", seconds=60, what="the agent")
    # 3. Fork: the preview says which calls are reused and which are made again.
    title = "How cold does it get at New York's airports?"
    assert f"**{title}**" in tour.text
    cold = threads[title]["id"]
    points = operator.get(f"/threads/{cold}/checkpoints/?limit=200")["results"]
    first = next(one["id"] for one in points if one["number"] == 1)
    fork = {"checkpoint": first, "changes": {"measure": "humid"}}
    plan = operator.post(f"/threads/{cold}/fork/?preview=1", fork)
    assert [one["path"] for one in plan["patch"]] == ["/measure"]
    assert "Fork from here" in operator.page(f"/threads/{cold}/?cp=1")
    # 4. Roll back: what was done outside, and that a mail cannot be unsent.
    paid = operator.get("/threads/?q=agent:payments status:succeeded")["results"][0]["id"]
    points = operator.get(f"/threads/{paid}/checkpoints/?limit=200")["results"]
    start = next(one["id"] for one in points if one["number"] == 0)
    back = {"checkpoint": start, "reason": "a tour"}
    effects = operator.post(f"/threads/{paid}/rollback/?preview=1", back)["effects"]
    fates = {one["activity"]["tool"]: one["fate"] for one in effects}
    assert fates == {"bank.pay": "undoable", "bank.reserve": "undoable", "remittance.mail": "stays"}
    # 5. Compare: the address that the terminal prints.
    compared = COMPARED.search(printed)
    assert compared is not None
    parts = urlsplit(compared[1])
    assert "wind" in operator.page(f"{parts.path}?{parts.query}")
    # 6. An incident: the three payments are one; many at once.
    assert "**Open incidents** on the board" in tour.text
    wait_until(lambda: "open incident" in operator.page("/"), seconds=30, what="an incident")
    incidents = operator.get("/incidents/")["results"]
    (payments,) = [one for one in incidents if one["kind"] == "thread.failed"]
    assert payments["threads"] == 3
    operator.post(f"/incidents/{payments['id']}/take/", {})
    query = tour.unit("agent:payments")
    failed = operator.get(f"/threads/?q={query}")["results"]
    assert len(failed) == 3
    assert all("cannot be read" in one["status_reason"] for one in failed)
    thread = failed[0]["id"]
    operator.post(
        f"/threads/{thread}/edit/", {"changes": {"on_broken": "set aside"}, "reason": "x"}
    )
    operator.post(f"/threads/{thread}/retry/", {})
    wait_until(
        lambda: operator.get(f"/threads/{thread}/")["status"] == "waiting",
        seconds=60,
        what="the payment that was mended",
    )
    # 7. The breaker.
    breaker = operator.post("/breakers/", {"reason": "a tour"})
    assert "a tour" in operator.page("/")
    operator.post(f"/breakers/{breaker['id']}/release/", {"reason": "seen"})
    assert all(one["closed_at"] for one in operator.get("/breakers/")["results"])
    # 8. The overview, and budgets. 9. The records.
    assert "CSV" in operator.page("/overview/")
    assert "deep-research" in admin.page("/overview/budgets/")
    assert "Search" in auditor.page("/admin/search/")
    rows = auditor.get("/records/?actor=manager&agent=payments")["results"]
    assert "approve" in {one["decision"] for one in rows}, "who decided about which payment"
