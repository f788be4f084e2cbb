"""What the choke point was asked meanwhile, and who has the rights it asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from types import FrameType
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from approvals import queries as requests
from checkpoints import store
from dashboard.administration import policies
from dashboard.administration.devices import add_device
from dashboard.external import leases, next_steps, observed_threads, reports, saved_states, spans
from dashboard.identity import permissions
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import Actor
from dashboard.kit import action as kit
from dashboard.kit.pages import uploads
from dashboard.people import own_password, second_factor, sign_ins
from dashboard.people.accounts import access_changes, administration, users
from dashboard.people.directory import provisioned
from dashboard.records.export import export_records
from dashboard.threads import (
    cancel,
    capsule,
    code,
    edit,
    fork,
    many,
    reveal,
    roll_back,
    start,
    target,
    verify,
)
from tests.contract.starts import noticed
from tests.contract.world import World
from tests.support.cast import PEOPLE as CAST

# Verbs that are written by hand.
BY_HAND: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        *(cancel.cancel, cancel.preview_cancel, capsule.export, capsule.import_thread),
        *(code.choose_code, code.choose_code_many, edit.edit, edit.preview_edit),
        *(fork.fork, fork.fork_point, fork.preview_fork, many.act_on_many, many.preview_many),
        *(reveal.reveal, roll_back.preview_roll_back, roll_back.roll_back),
        *(add_device, export_records),
        *(start.start_or_continue, start.start_thread, target.refuse_preview, verify.verify),
        *(policies.preview_policy, policies.try_policy, uploads.upload),
        *(access_changes.list_access_changes, own_password.change_own_password),
        *(users.edit_user, users.end_token, users.link_user, users.list_tokens, users.list_users),
        *(users.make_user, users.set_user_password, second_factor.add_second_factor),
        *(second_factor.confirm_by_code, second_factor.passkeys, second_factor.remove_factor_of),
        *(second_factor.propose_second_factor, second_factor.remove_passkey),
        *(second_factor.remove_second_factor, second_factor.required_factor),
        second_factor.second_factor,
        *(sign_ins.confirm_sign_in, sign_ins.end_other_sign_ins, sign_ins.end_sign_in),
        *(sign_ins.list_sign_ins, sign_ins.sign_out_user),
    )
}
# Modules whose functions are the choke point.
CHOKE = {administration.__name__, provisioned.__name__}
EXTERNAL = (leases, next_steps, observed_threads, reports, saved_states, spans)
CHOKE |= {module.__name__ for module in EXTERNAL}
CHOKE |= {one.__module__ for one in BY_HAND.values()}
# Declared actions: the kit asks for the right, the functions beside a declaration act.
import_module(settings.ROOT_URLCONF)
CHOKE |= {kit.__name__, *(one.perform.__module__ for one in kit.ACTIONS.values())}


@dataclass
class Seen:
    """What the choke point did meanwhile: its functions, and the rights they asked for."""

    functions: set[str] = field(default_factory=set)
    rights: set[str] = field(default_factory=set)


def watched(act: Callable[[], str]) -> tuple[str, Seen]:
    """Results, and what was seen at the choke point meanwhile."""
    seen = Seen()
    asks = permissions.require.__code__

    def look(frame: FrameType) -> bool:
        code = frame.f_code
        if code is asks:
            if frame.f_back and frame.f_back.f_globals.get("__name__") in CHOKE:
                seen.rights.add(frame.f_locals["action"])
            return True
        if frame.f_globals.get("__name__") not in CHOKE or not code.co_argcount:
            return False
        first = frame.f_locals.get(code.co_varnames[0])
        if isinstance(first, Actor | Administrator):
            seen.functions.add(code.co_qualname)
        return True

    with noticed(look):
        answer = act()
    return answer, seen


def may_pass(rights: set[str], who: str) -> bool:
    """Whether the roles of somebody of the default workspace hold all these rights."""
    roles = set(CAST[who][1]) if CAST[who][0] == "default" else set()
    return all(permissions.RIGHTS[right] & roles for right in rights)


def superuser() -> Any:
    """Somebody to whom nothing is closed, for looking round."""
    row = get_user_model().objects.filter(username="root").first()
    return row or get_user_model().objects.create_superuser("root", password="root")


def everybody(world: World) -> Any:
    """A browser of somebody with every role and the superuser's flag."""
    user = superuser()
    for role in permissions.ROLES:
        store.grant(world.cast.workspace, user.pk, role, actor="user:0")
    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    return client


def decided(world: World) -> tuple[Any, ...]:
    """The requests of the world as they are."""
    return tuple(
        requests.approval(row.id, workspace=row.workspace)
        for row in (world.gate, world.other_gate, world.foreign_gate)
    )
