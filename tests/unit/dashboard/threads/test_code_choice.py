"""When an agent's code changed: what its page offers, what the API and the command take."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from dashboard.errors import Conflict, Forbidden, Stale
from dashboard.threads.code import choose_code
from tests.support.cast import Cast
from tests.unit.dashboard import scene


def parked(cast: Cast, *choices: str, kind: str = "code") -> UUID:
    """A thread that met a second version of its agent."""
    old, new = scene.make_agent(), scene.make_agent(version=2)
    work = scene.lease(scene.start(cast.workspace, old))
    scene.step(work)
    query = {
        "kind": kind,
        "version": str(new),
        "fingerprint": f"{2:064x}",
        "choices": list(choices or ("pin", "accept", "fork")),
    }
    store.leave(work, EventKind.THREAD_PARKED, reason="The code changed", waiting_on=query)
    return work.thread


def page(cast: Cast, thread: UUID, name: str = "operator") -> str:
    answer = cast.client(name).get(f"/threads/{thread}/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def row(cast: Cast, thread: UUID) -> Any:
    return queries.thread(thread, workspace=cast.workspace)


def test_the_banner_offers_what_is_possible_to_those_who_may(cast: Cast) -> None:
    thread = parked(cast)
    text = page(cast, thread)
    assert "Which version of the code should continue this thread?" in text
    for choice in ("pin", "accept", "fork"):
        assert re.search(rf'name="choice"\s+value="{choice}"', text)
    assert 'value="unpin"' not in text
    manager = page(cast, thread, "manager")  # may fork, may not control
    assert 'value="fork"' in manager
    assert 'value="pin"' not in manager
    assert "Needs the role operator." in manager
    assert 'name="choice"' not in page(cast, thread, "auditor")
    assert "Which version of the code" not in page(
        cast, scene.start(cast.workspace, scene.make_agent())
    )
    assert 'value="accept"' not in page(cast, parked(cast, "pin"))


def test_by_page_pinned_and_taken_off_again(cast: Cast) -> None:
    thread = parked(cast)
    client = cast.client("operator")
    done = client.post(f"/threads/{thread}/code/", {"choice": "pin"}, follow=True)
    text = done.content.decode()
    assert "Pinned: it waits for a worker" in text
    assert "pinned to version 1" in text
    assert (row(cast, thread).status, row(cast, thread).pinned) == (Status.QUEUED, True)
    client.post(f"/threads/{thread}/code/", {"choice": "unpin"})
    assert not row(cast, thread).pinned


def test_by_page_accepted(cast: Cast) -> None:
    thread = parked(cast)
    version = row(cast, thread).version
    client = cast.client("operator")
    stale = client.post(f"/threads/{thread}/code/", {"choice": "accept", "version": version - 1})
    assert stale.status_code == 412
    client.post(f"/threads/{thread}/code/", {"choice": "accept", "version": version})
    now = row(cast, thread)
    assert (now.status, now.version_label) == (Status.QUEUED, "2")
    text = page(cast, thread)
    assert "operator accepted the changed code" in text


def test_by_page_forked(cast: Cast) -> None:
    thread = parked(cast)
    before = row(cast, thread)
    answer = cast.client("manager").post(f"/threads/{thread}/code/", {"choice": "fork"})
    assert answer.status_code == 303
    fork = UUID(answer["Location"].rstrip("/").rpartition("/")[2])
    assert fork != thread
    assert row(cast, thread) == before
    born = row(cast, fork)
    assert (born.status, born.version_label, born.effects) == (Status.QUEUED, "2", "ask")
    assert born.base == thread


def test_who_may_not_and_what_is_not_in_question(cast: Cast) -> None:
    thread = parked(cast)
    for name in ("auditor", "viewer", "manager"):
        with pytest.raises(Forbidden):
            choose_code(cast.actor(name), thread, "pin")
    with pytest.raises(Conflict, match="possible is: pin, accept, fork"):
        choose_code(cast.actor("operator"), thread, "unpin")
    with pytest.raises(Stale):
        choose_code(cast.actor("operator"), thread, "fork", expected_version=1)
    plain = scene.start(cast.workspace, scene.make_agent())
    with pytest.raises(Conflict, match="its code is not in question"):
        choose_code(cast.actor("operator"), plain, "accept")


def test_by_api(cast: Cast) -> None:
    thread = parked(cast)
    client = cast.client("operator")
    payload = client.get(f"/api/v1/threads/{thread}/").json()
    assert (payload["code_choices"], payload["pinned"]) == (["pin", "accept", "fork"], False)
    assert payload["why_waiting"]["action"] == "Choose which version of the code continues it."

    def choose(choice: str) -> Any:
        return client.post(
            f"/api/v1/threads/{thread}/code/", {"choice": choice}, content_type="application/json"
        )

    forked = choose("fork")
    assert forked.status_code == 201
    assert forked["Location"].endswith(f"/threads/{forked.json()['id']}/")
    pinned = choose("pin").json()
    assert (pinned["status"], pinned["pinned"]) == ("queued", True)
    assert pinned["code_choices"] == ["accept", "fork", "unpin"]
    assert choose("accept").json()["agent_version"] == "2"
    assert choose("accept").status_code == 409
    assert choose("other").status_code == 422


def test_by_command(cast: Cast) -> None:
    thread = parked(cast)

    def output(*words: str) -> Any:
        out = io.StringIO()
        call_command(*words, str(thread), stdout=out, stderr=io.StringIO())
        return out.getvalue()

    shown = output("threads", "show")
    assert "choose: pin, accept, fork" in shown
    assert "nobody, fence 1" in shown
    remedies = json.loads(output("doctor", "--json"))["remedies"]
    assert f"./manage.py threads code {thread} accept" in [r["command"] for r in remedies]
    call_command("threads", "code", str(thread), "pin", stdout=io.StringIO())
    assert "pinned" in output("threads", "show")
    assert "Pinned to the code it stopped with" in output("doctor") or row(cast, thread).pinned
    call_command("threads", "code", str(thread), "accept", stdout=io.StringIO())
    assert row(cast, thread).version_label == "2"


@pytest.mark.requirement("C29")
def test_the_lease_is_shown_wherever_a_thread_is(cast: Cast) -> None:
    """Owner, fence and expiry: on the page, by the API, in a terminal."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    now = row(cast, work.thread)
    assert now.lease_until is not None
    text = page(cast, work.thread)
    (lease,) = re.findall(r'(?s)<dd id="lease">(.*?)</dd>', text)
    assert "fence 1" in lease
    assert f"{now.lease_until:%H:%M:%S}" in lease
    payload = cast.client("auditor").get(f"/api/v1/threads/{work.thread}/").json()["lease"]
    assert (payload["owner"], payload["fence"]) == ("worker:1:boot", 1)
    assert payload["until"].startswith(f"{now.lease_until:%Y-%m-%dT%H:%M:%S}")
    for words in (("threads", "show"), ("doctor",)):
        out = io.StringIO()
        call_command(*words, str(work.thread), stdout=out, stderr=io.StringIO())
        for part in ("worker:1:boot", "fence 1", f"{now.lease_until:%H:%M:%S}"):
            assert part in out.getvalue(), (words, out.getvalue())
