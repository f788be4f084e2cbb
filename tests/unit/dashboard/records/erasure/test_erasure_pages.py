"""The pages of erasure, from the request to the end; each number equals one by plain SQL."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from checkpoints import store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import head_of, one, rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db

COUNTED = ("gp_event", "gp_checkpoint", "gp_content", "gp_keyframe", "gp_activity", "gp_approval")


def text_of(page: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())


def family(cast: Cast) -> tuple[UUID, UUID]:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="draft")
    scene.effect(work)
    fork = store.fork(work.thread, checkpoint=head_of(work.thread), changes={}, actor="user:1")
    for thread in (work.thread, fork):
        store.cancel(thread, actor="user:1")
    return work.thread, fork


def test_the_pages_count_what_is_there(cast: Cast) -> None:
    threads = list(family(cast))
    n = sum(
        one(f"SELECT count(*) FROM {table} WHERE thread_id = ANY(%s::uuid[])", (threads,))
        for table in COUNTED
    )
    page = cast.client("operator").get(f"/threads/{threads[0]}/erase/")
    assert f"Threads 2 , 1 of them forks Database {n} rows" in text_of(page)
    assert "Threads 1 , 1 of them forks" in text_of(
        cast.client("operator").get(f"/threads/{threads[1]}/erase/")
    )
    both = cast.client("operator").get(f"/threads/{threads[1]}/erase/?scope=family")
    assert f"Threads 2 , 1 of them forks Database {n} rows" in text_of(both)
    assert rows("SELECT 1 FROM gp_erasure") == []


def test_from_the_request_to_the_end(cast: Cast, django_capture_on_commit_callbacks: Any) -> None:
    thread, _ = family(cast)
    operator, admin = cast.client("operator"), cast.client("admin")
    form = {"do": "request", "scope": "thread", "reason": "Consent withdrawn"}
    assert operator.post(f"/threads/{thread}/erase/", form | {"reason": ""}).status_code == 422
    made = operator.post(f"/threads/{thread}/erase/", form)
    assert made.status_code == 303
    assert operator.post(f"/threads/{thread}/erase/", form).status_code == 409
    listed = text_of(cast.client("auditor").get("/erasures/"))
    assert "Requested , 2 threads" in listed
    assert operator.post(made["Location"], {"verdict": "approve"}).status_code == 403
    page = text_of(admin.get(made["Location"]))
    assert "Would be erased now 2 threads" in page
    assert "Erase for good" in page
    assert admin.get(made["Location"]).status_code == 200
    assert one("SELECT state FROM gp_erasure") == "requested"  # looking decides nothing
    with django_capture_on_commit_callbacks(execute=True):
        assert admin.post(made["Location"], {"verdict": "approve"}).status_code == 303
    n_rows = one("SELECT n_rows FROM gp_erasure")
    assert f"Erased {n_rows} rows" in text_of(admin.get(made["Location"]))
    assert admin.post(made["Location"], {"verdict": "refuse", "comment": "x"}).status_code == 409


def test_nobody_approves_their_own_request_by_page(cast: Cast) -> None:
    thread, _ = family(cast)
    admin = cast.client("admin")
    made = admin.post(f"/threads/{thread}/erase/", {"do": "request", "reason": "Consent"})
    assert "Somebody else has to approve it." in text_of(admin.get(made["Location"]))
    assert admin.post(made["Location"], {"verdict": "approve"}).status_code == 403
    assert one("SELECT state FROM gp_erasure") == "requested"
    held = admin.post(f"/threads/{thread}/erase/", {"do": "hold", "reason": "case 17"})
    assert held.status_code == 303
    assert "Legal hold: case 17" in text_of(admin.get(f"/threads/{thread}/erase/"))


def test_the_command_shows_a_plan_by_its_own_verb_and_says_what_a_hold_does(
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    thread, _ = family(cast)
    request = ("erase", "request", str(thread), "--reason", "Consent withdrawn", "--as", "operator")
    with pytest.raises(CommandError, match="unrecognized arguments: --preview"):
        call_command(*request, "--preview")
    call_command("erase", "preview", str(thread), "--as", "operator")
    assert "threads" in capsys.readouterr().out
    assert rows("SELECT 1 FROM gp_erasure") == []
    call_command("erase", "hold", str(thread), "--reason", "case 17", "--as", "admin")
    assert "A legal hold is set" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        call_command(*request, "--yes")
    call_command("erase", "lift", str(thread), "--reason", "closed", "--as", "admin")
    call_command(*request, "--yes")
    assert "Approve it with `erase approve" in capsys.readouterr().err


def test_a_reason_of_several_lines_stays_as_it_was_written(cast: Cast) -> None:
    """The pages take it as the calls do; a refused form shows it again."""
    thread, _ = family(cast)
    admin, at = cast.client("admin"), f"/threads/{thread}/erase/"
    refused = admin.post(at, {"do": "lift", "reason": "case 17\r\nclosed"})
    assert refused.status_code == 409
    assert "case 17\r\nclosed</textarea>" in refused.content.decode()
    assert admin.post(at, {"do": "hold", "reason": "case 17\r\nopened"}).status_code == 303
    assert one("SELECT reason FROM gp_hold") == "case 17\nopened"
