"""D06: whatever a page can do, a call of the API does, through the same function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from django.urls import get_resolver, reverse

from dashboard.approvals.decide_many import decide_many
from dashboard.kit.action import ACTIONS
from tests.contract.calls import example, send
from tests.contract.entries.choke_point import EXTERNAL
from tests.contract.example_calls import version_of
from tests.contract.operations import operations
from tests.contract.starts import noticed
from tests.contract.things import DEVICE, adding, code_of
from tests.contract.world import World, make_talker, make_world
from tests.contract.written import taken_back
from tests.support.cast import Cast

from .choke_point import BY_HAND
from .declared import form, named, pages

pytestmark = pytest.mark.requirement("D06")

# The last one is `start_or_continue` for those who do not care which it was.
SAME = {"start_thread": "start_or_continue"}


def _goal(world: World) -> dict[str, Any]:
    return {"f-goal": "weather", "reason": "typo"}


# Page addresses that change something: (who, ids of the address, form). Of a declared action they
# are made from the example of its call, unless they stand here.
FORMS: dict[str, Callable[[World], tuple[str, list[Any], dict[str, Any]]]] = {
    **{name: partial(form, name) for name in pages()},
    "thread_new": lambda w: ("operator", [], {"agent": "research", "f-goal": "delays"}),
    "thread_fork": lambda w: ("manager", [w.ended], {"f-goal": "weather", "effects": "ask"}),
    "thread_rollback": lambda w: ("manager", [w.ended], {"reason": "wrong data"}),
    "thread_edit": lambda w: ("operator", [w.gate.thread], _goal(w)),
    "threads_many": lambda w: (
        "operator",
        [],
        {"thread": f"{w.queued}:{version_of(w.queued)}", "action": "pause", "do": "sure"},
    ),
    "thread_pause": lambda w: ("operator", [w.queued], {}),
    "thread_settle": lambda w: (
        "operator",
        [w.asking[0]],
        {"activity": w.asking[1], "verdict": "happened", "f-result": "null", "f-reason": "seen"},
    ),
    "thread_code": lambda w: ("operator", [w.changed], {"choice": "pin"}),
    "thread_cancel": lambda w: ("operator", [w.queued], {"undo": "1"}),
    "breaker_trip": lambda w: (
        "operator",
        [],
        {"agent": "nobody", "seen": '{"agent":"nobody"}', "reason": "prices are wrong"},
    ),
    "thread_move_up": lambda w: ("operator", [w.queued], {"seen": "{}", "reason": "a customer"}),
    "breaker_release": lambda w: ("operator", [w.breaker], {"some": "all", "reason": "right"}),
    "thread_erase": lambda w: ("operator", [w.ended], {"do": "request", "reason": "consent"}),
    "erasure": lambda w: ("admin", [w.erasure], {"verdict": "approve"}),
    "incident_snooze": lambda w: ("operator", [w.incident], {"hours": "4"}),
    "subscription_new": lambda w: (
        "operator",
        [],
        {"endpoint": w.mail, "kinds": "thread.failed", "label": "team=eu"},
    ),
    "subscription": lambda w: (
        "operator",
        [w.subscription],
        {"endpoint": w.mail, "kinds": "thread.failed", "agent": "research"},
    ),
    "quiet_hours": lambda w: (
        "operator",
        [],
        {"begins": "22:00", "ends": "07:00", "zone": "Europe/Berlin"},
    ),
    "view_new": lambda w: (
        "operator",
        [],
        {"name": "Failed", "address": "status=failed", "shared": "1"},
    ),
    "view": lambda w: ("operator", [w.view], {"name": "All", "address": "", "shared": "1"}),
    "questions": lambda w: (
        "operator",
        [],
        {"question": "Who started the thread?", "thread": w.ended},
    ),
    "view_remove": lambda w: ("operator", [w.view], {}),
    "own_password": lambda w: (
        "operator",
        [],
        {
            "password": "operator-password",
            "new_password": "another long pass word",
            "again": "another long pass word",
        },
    ),
    "sign_in_end": lambda w: ("operator", [w.sign_in], {}),
    "sign_ins_end_others": lambda w: ("operator", [], {}),
    "second_factor_add": lambda w: ("manager", [], adding(w.cast, "manager")),
    "second_factor_remove": lambda w: ("operator", [], {"code": code_of(w.factor)}),
    "passkey_remove": lambda w: (
        "operator",
        [],
        {"passkey": w.passkey, "password": "operator-password"},
    ),
    "device_add": lambda w: (
        "operator",
        [],
        {"name": "phone", "address": "https://push.example/new", **DEVICE},
    ),
    "deputies": lambda w: (
        "manager",
        [],
        {"deputy": "second_manager", "begins": "2030-01-01", "ends": "2030-01-07"},
    ),
    "identity_confirm": lambda w: ("operator", [w.identity], {}),
    "access_change_confirm": lambda w: ("admin", [w.access], {}),
    "access_change_refuse": lambda w: ("admin", [w.access], {}),
    "thread_reveal": lambda w: ("auditor", [w.encrypted], {"channel": "note"}),
    "thread_verify": lambda w: ("auditor", [w.ended], {}),
    "thread_input": lambda w: ("operator", [w.inbox], {"f-message": "and the rain"}),
    "voice": lambda w: ("operator", [], {"agent": make_talker(), "name": "mail"}),
    "thread_signal": lambda w: ("operator", [w.inbox], {"name": "settled", "value": "1"}),
    "approvals_decide": lambda w: (
        "manager",
        [],
        {
            "verdict": "approve",
            "item": f"{w.gate.id}:{w.gate.proposal_hash}",
            "confirmed": "1",
        },
    ),
    "approval_decide": lambda w: (
        "manager",
        [w.gate.id],
        {"verdict": "approve", "proposal_hash": w.gate.proposal_hash},
    ),
    "approval_take_back": lambda w: ("manager", [w.held.id], {}),
}
QUERY = {"thread_rollback": "?checkpoint=0", "thread_fork": "?checkpoint=0"}
# They show what stands in no answer to a GET: recovery codes, a decrypted value.
ANSWERS = {"second_factor_add": 200, "thread_reveal": 200}
# Addresses that only show, and the sign-in itself.
SHOWS = {
    "access_changes",
    "board", "thread", "published", "approvals", "approval", "approval_edit", "artifact", "favicon",
    "healthz", "readyz", "metrics", "thread_capsule", "reviewers", "approvals_ended",
    "approval_report", "compare", "erasures", "thread_value", "artifact_preview",
    "incidents", "incident", "memories", "memory", "subscriptions", "views", "sign_ins",
    "second_factor", "push_worker",
    "question", "voice_talk", "keyboard", "overview", "overview_csv",
}  # fmt: skip
# A capsule of any size and a folder on the machine are read by command; no page does it either.
BY_COMMAND = {"import_thread", "external.keep_state"}
# Of the login alone, the workspace that it acts in included; and a browser's reports, for the log.
SIGN_IN = {"login", "login_code", "logout", "welcome", "workspace", "violations"}
# A browser creates a passkey for the page that it shows, and for nobody else.
SIGN_IN |= {"passkey_add"}


def codes() -> dict[Any, str]:
    """The functions that act, by their code."""
    # What agents that work elsewhere do has names of its own.
    results: dict[str, Any] = {
        f"external.{name}": one
        for module in EXTERNAL
        for name, one in vars(module).items()
        if inspect.isfunction(one)
        and one.__module__ == module.__name__
        and not name.startswith("_")
        and name not in ("closed", "is_own", "lease_of", "owner_of")
    }
    results |= BY_HAND
    results["decide_many"] = decide_many
    for action in ACTIONS.values():
        results[action.name] = action.perform
        if action.preview:
            results[f"{action.name} preview"] = action.preview.look
    return {
        inspect.unwrap(one).__code__: name
        for name, one in results.items()
        if inspect.isfunction(one) and one.__module__.startswith("dashboard.")
    }


def reached(act: Callable[[], Any]) -> tuple[Any, set[str]]:
    """(answer, which actions were called meanwhile)."""
    wanted, results = codes(), set()

    def look(frame: FrameType) -> bool:
        if frame.f_code in wanted:
            results.add(wanted[frame.f_code])
        return False

    with noticed(look):
        answer = act()
    return answer, {SAME.get(name, name) for name in results}


def alone(act: Callable[[], Any]) -> tuple[Any, set[str]]:
    """As `reached`; afterwards the world is as it was."""
    with taken_back():
        return reached(act)


def by_api(world: World) -> set[str]:
    """The actions that calls reach, previews included."""
    results: set[str] = set()
    for name, operation in operations().items():
        call = example(world, operation)
        client = world.cast.client(call.who[0])
        previewed = {**call.query, "preview": "1"}
        for query in (call.query, *([previewed] if "preview" in operation.query else [])):
            answer, names = alone(partial(send, client, operation, call.but(query=query)))
            assert answer.status_code < 300, (name, answer.content)
            assert names or operation.method == "get", (
                f"{name} changes something past the choke point"
            )
            results |= names
    return results


def by_page(world: World, name: str) -> set[str]:
    """The actions that an address of a page reaches when it is opened and when it is sent."""
    who, ids, form = FORMS[name](world)
    client = world.cast.client(who)
    url = reverse(name, args=ids) + QUERY.get(name, "")
    opened = alone(partial(client.get, url))[1]
    answer, sent = alone(partial(client.post, url, form))
    assert answer.status_code == ANSWERS.get(name, 303), (name, answer.content.decode()[-3000:])
    assert sent, f"{name} changes something past the choke point"
    return opened | sent


def test_every_page_is_known() -> None:
    """A new address says here whether it changes something, and with which form."""
    known = {one.name for one in named(get_resolver().url_patterns)}
    assert known == set(FORMS) | SHOWS | SIGN_IN


@pytest.mark.slow
def test_pages_that_only_show_take_no_post(cast: Cast) -> None:
    """Whatever is not in FORMS changes nothing, so it needs no call."""
    world = make_world(cast)
    client = cast.client("operator")
    ids: dict[str, list[Any]] = {
        "thread": [world.ended],
        "published": [world.ended, "a", "b"],
        "thread_capsule": [world.ended],
        "approval": [world.gate.id],
        "approval_edit": [world.gate.id],
        "approval_report": [world.gate.id],
        "artifact": ["0" * 64],
        "artifact_preview": ["0" * 64],
        "incident": [world.incident],
        "memory": [world.memory],
        "overview_csv": ["spending"],
        "question": ["0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10"],
        "voice_talk": ["reader", "mail"],
    }
    for name in SHOWS:
        answer, names = alone(partial(client.post, reverse(name, args=ids.get(name, []))))
        assert (answer.status_code in (303, 400, 403, 404, 405), names) == (True, set()), name


@pytest.mark.slow
def test_each_page_action_has_its_call(cast: Cast) -> None:
    world = make_world(cast)
    calls = by_api(world)
    results = {name: by_page(world, name) for name in FORMS}
    assert {name: result - calls for name, result in results.items() if result - calls} == {}
    assert len(set().union(*results.values())) >= len(FORMS)


@pytest.mark.slow
def test_each_action_has_its_call(cast: Cast) -> None:
    """Also what no page does yet: no function acts that a call cannot reach."""
    offered = {SAME.get(name, name) for name in codes().values()}
    assert offered - by_api(make_world(cast)) == BY_COMMAND
    assert len(offered) >= 12
