"""Every entry point that changes something asks for the right first; a GET changes nothing.

The entries are enumerated from the product and counted; one that nobody has described in the module
of its kind fails here. Each is knocked at by nobody, by every role, by somebody of another
workspace and with things of another workspace: what is refused writes not one row. Who may come in
is not written down: it is what the choke point asked for when somebody came in.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from dashboard.gateway.server.tools import TOOLS
from dashboard.live import consumers, routing
from tests.contract.operations import operations
from tests.contract.world import World
from tests.contract.written import changes, everything, taken_back
from tests.support.cast import PEOPLE as CAST

from . import targets
from .admin_forms import (
    ADMIN,
    BY_FIELD,
    CLOSED,
    OWN,
    ROOT,
    SITE,
    admin_form,
    admin_names,
    read_only,
)
from .calls import world_hook
from .choke_point import decided, everybody, may_pass, watched
from .commands import COMMANDS, HOST, IDLE, LOOK, READERS, THE_OPERATORS, verbs
from .directory import SCIM, scim_addresses
from .entries import every
from .entry import FORBIDDEN, MISSING, PEOPLE, REFUSED, Entry, Knock, addresses, browsers
from .mcp_tools import MCP_TOOLS
from .test_pages_and_calls import FORMS, SHOWS, SIGN_IN

EVERY = every()
NAMED = [f"{one.kind} {one.name}" for one in EVERY]
INSIDE = [who for who in PEOPLE if who and CAST[who][0] == "default"]


# --- all of them are known ------------------------------------------------------------------------


def test_every_entry_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """The tables of the modules here are exactly what the product has."""
    known = {name for name, _ in addresses()}
    pages = {name for name in known if ":" not in name}
    assert pages == set(FORMS) | SHOWS | SIGN_IN
    calls = {name for name in known if name.startswith("api:")}
    described = {resolved(one.path) for one in operations().values()}
    assert calls - described == {"api:hook", "api:schema", "api:docs", "api:"}
    admin = admin_names()
    assert admin - read_only() == (set(ADMIN) | ROOT | CLOSED | OWN | SITE)
    changing = {name for name, tool in TOOLS.items() if tool.effect != "reads"}
    assert set(MCP_TOOLS) == changing
    assert verbs() == set(COMMANDS) | set(HOST) | LOOK
    listed = {f"{name} {method}" for name in SCIM for method in SCIM[name]}
    assert scim_addresses() == listed
    counted = Counter(one.kind for one in EVERY)
    with capsys.disabled():
        text = ", ".join(f"{n} {kind}" for kind, n in counted.items())
        print(f"\n{len(EVERY)} entry points that change something: {text}")
    assert len(EVERY) == len(set(NAMED)) > 70


def resolved(path: str) -> str:
    """The name of an address of the document."""
    filled = re.sub(r"\{\w+_id\}", NOBODY, path.replace("{user_id}", "7"))
    filled = re.sub(r"\{\w+\}", "x", filled)
    try:
        return resolve(filled).view_name
    except Resolver404:
        return path


NOBODY = "00000000-0000-0000-0000-000000000007"


def test_sockets_have_one_message_and_it_changes_nothing() -> None:
    """A socket listens: what it sends says only what it wants to see."""
    assert [str(one.pattern) for one in routing.websocket_urlpatterns] == ["ws/live/", ""]
    for kind in ("decide", "approve", "edit", "leave", "", None, 7):
        text = f'{{"type": "{kind}", "approval": "{NOBODY}", "verdict": "approve"}}'
        with pytest.raises(consumers.BadJoin):
            consumers.read_join(text, workspace=NOBODY)  # type: ignore[arg-type]
    handlers = {name for name in vars(consumers.LiveConsumer) if not name.startswith("_")}
    assert handlers <= {"member", "connect", "receive", "disconnect"}


# --- who comes in ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("entry", EVERY, ids=NAMED)
def test_nobody_comes_in_without_the_right(world: World, entry: Entry) -> None:
    knock = entry.prepare(world, False)
    rights, insiders = opened(world, entry, knock)
    outside = ["nobody", *([None] if entry.nobody else [])]
    if entry.names_things:
        outside.append("stranger")  # elsewhere they may make things of their own
    refused = [who for who in INSIDE if who not in insiders]

    def all_others() -> dict[str | None, str]:
        return {who: knock(who) for who in [*outside, *refused]}

    answers, written = changes(all_others)
    assert not written, (written, answers)
    if entry.nobody:
        assert answers.pop(None) == REFUSED
    for who in outside:
        if who is not None:
            assert answers.pop(who) in {REFUSED, FORBIDDEN, MISSING}, (who, answers)
    if entry.name in THE_OPERATORS:
        assert "in" not in answers.values(), answers
    else:
        assert set(answers.values()) <= {FORBIDDEN}, (rights, answers)
    for_all = {"verify", "read", "reveal", "subscribe", "save_view", "sign_ins", "confirm"}
    for_all |= {"stand_for"}
    keeps_out = 2 if rights == {"incident"} else 3
    assert len(refused) >= keeps_out or rights <= for_all, "whom does it keep out?"


def opened(world: World, entry: Entry, knock: Knock) -> tuple[set[str], list[str]]:
    """(the rights that the choke point asked for, who has them); somebody came in by them."""
    came, rights, functions, written = [], set[str](), set[str](), set[str]()
    for who in INSIDE:
        with taken_back():
            (answer, seen), tables = changes(lambda who=who: watched(lambda: knock(who)))
        if answer == "in" or (entry.name in IDLE and answer != FORBIDDEN):
            came.append(who)
            rights |= seen.rights
            functions |= seen.functions
            written |= tables
            assert seen.functions, f"{entry.name} changes something past the choke point"
    assert came, f"{entry.name} lets nobody in"
    assert written or entry.name in IDLE, f"{entry.name} changes nothing"
    if entry.name not in READERS:
        rights -= {"read"}
    if entry.kind == "admin":
        # Forms of people ask `administering`, for the role itself.
        assert came == ["admin"], came
    else:
        assert rights, f"{functions} ask for no right"
        expected = [who for who in INSIDE if may_pass(rights, who)]
        if entry.name in THE_OPERATORS:
            expected = [who for who in expected if who in THE_OPERATORS[entry.name]]
        assert came == expected, (came, rights)
    CAME[entry] = came
    return rights, came


# {entry point: who came in by it}, as found out above.
CAME: dict[Entry, list[str]] = {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry", [one for one in EVERY if one.names_things], ids=lambda one: f"{one.kind} {one.name}"
)
def test_things_of_others_are_not_there(world: World, entry: Entry) -> None:
    """Whoever may everything here finds nothing of another workspace, and changes nothing there."""
    if entry not in CAME:
        with taken_back():
            opened(world, entry, entry.prepare(world, False))
    knock = entry.prepare(world, True)
    answers, written = changes(lambda: {who: knock(who) for who in CAME[entry]})
    assert not (written - LOGGED), (written, answers)
    assert set(answers.values()) == {MISSING}, answers


# A delivery that was signed and refused is kept as answered.
LOGGED = {"gp_hook_delivery"}


@pytest.mark.parametrize("name", sorted(BY_FIELD))
def test_forms_offer_nothing_of_others(world: World, name: str) -> None:
    knock = admin_form(name, world, True)
    answer, written = changes(lambda: knock("admin"))
    assert (answer, written) == ("422", set())


@pytest.mark.slow
def test_what_is_closed_is_closed_to_all(world: World) -> None:
    """Of rows that are edited: the forms that nobody gets, and those of superusers."""
    clients = browsers(world)
    rows = {
        "auth_user": str(world.cast.users["viewer"].pk),
        "checkpoints_membership": str(targets.role(world, False)),
        "checkpoints_workspace": str(world.cast.workspace),
        "approvals_endpoint": str(world.hook),
        "approvals_hook": targets.hook(world, False),
        "approvals_hookidentity": targets.identity(world, False),
    }
    form = {"post": "yes", "name": "x", "username": "x", "_save": "Save"}

    def all_of_them() -> Counter[int]:
        result = Counter[int]()
        for name in sorted(CLOSED | ROOT):
            stem, _, word = name.rpartition("_")
            args = [] if word == "add" else [rows[stem]]
            path = reverse(f"admin:{name}", args=args)
            for who in ("admin", "auditor", "manager"):
                for method in ("post", "put", "patch", "delete"):
                    answer = getattr(clients[who], method)(path, form)
                    closed = (403, 405) if method == "post" else (200, 302, 403, 405)
                    assert answer.status_code in closed, (name, who, answer.status_code)
                    result[answer.status_code] += 1
        return result

    answers, written = changes(all_of_them)
    assert not written
    assert answers[403] > 50


# --- a GET changes nothing ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_get_changes_nothing_and_never_decides(world: World) -> None:
    """Every address is opened, by whoever may everything and by nobody."""
    root, nobody = everybody(world), Client()
    world_hook(world)
    opened = Counter[str]()
    requests = decided(world)
    verdict = f"?verdict=approve&proposal_hash={world.gate.proposal_hash}&_method=POST"

    def look(path: str) -> None:
        requests = [(root, method, path) for method in ("get", "head", "options")]
        for client, method, address in [
            *requests,
            (root, "get", path + verdict),
            (nobody, "get", path),
        ]:
            answer = getattr(client, method)(address)
            if hasattr(answer, "streaming_content"):
                for _ in answer.streaming_content:
                    pass
            opened[str(answer.status_code)] += 1

    before = everything()
    for name, parameters in addresses():
        path = filled(world, name, parameters)
        if path is None:
            continue
        look(path)
        after = everything()
        written = {table for table in after if after[table] != before.get(table)}
        assert written <= documented(name), (name, path, written)
        before = after
    assert decided(world) == requests
    assert opened["200"] > 100, opened


def documented(name: str) -> set[str]:
    """What may be written by a GET: that somebody has seen it.

    Who took a capsule or an export away is an entry of the log; when a reviewer first looked at a
    request is a figure beside it.
    """
    if name == "approval":
        return {"gp_approval_look"}
    if name.endswith(("capsule", "record_export", "records_export")):
        return {"gp_workspace_event", "gp_workspace"}
    return set()


def filled(world: World, name: str, parameters: frozenset[str]) -> str | None:
    """An address with ids of the world in it."""
    if name in ("admin:logout", "logout") or name.endswith(":"):
        unnamed = {"api:": "/api/v1/nothing/", "scim:": "/scim/v2/nothing"}
        return {"logout": "/logout/", **unnamed}.get(name)
    values = {
        "thread_id": world.gate.thread,
        "approval_id": world.gate.id,
        "breaker_id": world.breaker,
        "memory_id": world.memory,
        "erasure_id": world.erasure,
        "incident_id": world.incident,
        "subscription_id": world.subscription,
        "view_id": world.view,
        "sign_in_id": world.sign_in,
        "deputy_id": world.deputy,
        "change_id": world.access,
        "identity_id": world.identity,
        "device_id": world.device,
        "passkey_id": world.passkey,
        "activity_id": NOBODY,
        "question_id": NOBODY,
        "sha256": "0" * 64,
        "slug": "a",
        "agent": "reader",
        "name": "mail" if name == "voice_talk" else "research",
        "token_id": NOBODY,
        "prefix": "gp_nobody",
        "ident": "1",
        "user_id": world.cast.users["viewer"].pk,
        "policy_id": world.policy,
        "endpoint_id": world.hook,
        "hook_id": world.inbound,
        "server_id": world.mcp,
        "object_id": world.gate.id if "approvals_approval" in name else NOBODY,
        "id": world.cast.users["viewer"].pk,
        "app_label": "approvals",
        "content_type_id": 1,
        "url": "",
    }
    return str(reverse(name, kwargs={key: values[key] for key in parameters}))
