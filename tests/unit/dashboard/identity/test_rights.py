"""Who may do what, where, and what may be done now: roles, workspaces, the thread's status."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from approvals import queries as gates
from approvals.notify.recipients import DECIDES
from checkpoints import queries
from checkpoints.states import ROLES as ROLES_OF_TABLE
from dashboard.administration import (
    deputies,
    endpoints,
    hooks,
    policy_calls,
    retention,
    subscriptions,
)
from dashboard.administration.endpoints import MakeEndpoint
from dashboard.board.breaker_actions import RELEASE, ReleaseBreaker
from dashboard.board.incidents.take import TAKE
from dashboard.board.saved_views import view_actions
from dashboard.errors import Conflict, Forbidden, Missing, NotAllowedNow
from dashboard.external import leases
from dashboard.identity import permissions
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import Actor, actor_of, allowed_actions, may
from dashboard.kit.pages.uploads import upload
from dashboard.kit.shapes.requests import Nothing
from dashboard.memories import actions as memories
from dashboard.people import access_decisions
from dashboard.people.accounts.users import edit_user
from dashboard.people.sign_ins import end_sign_in
from dashboard.records.erase import DECIDE_ERASURE, ERASE, DecideErasure, RequestErasure
from dashboard.records.legal_holds import HOLD, ChangeHold
from dashboard.threads.cancel import cancel
from dashboard.threads.capsule import export, import_thread
from dashboard.threads.code import choose_code
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork
from dashboard.threads.input import INPUT, SendInput
from dashboard.threads.move_up import MOVE_UP, MoveUp
from dashboard.threads.pause import PAUSE, RESUME, Pause, Resume
from dashboard.threads.rename import RENAME, Rename
from dashboard.threads.retry import RETRY
from dashboard.threads.reveal import reveal
from dashboard.threads.roll_back import roll_back
from dashboard.threads.signal import SIGNAL, SendSignal
from dashboard.threads.skip import SKIP, Skip
from dashboard.threads.start import start_thread
from dashboard.threads.verify import verify
from tests.support import decisions
from tests.support.cast import PEOPLE, Cast
from tests.support.settled import settle
from tests.unit.dashboard import scene
from tests.unit.dashboard.gateway.servers import remove_mcp_server

HASH = "0" * 64
# Reading; what people show of themselves, and a scope for it; an entry of its own (test_scim.py).
ELSEWHERE = {"read", "confirm", "decide_high", "scim"}


def attempts(thread: UUID, head: UUID, approval: UUID) -> dict[str, Callable[[Actor], Any]]:
    """Every action that changes something, as a call by somebody."""
    return {
        "start": lambda who: start_thread(who, agent="research", input={"goal": "abc"}),
        "upload": lambda who: upload(who, SimpleUploadedFile("a.csv", b"a")),
        "work": lambda who: leases.take(who, thread, "host-1", 60),
        "pause": lambda who: PAUSE.run(who, Pause(), thread),
        "rename": lambda who: RENAME.run(who, Rename(title="October"), thread),
        "move_up": lambda who: MOVE_UP.run(who, MoveUp(reason="because"), thread),
        "resume": lambda who: RESUME.run(who, Resume(), thread),
        "retry": lambda who: RETRY.run(who, Nothing(), thread),
        "skip": lambda who: SKIP.run(who, Skip(node="analyse", reason="because"), thread),
        "settle": lambda who: settle(who, thread, head, "happened"),
        "code": lambda who: choose_code(who, thread, "pin"),
        "input": lambda who: INPUT.run(who, SendInput(message="more"), thread),
        "signal": lambda who: SIGNAL.run(who, SendSignal(name="settled", value=1), thread),
        "edit": lambda who: edit(who, thread, {"goal": "abc"}, "because"),
        "cancel": lambda who: cancel(who, thread, "because"),
        "fork": lambda who: fork(who, thread, head),
        "roll_back": lambda who: roll_back(who, thread, head, "because"),
        "decide": lambda who: decisions.decide(who, approval, "approve", HASH),
        "verify": lambda who: verify(who, thread),
        "reveal": lambda who: reveal(who, thread, "none"),
        "export": lambda who: export(who, thread).close(),
        "import": lambda who: import_thread(who, Path("there is none")),
        "policy": lambda who: policy_calls.CHANGE.run(
            who, policy_calls.PolicyChange(active=False), approval
        ),
        "notify": lambda who: endpoints.MAKE.run(who, MakeEndpoint(kind="email", name="x")),
        "hook": lambda who: hooks.SWITCH.run(who, hooks.SwitchHook(active=False), approval),
        "mcp": lambda who: remove_mcp_server(who, approval),
        "remember": lambda who: memories.REMEMBER.run(who, memories.Remember(text="A fact.")),
        "memory": lambda who: memories.FORGET.run(
            who, memories.ForgetMemory(reason="wrong"), approval
        ),
        "breaker": lambda who: RELEASE.run(who, ReleaseBreaker(reason="right"), approval),
        "request_erasure": lambda who: ERASE.run(who, RequestErasure(reason="consent"), thread),
        "erase": lambda who: DECIDE_ERASURE.run(who, DecideErasure(verdict="approve"), approval),
        "hold": lambda who: HOLD.run(who, ChangeHold(reason="case 17"), thread),
        "retention": lambda who: retention.SET.run(who, retention.SetRetention(agent="a", days=30)),
        "incident": lambda who: TAKE.run(who, Nothing(), approval),
        "subscribe": lambda who: subscriptions.REMOVE.run(who, Nothing(), approval),
        "save_view": lambda who: view_actions.REMOVE.run(who, Nothing(), approval),
        "delegate": lambda who: deputies.REMOVE.run(who, Nothing(), approval),
        "access": lambda who: access_decisions.REFUSE.run(who, Nothing(), approval),
        "stand_for": lambda who: hooks.CONFIRM.run(who, Nothing(), approval),
        "sign_ins": lambda who: end_sign_in(who, approval),
        "people": lambda who: edit_user(Administrator(who, False), 2**31 - 1, {}),
    }


def test_rights_name_known_roles_and_an_admin_decides_nothing() -> None:
    assert permissions.ROLES == ROLES_OF_TABLE
    assert all(roles <= set(ROLES_OF_TABLE) for roles in permissions.RIGHTS.values())
    assert [a for a, roles in permissions.RIGHTS.items() if "admin" in roles] == [
        "read",
        "verify",
        "reveal",
        "breaker",
        "request_erasure",
        "erase",
        "hold",
        "retention",
        "incident",
        "subscribe",
        "save_view",
        "delegate",
        "policy",
        "notify",
        "hook",
        "mcp",
        "people",
        "access",
        "sign_ins",
        "confirm",
        "stand_for",
        "scim",
    ]
    assert set(attempts(uuid4(), uuid4(), uuid4())) == set(permissions.RIGHTS) - ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "action"),
    list(
        itertools.product(
            ("operator", "manager", "auditor", "viewer", "admin"),
            sorted(set(permissions.RIGHTS) - ELSEWHERE),
        )
    ),
)
def test_every_right(cast: Cast, agent: UUID, name: str, action: str) -> None:
    """Whoever may is not refused as Forbidden; whoever may not is, and nothing is written."""
    row = scene.waiting(cast.workspace, agent)
    before = queries.thread(row.thread, workspace=cast.workspace)
    actor = cast.actor(name)
    allowed = {
        "operator": {
            "start",
            "upload",
            "pause",
            "rename",
            "move_up",
            "resume",
            "retry",
            "edit",
            "cancel",
            "fork",
        }
        | {
            "skip",
            "settle",
            "roll_back",
            "input",
            "signal",
            "code",
            "export",
            "import",
            "work",
            "breaker",
            "remember",
            "memory",
        }
        | {"incident", "request_erasure"},
        "manager": {"fork", "roll_back", "decide", "incident", "delegate"},
        "auditor": {"export"},
        "admin": {"policy", "notify", "hook", "mcp", "people", "breaker", "incident"}
        | {"access", "request_erasure", "erase", "hold", "retention", "delegate"},
    }.get(name, set()) | {"verify", "subscribe", "save_view", "sign_ins", "reveal", "stand_for"}
    assert may(actor, action) is (action in allowed)
    call = attempts(row.thread, before.head, row.id)[action]
    if action in allowed:
        # No policy, hook or user has that id: whoever may is told just that.
        unknown = {"policy", "hook", "mcp", "people", "breaker", "incident", "subscribe", "erase"}
        unknown |= {"memory"}
        unknown |= {"save_view", "delegate", "sign_ins", "reveal", "access", "stand_for"}
        missing = [Missing] if action in unknown else []
        with contextlib.suppress(Conflict, *missing):
            call(actor)
    else:
        with pytest.raises(Forbidden, match="Needs the role") as caught:
            call(actor)
        assert caught.value.status == 403
        assert queries.thread(row.thread, workspace=cast.workspace) == before


@pytest.mark.parametrize(
    "action",
    sorted(
        set(permissions.RIGHTS)
        - ELSEWHERE
        - {"start", "upload", "import", "notify", "remember", "retention"}
    ),
)
def test_other_workspaces_do_not_exist(cast: Cast, agent: UUID, action: str) -> None:
    row = scene.waiting(cast.workspace, agent)
    head = queries.thread(row.thread, workspace=cast.workspace).head
    with pytest.raises(Missing) as caught:
        attempts(row.thread, head, row.id)[action](cast.actor("stranger"))
    with pytest.raises(Missing) as unknown:
        attempts(uuid4(), head, uuid4())[action](cast.actor("stranger"))
    assert caught.value.detail == unknown.value.detail
    assert gates.approval(row.id, workspace=cast.workspace).open


def test_who_is_told_is_who_may_decide() -> None:
    assert permissions.RIGHTS["decide"] == {DECIDES}


def test_who_is_who(cast: Cast, django_user_model: Any) -> None:
    actor = cast.actor("operator")
    assert actor.id == f"user:{cast.users['operator'].pk}"
    assert (actor.workspace, actor.workspace_name) == (cast.workspace, "default")
    for name, (workspace_name, roles) in PEOPLE.items():
        if workspace_name:
            assert cast.actor(name).roles == set(roles)
    with pytest.raises(Forbidden, match="not a member"):
        cast.actor("nobody")
    root = django_user_model.objects.create_superuser("root", password="x")
    assert actor_of(root).roles == {"admin"}
    assert actor_of(root).workspace == cast.workspace
    cast.users["operator"].is_active = False
    with pytest.raises(Forbidden, match="Sign in"):
        cast.actor("operator")


# --- what may be done now -------------------------------------------------------------------------


def test_allowed_actions_say_why_not(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    thread = queries.thread(row.thread, workspace=cast.workspace)
    result = allowed_actions(cast.actor("operator"), thread)
    assert list(result) == list(permissions.THREAD_ACTIONS)
    allowed = {name for name, a in result.items() if a.allowed}
    assert allowed == {"pause", "signal", "edit", "fork", "roll_back", "cancel"}
    assert result["resume"].why == "Only possible while the thread is paused; now it is waiting."
    assert result["retry"].why == (
        "Only possible while the thread is in need of attention or failed; now it is waiting."
    )
    seen = allowed_actions(cast.actor("auditor"), thread)
    assert not any(a.allowed for a in seen.values())
    assert seen["pause"].why == "Needs the role operator."
    assert seen["fork"].why == "Needs the role operator or reviewer."


def test_allowed_actions_agree_with_the_store(cast: Cast, agent: UUID) -> None:
    """What is shown as possible is possible, and what is not is refused, in three statuses."""
    who = cast.actor("operator")
    for make in (
        lambda: scene.start(cast.workspace, agent),
        lambda: scene.waiting(cast.workspace, agent).thread,
        lambda: scene.lease(scene.start(cast.workspace, agent)).thread,
    ):
        for action in ("pause", "resume", "retry", "edit", "cancel", "fork"):
            thread = queries.thread(make(), workspace=cast.workspace)
            expected = allowed_actions(who, thread)[action].allowed
            call = attempts(thread.id, thread.head, uuid4())[action]
            if expected:
                call(who)
            else:
                with pytest.raises(NotAllowedNow):
                    call(who)
