"""One action on many threads: each by itself; each number of the dialog equals one by plain SQL."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from approvals.incidents.sweep import sweep_incidents
from checkpoints import queries, store
from checkpoints.queries.states import materialized
from checkpoints.states import EventKind, Status
from dashboard.errors import Forbidden, Invalid
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.edit import edit
from dashboard.threads.many import AT_ONCE, BULK_ACTIONS, BulkAction, act_on_many, preview_many
from dashboard.threads.retry import RETRY
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import scene


def failed(cast: Cast, agent: UUID) -> UUID:
    work = scene.lease(scene.start(cast.workspace, agent))
    store.leave(work, EventKind.THREAD_FAILED, reason="no such column")
    return work.thread


def status_of(thread: UUID, cast: Cast) -> Status:
    return queries.thread(thread, workspace=cast.workspace).status


@pytest.mark.requirement("B43")
def test_one_that_is_refused_stops_no_other(cast: Cast, agent: UUID) -> None:
    who = cast.actor("operator")
    good = [failed(cast, agent) for _ in range(3)]
    queued, foreign = scene.start(cast.workspace, agent), scene.start(cast.elsewhere, agent)
    asked_for = [good[0], queued, good[1], foreign, uuid4(), good[2], good[0]]
    action = BulkAction("retry")
    plan = preview_many(who, action, asked_for)
    assert [not one.why for one in plan] == [True, False, True, False, False, True]
    assert {status_of(thread, cast) for thread in good} == {Status.FAILED}, "a preview"
    done = act_on_many(who, action, asked_for)
    assert [not one.why for one in done] == [True, False, True, False, False, True]
    assert {status_of(thread, cast) for thread in good} == {Status.QUEUED}
    assert [one.row is None for one in done] == [False, False, False, True, True, False]
    assert queries.thread(foreign, workspace=cast.elsewhere).status == Status.QUEUED


def test_a_thread_that_moved_since_the_look_is_left_alone(cast: Cast, agent: UUID) -> None:
    who = cast.actor("operator")
    one, other = failed(cast, agent), failed(cast, agent)
    seen = {i: queries.thread(i, workspace=cast.workspace).version for i in (one, other)}
    edit(who, other, {"goal": "weather"}, "somebody was quicker")
    done = act_on_many(who, BulkAction("retry"), [one, other], seen)
    assert [not outcome.why for outcome in done] == [True, False]
    assert status_of(other, cast) == Status.FAILED


def test_effects_are_counted_before_and_undone_after(cast: Cast, agent: UUID) -> None:
    who = cast.actor("manager")
    threads = []
    for _ in range(2):
        work = scene.lease(scene.start(cast.workspace, agent))
        scene.step(work, report="draft")
        scene.effect(work)
        scene.step(work, report="two")
        store.leave(work, EventKind.THREAD_FAILED, reason="no such column")
        threads.append(work.thread)
    action = BulkAction("roll_back", to=1, reason="wrong data")
    plan = preview_many(who, action, threads)
    n = one("SELECT count(*) FROM gp_activity WHERE thread_id = ANY(%s::uuid[])", (threads,))
    assert [(part.undone, part.stays, part.why) for part in plan] == [(n // 2, 0, "")] * 2
    assert n == 2
    act_on_many(who, action, threads)
    assert {status_of(thread, cast) for thread in threads} == {Status.ROLLING_BACK}
    beyond = preview_many(who, BulkAction("roll_back", to=99, reason="r"), threads[:1])
    assert "newest checkpoint" in beyond[0].why or "rolling back" in beyond[0].why


@pytest.mark.parametrize(
    ("action", "path"),
    [
        (BulkAction("explode"), "$.action"),
        (BulkAction("cancel"), "$.reason"),
        (BulkAction("roll_back", reason="r"), "$.to"),
        (BulkAction("pause", to=1), "$.to"),
        (BulkAction("retry", undo=True), "$.undo"),
        (BulkAction("edit", reason="r"), "$.changes"),
        (BulkAction("retry", changes={"goal": "x"}), "$.changes"),
        (BulkAction("skip"), "$.reason"),
        (BulkAction("cancel", reason="r", then_retry=True), "$.then_retry"),
    ],
)
def test_what_could_be_done_to_no_thread_is_refused(
    cast: Cast, action: BulkAction, path: str
) -> None:
    actor = cast.actor("operator" if action.name != "roll_back" else "manager")
    with pytest.raises(Invalid) as caught:
        act_on_many(actor, action, [uuid4()])
    assert caught.value.path == path


def test_the_limit_and_the_rights(cast: Cast) -> None:
    for threads in ([], [uuid4() for _ in range(AT_ONCE + 1)]):
        with pytest.raises(Invalid) as caught:
            act_on_many(cast.actor("operator"), BulkAction("pause"), threads)
        assert caught.value.path == "$.threads"
    for name in BULK_ACTIONS:
        with pytest.raises(Forbidden):
            act_on_many(cast.actor("viewer"), BulkAction(name, reason="r"), [uuid4()])


def state_of(thread: UUID, cast: Cast) -> dict[str, Any]:
    head = queries.thread(thread, workspace=cast.workspace).head
    return dict(materialized.materialise(thread, head).state)


def test_one_value_is_edited_in_all_of_them_and_they_go_on(cast: Cast, agent: UUID) -> None:
    who = cast.actor("operator")
    good = [failed(cast, agent) for _ in range(3)]
    other, queued = failed(cast, scene.make_agent("other")), scene.start(cast.workspace, agent)
    same = failed(cast, agent)
    edit(who, same, {"goal": "weather"}, "before")
    many = [*good, other, queued, same]
    action = BulkAction("edit", reason="wrong goal", changes={"goal": "weather"}, then_retry=True)
    plan = preview_many(who, action, many)
    assert [not part.why for part in plan] == [True, True, True, False, False, False]
    assert [part.edited for part in plan[:3]] == [[("goal", "delays", "weather")]] * 3
    assert "another version of the agent" in plan[3].why
    assert "this value already" in plan[5].why
    assert {status_of(thread, cast) for thread in good} == {Status.FAILED}, "a preview"
    seen = {i: queries.thread(i, workspace=cast.workspace).version for i in many}
    RETRY.run(who, Nothing(), good[2])  # somebody was quicker
    done = act_on_many(who, action, many, seen)
    assert [not part.why for part in done][:4] == [True, True, False, False]
    assert [state_of(thread, cast)["goal"] for thread in good] == ["weather", "weather", "delays"]
    assert {status_of(thread, cast) for thread in good[:2]} == {Status.QUEUED}
    assert status_of(other, cast) == Status.FAILED


def test_a_wrong_value_changes_none_of_them(cast: Cast, agent: UUID) -> None:
    threads = [failed(cast, agent) for _ in range(2)]
    action = BulkAction("edit", reason="r", changes={"goal": 7}, then_retry=True)
    for act in (preview_many, act_on_many):
        assert all(one.why for one in act(cast.actor("operator"), action, threads))
    assert {status_of(thread, cast) for thread in threads} == {Status.FAILED}
    assert {state_of(thread, cast)["goal"] for thread in threads} == {"delays"}


def test_the_next_node_is_skipped_in_all_of_them(cast: Cast, agent: UUID) -> None:
    threads = [failed(cast, agent) for _ in range(2)]
    action = BulkAction("skip", reason="not needed")
    plan = preview_many(cast.actor("operator"), action, threads)
    assert [part.node for part in plan] == ["analyse", "analyse"]
    act_on_many(cast.actor("operator"), action, threads)
    assert {status_of(thread, cast) for thread in threads} == {Status.QUEUED}
    assert one(
        "SELECT count(*) FROM gp_event WHERE kind = 'node.skipped' AND thread_id = ANY(%s::uuid[])",
        (threads,),
    ) == len(threads)


def test_the_dialog_edits_one_value_and_an_incident_leads_there(
    cast: Cast, agent: UUID, client: Client
) -> None:
    threads = [failed(cast, agent) for _ in range(3)]
    sweep_incidents()
    client.force_login(cast.users["operator"])
    ((incident,),) = rows("SELECT id FROM gp_incident WHERE workspace_id = %s", (cast.workspace,))
    at = reverse("threads_many")
    page = client.get(f"/incidents/{incident}/").content.decode()
    for action in ("retry", "edit", "cancel"):
        assert f'href="{at}?incident={incident}&amp;action={action}"' in page
    dialog = client.get(f"{at}?incident={incident}&action=edit").content.decode()
    ticked = re.findall(r'name="thread" value="([^"]+)" checked', dialog)
    assert {UUID(one.partition(":")[0]) for one in ticked} == set(threads)
    assert re.search(r'value="edit" required\s+checked', dialog)
    form = {"thread": ticked, "action": "edit", "channel": "goal", "then_retry": "1"}
    wrong = client.post(at, form | {"channel": "no", "do": "preview"})
    assert (wrong.status_code, "Choose the value" in wrong.content.decode()) == (422, True)
    form |= {"value": "weather", "reason": "wrong goal"}
    preview = client.post(at, form | {"do": "preview"}).content.decode()
    assert preview.count("<del>&quot;delays&quot;</del>") == 3
    assert "Edit 3 threads?" in preview
    done = client.post(at, form | {"do": "sure"}, follow=True).content.decode()
    assert "3 of 3 done" in done
    assert {state_of(thread, cast)["goal"] for thread in threads} == {"weather"}
    assert {status_of(thread, cast) for thread in threads} == {Status.QUEUED}
    elsewhere = client.get(f"{at}?incident={uuid4()}")
    assert "No thread matches" in elsewhere.content.decode()


def test_the_dialog_lists_previews_and_does_it(cast: Cast, agent: UUID, client: Client) -> None:
    client.force_login(cast.users["operator"])
    threads = [failed(cast, agent) for _ in range(3)]
    board = client.get("/?status=failed").content.decode()
    at = reverse("threads_many")
    assert f"{at}?status=failed" in board
    dialog = client.get(f"{at}?status=failed").content.decode()
    n = one("SELECT count(*) FROM gp_thread WHERE workspace_id = %s AND status = %s",
            (cast.workspace, Status.FAILED))  # fmt: skip
    assert dialog.count('name="thread"') == n == 3
    ticked = [
        f"{thread}:{queries.thread(thread, workspace=cast.workspace).version}"
        for thread in threads[:2]
    ]
    preview = client.post(at, {"thread": ticked, "action": "retry", "do": "preview"})
    assert "Retry 2 threads?" in preview.content.decode()
    assert {status_of(thread, cast) for thread in threads} == {Status.FAILED}
    sure = {"thread": ticked, "action": "retry", "do": "sure"}
    assert "2 of 2 done" in client.post(at, sure, follow=True).content.decode()
    assert [status_of(thread, cast) for thread in threads] == [
        Status.QUEUED, Status.QUEUED, Status.FAILED,
    ]  # fmt: skip
    again = client.post(at, sure, follow=True).content.decode()
    assert "0 of 2 done" in again
    refused = client.post(at, {"thread": ["x:1"], "action": "retry", "do": "sure"})
    assert refused.status_code == 422
    nothing = client.get(f"{at}?q=nowhere").content.decode()
    assert "No thread matches" in nothing


def test_the_board_that_was_left_comes_back(cast: Cast, agent: UUID, client: Client) -> None:
    client.force_login(cast.users["operator"])
    thread, queued = failed(cast, agent), scene.start(cast.workspace, agent)
    versions = [
        f"{i}:{queries.thread(i, workspace=cast.workspace).version}" for i in (thread, queued)
    ]
    at, board = reverse("threads_many"), "status=queued,failed&density=compact"
    dialog = client.get(f"{at}?{board}").content.decode()
    assert f'href="/?{board}"'.replace("&", "&amp;") in dialog
    form = {"board": board, "thread": versions, "action": "retry", "reason": "tea"}
    preview = client.post(at, form | {"do": "preview"}).content.decode()
    assert f'name="alone" value="{versions[1]}"' in preview
    # Back from the preview: the same threads, ticked, with what was written.
    form |= {"thread": versions[:1], "alone": versions[1:], "do": "choose"}
    choice = client.post(at, form).content.decode()
    assert all(f'name="thread" value="{one}" checked' in choice for one in versions)
    assert "tea</textarea>" in choice
    assert f'href="/?{board}"'.replace("&", "&amp;") in choice
    assert client.post(at, form | {"do": "sure"})["Location"] == f"/?{board}"
    for wrong in ("status=nowhere", "q=nowhere:1", "//elsewhere.example", "\0"):
        answer = client.post(at, form | {"do": "sure", "board": wrong})
        assert (answer.status_code, answer["Location"]) == (303, "/")


def test_ticks_of_a_board_open_the_dialog_and_too_many_are_named(
    cast: Cast, agent: UUID, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(cast.users["operator"])
    threads = [failed(cast, agent) for _ in range(3)]
    at = reverse("threads_many")
    form = {"thread": [f"{one}:0" for one in threads], "do": "choose", "board": "status=failed"}
    dialog = client.post(at, form).content.decode()
    version = queries.thread(threads[0], workspace=cast.workspace).version
    assert f'name="thread" value="{threads[0]}:{version}" checked' in dialog
    assert "more may match" not in dialog
    monkeypatch.setattr("dashboard.board.many_page.AT_ONCE", 2)
    dialog = client.post(at, form).content.decode()
    assert dialog.count('name="thread"') == 2
    assert "3 threads were ticked; these are the first 2." in dialog


def test_a_query_that_is_wrong_is_explained_on_the_dialog(cast: Cast, client: Client) -> None:
    client.force_login(cast.users["operator"])
    dialog = client.get(f"{reverse('threads_many')}?q=statsu:failed").content.decode()
    assert "statsu" in dialog
    assert "Character 1." in dialog
    assert "No thread matches" not in dialog


def test_the_dialog_has_the_threads_of_its_board_and_no_others(
    cast: Cast, agent: UUID, client: Client
) -> None:
    client.force_login(cast.users["operator"])
    parent, child = failed(cast, agent), failed(cast, agent)
    rows("SET LOCAL session_replication_role = replica")
    rows(
        "UPDATE gp_thread SET parent = %s, root = %s, depth = 1 WHERE id = %s",
        (parent, parent, child),
    )
    rows("SET LOCAL session_replication_role = origin")
    for query, shown in {
        "status=failed": {parent},
        "status=failed&children=1": {parent, child},
        "q=status:failed": {parent, child},
    }.items():
        dialog = client.get(f"{reverse('threads_many')}?{query}").content.decode()
        board = client.get(f"/?{query}").content.decode()
        for thread in (parent, child):
            assert (f'value="{thread}:' in dialog) is (thread in shown), query
            assert (f'id="thread-{thread}"' in board) is (thread in shown), query
