"""A web process stays small: what a page has read is gone when the answer is sent."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.template import Template
from django.test import RequestFactory
from django.test.utils import _TestState
from django.urls import get_resolver, reverse

from checkpoints.states import EventKind
from tests.support.cast import Cast, make_cast
from tests.support.site import started_site
from tests.unit.dashboard import scene

MARK = "finding of a state"
LOOKS = 100
STATE_BYTES = 5 * 1024**2
MAY_GROW = 50 * 1024**2


def make_thread(cast: Cast, *, n_items: int, size: int) -> UUID:
    """A thread whose head and the checkpoint before it hold `n_items` findings of `size` bytes."""
    findings = [MARK, *(f"{n:09}" + "x" * (size - 9) for n in range(n_items))]
    agent = scene.make_agent()
    thread = scene.start(cast.workspace, agent, findings=findings)
    work = scene.lease(thread)
    scene.step(work, leave_by=EventKind.THREAD_PAUSED, goal="delays of trains")
    return thread


def addresses(thread: UUID) -> list[str]:
    """Every address of ours that needs nothing but a thread, and the page's tabs."""
    names = [
        name
        for name, patterns in get_resolver().reverse_dict.lists()
        if isinstance(name, str) and any(one[0][0][1] == ["thread_id"] for one in patterns)
    ]
    page = reverse("thread", args=[thread])
    plain = [reverse(name, args=[thread]) for name in names]
    return [*plain, f"{page}?tab=state", f"{page}?tab=anatomy", f"/api/v1{page}state/"]


@pytest.mark.slow
@pytest.mark.django_db
def test_no_page_of_a_thread_leaves_its_state_in_a_cycle(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tests keep a copy of each context that is rendered: here as a server does it.
    monkeypatch.setattr(Template, "_render", _TestState.saved_data.template_render)
    thread = make_thread(cast, n_items=50, size=20)
    handler, factory = BaseHandler(), RequestFactory()
    handler.load_middleware()
    factory.cookies[settings.SESSION_COOKIE_NAME] = cast._session("operator")

    def look(address: str) -> int:
        request: HttpRequest = factory.get(address)
        response = handler.get_response(request)
        for close in response._resource_closers:  # all of `close`, without the database's part
            close()
        return response.status_code

    pages = addresses(thread)
    shown = [address for address in pages if look(address) == 200]
    assert len(shown) > 8, shown
    for address in shown:
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        look(address)
        gc.collect()
        gc.set_debug(0)
        left = [one for one in gc.garbage if isinstance(one, list) and MARK in one[:1]]
        gc.garbage.clear()
        assert not left, address


def resident_bytes(pid: int) -> int:
    """The memory that a process holds now."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0]) * 1024


@pytest.mark.slow
def test_looks_at_a_large_state_leave_the_process_as_it_is(real_db: str) -> None:
    cast = make_cast()
    n_items = 1000
    thread = make_thread(cast, n_items=n_items, size=STATE_BYTES // n_items)
    cookie = cast.cookie("operator")
    with started_site(slots=0) as site:
        cookies = {cookie["name"]: cookie["value"]}
        with httpx.Client(base_url=site.url, cookies=cookies, timeout=60) as client:
            pages = [f"/threads/{thread}/{tab}" for tab in ("", "?tab=state")]

            def look(times: int) -> int:
                for n in range(times):
                    answer = client.get(pages[n % 2])
                    assert answer.status_code == 200, answer.status_code
                    assert "findings" in answer.text
                return resident_bytes(site.web.pid)

            before = look(10)  # what is built at first use
            grown = look(LOOKS) - before
    assert grown < MAY_GROW, f"{grown / 1024**2:.0f} MB"


@pytest.mark.slow
def test_the_collector_is_as_python_has_it(real_db: str) -> None:
    code = "import gc; print(gc.get_threshold()); import {}; print(gc.get_threshold())"
    for module in ("dashboard.asgi", "workers.celery"):
        command = [sys.executable, "-c", code.format(module)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        own, after = done.stdout.splitlines()
        assert own == after, (module, done.stderr)
