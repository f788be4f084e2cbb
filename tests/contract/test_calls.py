"""Each call of the document once: its answer, its headers, who may not, and what it costs.

What single calls do: tests/unit/dashboard/kit/api/test_api.py; whom they let in stands beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries
from dashboard.people.accounts.administration import set_password
from tests.contract.calls import EXAMPLES, example, send
from tests.contract.example_calls import ROLES, Call
from tests.contract.operations import document, operations
from tests.contract.world import World
from tests.contract.written import everything
from tests.unit.dashboard import scene

ALL = sorted(operations())
# At most so many statements per call, those for login and membership (2) and savepoints included:
# the usual number, or the one that stands here.
USUAL = 9
QUERIES: dict[str, int] = {
    "agents_list": 3,
    "agents_retrieve": 4,
    "approvals_decide": 10,
    "approvals_decide_many": 18,
    "approvals_list": 3,
    "approvals_retrieve": 13,  # with calls, entries and verdicts that its values are compared with
    "approvals_take_back": 14,
    "artifacts_upload": 3,
    "erasures_list": 3,
    "erasures_retrieve": 3,
    "erasures_decide": 30,
    "threads_erase": 20,
    "holds_list": 3,
    "records_ask": 16,  # it fills the index, counts words, reads what has them, writes the answer
    "retention_list": 3,
    "retention_set": 12,
    "threads_hold": 12,
    "threads_signal": 11,  # it counts those that wait to be taken, and asks the policies
    "signals_send": 12,  # and looks for the thread by its name
    "threads_lift_hold": 12,
    "breakers_list": 4,  # with the threads of open ones
    "breakers_release": 20,
    "breakers_retrieve": 4,
    "breakers_trip": 20,
    "memories_correct": 12,
    "memories_forget": 12,
    "memories_forget_after": 13,
    # Each act records the row as it stood before it and as it stands after.
    "incidents_close": 15,
    "incidents_give_back": 13,
    "incidents_list": 3,
    "incidents_retrieve": 4,
    "incidents_snooze": 14,
    "incidents_take": 13,
    "incidents_wake": 13,
    "quiet_hours_retrieve": 3,
    "quiet_hours_set": 12,
    "subscriptions_change": 15,
    "subscriptions_list": 4,
    "subscriptions_make": 16,
    "subscriptions_remove": 14,
    "subscriptions_retrieve": 4,
    "views_change": 12,
    "views_list": 3,
    "views_remove": 12,
    "views_retrieve": 3,
    "views_save": 13,
    "devices_list": 4,
    "devices_add": 13,  # under the lock of the account
    "deputies_list": 3,
    "deputies_name": 17,
    "deputies_remove": 11,
    "approvals_hand_over": 24,
    "identities_list": 5,
    "identities_confirm": 18,
    "access_changes_list": 3,
    "access_changes_confirm": 40,
    "access_changes_refuse": 12,
    "budgets_list": 3,
    "budgets_set": 20,
    "caps_list": 3,
    "caps_set": 10,  # with the row as it was stored, which the event binds by its hash
    "external_ask": 19,
    "external_begin": 18,
    "external_check": 12,
    "external_commit": 12,
    "external_next": 4,
    "external_note": 8,
    "external_record_read": 5,
    "external_release": 8,
    "external_renew": 7,
    "external_settle": 11,
    "external_take": 13,
    "external_undo": 17,
    "otlp_traces": 21,
    "overview_retrieve": 8,
    "policies_change": 27,  # with the rows of two changes as they were stored, and the version's
    "policies_list": 3,
    "policies_make": 19,
    "policies_retrieve": 5,
    "policies_try": 4,
    "endpoints_change": 12,
    "hooks_list": 3,
    # Changes of who may decide are judged again under the lock that they are written with.
    "hooks_map": 24,  # and the mail to its person
    "hooks_retrieve": 5,  # with the names of the people
    "hooks_rotate": 11,
    "hooks_switch": 10,
    "hooks_unmap": 13,
    "mcp_servers_accept": 13,
    "mcp_servers_add": 10,
    "mcp_servers_change": 11,
    "mcp_servers_list": 3,
    "mcp_servers_mode": 11,
    "mcp_servers_remove": 13,  # one asks whether a tool still refers to it
    "mcp_servers_retrieve": 4,
    "mcp_servers_tools": 14,  # with a tool that is new; without one 7
    "sign_ins_list": 5,
    "sign_ins_end": 16,
    "sign_ins_end_others": 16,
    "sign_ins_confirm": 12,  # with the count of passwords that were tried
    "sign_ins_password": 40,
    "users_sign_out": 20,  # three sign-ins end; with one it was 17
    "second_factor_retrieve": 3,
    "second_factor_propose": 5,
    "second_factor_add": 22,  # with the count of passwords that were tried
    "second_factor_remove": 22,
    "second_factor_confirm": 16,
    "passkeys_list": 3,
    "passkeys_remove": 22,
    "users_second_factor_remove": 22,
    "workspace_retrieve": 3,
    "workspace_second_factor_retrieve": 5,
    "workspace_second_factor_require": 13,
    "workspace_rename": 12,
    "tokens_list": 4,
    "tokens_revoke": 14,
    "users_password": 21,
    "users_link": 23,
    "users_unlink": 20,
    "users_list": 5,
    # A role given: the account locked, a savepoint, the event and the row that it binds.
    "users_make": 36,
    "users_change": 38,  # and what of it another admin has to confirm
    "endpoints_list": 3,
    "endpoints_make": 12,
    "endpoints_retrieve": 4,
    "endpoints_rotate": 12,
    "endpoints_switch": 14,  # with the row as it was stored, which the event binds by its hash
    "endpoints_test": 12,
    "approvals_report": 31,  # each part of the report is one; ten verify its thread
    # With the last verification and the chain of each thread, and two events of the workspace.
    "records_export": 15,
    "records_list": 7,  # with the last verifications of its threads
    "states_save": 40,
    "threads_activities_retrieve": 4,
    "threads_anatomy_retrieve": 14,
    "threads_cancel": 16,
    "threads_capsule": 43,  # its thread is verified; references to memory are looked up
    "threads_checkpoints_retrieve": 4,
    "threads_code_changes": 7,
    "threads_counts_retrieve": 7,  # with what is damaged, for the alarm of the page
    "threads_diff_retrieve": 16,  # the log of either side, and whether it is its head
    "threads_edit": 26,
    "threads_events_retrieve": 4,
    "threads_fork": 17,
    "threads_input": 10,
    "threads_list": 3,
    "threads_many": 25,
    "threads_retrieve": 6,
    "threads_retry": 11,
    "threads_reveal": 12,  # the key, and the entry in the log of the workspace
    "threads_roll_back": 27,
    "threads_settle": 13,
    "threads_skip": 21,
    "threads_start": 12,
    "threads_stuck": 4,
    "threads_state_retrieve": 7,
    "threads_verify": 24,  # all tables of a thread, its erasure; what was found is kept
}


def shape(name: str) -> dict[str, Any]:
    """A shape of the document; where there are several, that of the answer without a preview."""
    results: dict[str, Any] = document()["components"]["schemas"][name]
    return shape(results["anyOf"][0]["$ref"].rpartition("/")[2]) if "anyOf" in results else results


def test_no_example_is_left_over() -> None:
    assert set(EXAMPLES) == set(operations())


# --- the document ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_the_document_says_what_a_client_needs(name: str) -> None:
    operation = operations()[name]
    spec, answers = operation.spec, operation.spec["responses"]
    assert spec["summary"]
    assert spec["security"]
    assert any(code.startswith("2") for code in answers)
    wanted = {"401", "403", "406", "429", "503"}
    if operation.method == "post":
        wanted |= {"400", "413", "415", "422"}
    if "{thread_id}" in operation.path or "{approval_id}" in operation.path:
        wanted.add("404")
    if any(p["name"] == "If-Match" for p in spec.get("parameters", ())):
        wanted |= {"409", "412"}
    if any(p["in"] == "header" for p in spec.get("parameters", ())):
        wanted.add("400")
    assert wanted <= set(answers), wanted - set(answers)
    for code, body in answers.items():
        if code == "304":  # says only that the known version still holds
            limits = {"RateLimit", "RateLimit-Policy"}
            assert ("content" in body, set(body["headers"]) - limits) == (False, {"ETag"})
            continue
        assert body["content"], code
        for kind, media in body["content"].items():
            if kind == "application/zip":
                assert media["schema"]["format"] == "binary"
                continue
            if kind in ("text/event-stream", "text/html"):
                assert media["schema"] == {"type": "string"}
                assert "application/json" in body["content"], code
                continue
            reference = media["schema"]["$ref"].rpartition("/")[2]
            assert shape(reference)["properties"]
            if code >= "400":
                assert (kind, reference) == ("application/problem+json", "Problem")
    assert "Retry-After" in answers["503"]["headers"]
    assert "Retry-After" in answers["429"]["headers"]
    for parameter in spec.get("parameters", ()):
        assert parameter["schema"], parameter
        assert parameter["in"] == "path" or parameter.get("description"), parameter


# --- the good answer ------------------------------------------------------------------------------


@contextmanager
def starts_of(code: CodeType) -> Iterator[list[CodeType]]:
    """The starts of a function while this lasts."""
    seen: list[CodeType] = []
    monitoring, tool = sys.monitoring, sys.monitoring.PROFILER_ID
    event = monitoring.events.PY_START
    monitoring.use_tool_id(tool, "starts")
    monitoring.register_callback(tool, event, lambda code, offset: seen.append(code))
    monitoring.set_local_events(tool, code, event)
    try:
        yield seen
    finally:
        monitoring.set_local_events(tool, code, 0)
        monitoring.free_tool_id(tool)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_answer_is_the_documented_one(world: World, name: str) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    client = world.cast.client(call.who[0])
    # The code of the wrapper that all actions have which may wait for a second admin.
    with starts_of(set_password.__code__) as waits:
        answer = send(client, operation, call)
    assert answer.status_code == call.status, answer.content
    assert not waits or "202" in operation.spec["responses"] or name == "users_unlink"
    documented = operation.spec["responses"][str(call.status)]
    if "application/zip" in documented["content"]:
        assert answer["Content-Type"] == "application/zip"
        assert b"".join(answer.streaming_content).startswith(b"PK")
        return
    reference = documented["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    payload = answer.json()
    assert set(payload) == set(shape(reference)["properties"])
    for one in payload.get("results", ())[:3]:
        inner = shape(reference)["properties"]["results"]["items"]["$ref"].rpartition("/")[2]
        assert set(one) == set(shape(inner)["properties"])
    headers = {"ETag", "Location"} & set(documented.get("headers", ()))
    assert {name for name in ("ETag", "Location") if name in answer} == headers
    if "ETag" in headers:
        assert answer["ETag"] == f'"{payload["version"]}"'
    if "Location" in headers:
        assert client.get(answer["Location"]).json()["id"] == payload["id"]
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in ALL if "preview" in operations()[n].query])
def test_a_preview_changes_nothing(world: World, name: str) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    client = world.cast.client(call.who[0])
    before = everything()
    for line in ("1", "true", "yes"):
        answer = send(client, operation, call.but(query={"preview": line}))
        assert answer.status_code == 200, answer.content
    assert everything() == before
    assert send(client, operation, call.but(query={"preview": "0"})).status_code == call.status
    assert everything() != before


# --- who may not ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in ALL if operations()[n].method == "post"])
def test_roles_that_may_not(world: World, name: str) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    others = {*ROLES, "viewer", "admin"} - {*call.who}
    if {*call.who} == {*ROLES}:  # everybody with a role may
        others = set()
    clients = {who: world.cast.client(who) for who in others}
    nobody = world.cast.client("nobody")
    before = everything()
    stranger = send(nobody, operation, call)
    assert (stranger.status_code, "not a member" in stranger.json()["detail"]) == (403, True)
    for who, client in clients.items():
        answer = send(client, operation, call)
        assert answer.status_code == 403, (who, answer.content)
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["detail"].startswith("Needs the role "), who
    assert len(clients) >= 2 or {*call.who} == {*ROLES}
    assert everything() == before


# --- cost -----------------------------------------------------------------------------------------


def counted(world: World, call: Call, name: str) -> tuple[int, list[str]]:
    """How many statements the call makes, and which."""
    client = world.cast.client(call.who[0])
    with CaptureQueriesContext(connection) as queries:
        answer = send(client, operations()[name], call)
        if answer["Content-Type"] == "application/zip":
            b"".join(answer.streaming_content)  # some files are read while they are sent
    assert answer.status_code == call.status, getattr(answer, "content", b"")
    # The request that comes first looks for policies about nodes once a second, and notes once a
    # minute that its sign-in was used.
    seldom = ("position('node'", "UPDATE gp_sign_in SET last_seen_at")
    every = (q["sql"] for q in queries.captured_queries)
    sent = [sql for sql in every if not any(part in sql for part in seldom)]
    return len(sent), sent


def more(world: World) -> None:
    """Several times as many rows of everything."""
    for _ in range(4):
        scene.start(world.cast.workspace, world.agent)
        scene.waiting(world.cast.workspace, world.agent)
    for version in (2, 3):
        scene.make_agent("another", version)


def longer(world: World) -> World:
    """A world whose finished thread has a longer past."""
    work = scene.lease(scene.start(world.cast.workspace, world.agent))
    for number in range(6):
        scene.step(work, report=str(number))
        scene.effect(work)
    first = queries.checkpoint_by_number(work.thread, 0).id
    values = {**world.__dict__, "ended": work.thread, "first": first}
    return World(**values)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_statements_per_call(world: World, name: str) -> None:
    operation = operations()[name]
    few, statements = counted(world, example(world, operation), name)
    assert few <= QUERIES.get(name, USUAL), statements


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in ALL if operations()[n].method == "get"])
def test_statements_do_not_grow_with_rows(world: World, name: str) -> None:
    few, _ = counted(world, example(world, operations()[name]), name)
    more(world)
    call = example(longer(world), operations()[name])
    wide = call.but(query={**call.query, "limit": "100"} if "limit" in call.query else call.query)
    many, statements = counted(world, wide, name)
    assert many <= few, statements


# --- pages ----------------------------------------------------------------------------------------


def walk(client: Any, path: str, query: str, arrive: Callable[[], None]) -> list[dict[str, Any]]:
    """All rows page by page, while rows arrive between the pages."""
    results: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(100):
        with CaptureQueriesContext(connection) as queries:
            page = client.get(f"{path}?{query}&limit=2&cursor={cursor}").json()
        statements = " ".join(q["sql"] for q in queries.captured_queries).upper()
        assert " OFFSET " not in statements
        # A page begins behind its cursor by one comparison of whole rows, or of a number.
        assert not cursor or any(one in statements for one in (") < (", ") > (", "NUMBER < "))
        results += page["results"]
        cursor = page["next_cursor"]
        if not cursor:
            return results
        assert len(page["results"]) == 2
        arrive()
    raise AssertionError("the list never ends")


@pytest.mark.slow
def test_pages_neither_double_nor_miss_a_row(world: World) -> None:
    """Lists newest first never show what came after the first page; those oldest first do."""
    cast, client = world.cast, world.cast.client("auditor")
    for _ in range(4):
        scene.waiting(cast.workspace, world.agent)
    work = scene.lease(scene.start(cast.workspace, world.agent))
    for number in range(5):
        scene.step(work, report=str(number))

    def thread() -> None:
        scene.start(cast.workspace, world.agent)

    requested = 0

    def request() -> None:
        nonlocal requested
        if requested < 3:
            scene.waiting(cast.workspace, world.agent)
            requested += 1

    at = f"/api/v1/threads/{work.thread}/checkpoints/"
    newest_first: list[tuple[str, str, str, Callable[[], None]]] = [
        ("/api/v1/threads/", "", "id", thread),
        ("/api/v1/approvals/", "status=all", "id", request),
        (at, "", "number", lambda: scene.step(work, report="more") and None),
    ]
    for path, query, key, arrive in newest_first:
        before = [one[key] for one in client.get(f"{path}?{query}&limit=200").json()["results"]]
        seen = [one[key] for one in walk(client, path, query, arrive)]
        assert len(before) >= 5
        assert seen == before, path
    requested = 0
    before = [one["id"] for one in client.get("/api/v1/approvals/?limit=200").json()["results"]]
    seen = [one["id"] for one in walk(client, "/api/v1/approvals/", "status=pending", request)]
    assert seen[: len(before)] == before
    assert (requested, len(seen), len(set(seen))) == (3, len(before) + 3, len(before) + 3)
