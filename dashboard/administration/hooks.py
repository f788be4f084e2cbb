"""Inbound hooks: services that may send signed decisions, and the people they stand for.

Admins make, change and map them, auditors look at them; each person confirms the names that are
theirs. Only what makes a secret shows it. What comes in through a hook is `decide_by_hook`'s.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Self
from uuid import UUID

from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST
from pydantic import Field

from approvals.hooks import changes as hooks
from approvals.hooks.changes import HookRow, IdentityRow
from approvals.notify.texts.kinds import PERSON_MAX
from checkpoints import queries
from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.documents.answer_json import with_more
from dashboard.documents.state_shape import Shape
from dashboard.errors import Missing, clip, translated
from dashboard.fields.validation import check_text
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, require
from dashboard.kit.action import Action, Target, by_id, read
from dashboard.kit.command import verb
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.people.accounts.access_changes import Gift, guarded, notify
from dashboard.people.accounts.accounts import roles_of
from dashboard.people.accounts.administration import name_of, require_audit

from .former_secrets import keep_option
from .record_forms import RecordForms

KEEP_MAX: Final = timedelta(days=30)
# Of a hook by its id: its sender posts decisions here.
ADDRESS: Final = "/api/v1/hooks/decide/?hook={}"
Word = Annotated[
    str,
    NotBlank(hooks.IDENTITY_MAX),
    Field(description="The sender's name for a person, such as U024BE7LH."),
]


class MakeHook(RequestShape):
    """A new hook."""

    name: Annotated[
        str,
        Field(pattern=f"^{hooks.NAME.pattern}$", max_length=40, description="a-z, 0-9 and -."),
    ]


class RotateHook(RequestShape):
    """A new secret."""

    keep: int = Field(
        default=int(hooks.KEEP_SECONDS),
        ge=0,
        le=int(KEEP_MAX.total_seconds()),
        description="Seconds for which the former secrets hold; 0: they end immediately.",
    )


class SwitchHook(RequestShape):
    """On or off."""

    active: bool


class MapIdentity(RequestShape):
    """Whom a hook's word for a person stands for."""

    identity: Word
    user: Annotated[str, NotBlank(PERSON_MAX)] = Field(
        description="The user name of a member: the hook decides as this person."
    )


class UnmapIdentity(RequestShape):
    """A word that no longer stands for anybody."""

    identity: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook(HookRow):
    """A hook without its secrets: `secrets` is how many of them hold now.

    `address` is the path that its sender posts decisions to.
    """

    address: str

    @classmethod
    def of(cls, row: HookRow, **more: Any) -> Self:
        """The row, and what a longer answer has beside it."""
        return with_more(cls, row, address=ADDRESS.format(row.id), **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookMade(Hook):
    """A new hook or a new secret: `secret` is shown here and never again."""

    secret: str


class HookList(Shape):
    """The hooks of the workspace by name."""

    results: list[Hook]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookIdentity(IdentityRow):
    """A word of a hook for a person, and the user it stands for."""

    user: str
    user_name: str

    @classmethod
    def of(cls, rows: Sequence[IdentityRow]) -> list[Self]:
        """The rows with the names of the users; that of a user who is gone is empty."""
        users = [f"user:{row.user_id}" for row in rows]
        names = people(users)
        return [
            with_more(cls, row, user=user, user_name=names.get(user, ""))
            for row, user in zip(rows, users, strict=True)
        ]


class OwnIdentities(Shape):
    """The words of hooks that stand for the caller."""

    results: list[HookIdentity]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDetail(Hook):
    """A hook and the people whom its words stand for."""

    identities: list[HookIdentity]


class HooksAndIdentities(Shape):
    """All hooks of the workspace and their words for people, as the command lists them."""

    hooks: list[Hook]
    identities: list[HookIdentity]


def list_hooks(actor: Actor) -> HookList:
    """The hooks of the workspace by name, for auditors and admins."""
    require_audit(actor)
    return HookList(results=[Hook.of(row) for row in hooks.hooks(actor.workspace)])


@translated()
def one_hook(actor: Actor, hook_id: UUID) -> HookDetail:
    """A hook and the people whom its words stand for; raises Missing."""
    require_audit(actor)
    row = hooks.hook(hook_id, workspace=actor.workspace)
    rows = hooks.identities(actor.workspace, hook=hook_id)
    return HookDetail.of(row, identities=HookIdentity.of(rows))


def own_identities(actor: Actor) -> OwnIdentities:
    """The words of hooks that stand for the person who asks."""
    require(actor, "read")
    rows = [one for one in hooks.identities(actor.workspace) if one.user_id == actor.user_id]
    return OwnIdentities(results=HookIdentity.of(rows))


def make_hook(actor: Actor, wanted: MakeHook) -> HookMade:
    """Make a hook; its secret is shown this once."""
    row, secret = hooks.add(actor.workspace, wanted.name, actor=actor.id)
    return HookMade.of(row, secret=secret)


def rotate_hook(actor: Actor, wanted: RotateHook, hook_id: UUID) -> HookMade:
    """Give a hook another secret, shown this once; the former ones hold for `keep` longer."""
    secret = hooks.rotate(hook_id, workspace=actor.workspace, actor=actor.id, keep=wanted.keep)
    return HookMade.of(hooks.hook(hook_id, workspace=actor.workspace), secret=secret)


def switch_hook(actor: Actor, wanted: SwitchHook, hook_id: UUID) -> Hook:
    """Let a hook in again, or keep it out from now on; whom its words stand for is kept."""
    row = hooks.set_active(hook_id, wanted.active, workspace=actor.workspace, actor=actor.id)
    return Hook.of(row)


def _gift_of_identity(actor: Actor, hook: UUID, identity: str, user_id: int) -> Gift:
    decides = "reviewer" in roles_of(user_id, actor.workspace)
    gives = [f"decisions by a hook as {clip(identity, 60)}"]
    return Gift(user_id, name_of(user_id), gives if decides else [])


# A change that waits for a second admin is stored under this name, with these arguments.
@translated()
@guarded(_gift_of_identity)
def map_identity(actor: Actor, hook: UUID, identity: str, user_id: int) -> IdentityRow:
    """Let a hook's word for a person stand for a member of the workspace, once they confirm it.

    The hook then decides as this user, who gets a mail.
    """
    require(actor, "hook")
    check_text("$.identity", identity, hooks.IDENTITY_MAX, required=True)
    if user_id not in queries.people_of(actor.workspace):
        raise Missing("There is no such user in this workspace.")

    def send_notification(name: str) -> None:
        notify(actor, "mapped", Gift(user_id, "", [f"decisions by {name} as {identity}"]))

    return hooks.map_identity(
        hook, identity, user_id, workspace=actor.workspace, actor=actor.id, then=send_notification
    )


def map_named(actor: Actor, wanted: MapIdentity, hook_id: UUID) -> HookIdentity:
    """The same for a user name."""
    model = get_user_model()
    user = model._default_manager.filter(**{model.USERNAME_FIELD: wanted.user}).first()
    if user is None or user.pk not in queries.people_of(actor.workspace):
        raise Missing(f"There is no user {wanted.user} in this workspace.")
    return HookIdentity.of([map_identity(actor, hook_id, wanted.identity, int(user.pk))])[0]


def unmap_identity(actor: Actor, wanted: UnmapIdentity, hook_id: UUID) -> HookDetail:
    """A hook's word for a person stands for nobody from now on."""
    hooks.unmap_identity(hook_id, wanted.identity, workspace=actor.workspace, actor=actor.id)
    return one_hook(actor, hook_id)


def confirm_identity(actor: Actor, _: Nothing, identity_id: UUID) -> HookIdentity:
    """Confirm that a hook's word stands for oneself: it decides in one's name from now on.

    No token does it, and nobody by a password that somebody else set. Raises Missing.
    """
    row = hooks.confirm_identity(
        identity_id, workspace=actor.workspace, user=actor.user_id, actor=actor.id
    )
    return HookIdentity.of([row])[0]


def _hook_named(actor: Actor, name: str) -> UUID:
    with translated():
        return hooks.named(name, workspace=actor.workspace).id


HOOK: Final = Target(name="name", find=_hook_named, metavar="NAME", help="a-z, 0-9 and -")
IDENTITY: Final = Target(name="identity", find=by_id("No name in a hook has this id."))
MAKE: Final = Action(
    name="hook.make",
    right="hook",
    takes=MakeHook,
    answers=HookMade,
    status=201,
    secret=True,
    perform=make_hook,
    events=(Kind.HOOK_CREATED,),
    summary="Make an inbound hook",
    description="Its secret is in this answer and nowhere else. See docs/howto/hooks.md.",
    help="makes a hook and shows its secret this once",
    done=lambda _, hook: f"The hook {hook.name} is made.",
)
ROTATE: Final = Action(
    name="hook.rotate",
    right="hook",
    target=HOOK,
    takes=RotateHook,
    answers=HookMade,
    secret=True,
    perform=rotate_hook,
    events=(Kind.HOOK_ROTATED,),
    summary="Give an inbound hook another secret",
    description="The former secrets hold for `keep` seconds more. At most five are valid at "
    "the same time.",
    help="gives a hook a new secret; old ones stay valid for a while",
    done=lambda _, hook: f"The hook {hook.name} has another secret.",
    examples="hook rotate slack\nhook rotate slack --keep 0",
)
SWITCH: Final = Action(
    name="hook.switch",
    right="hook",
    target=HOOK,
    takes=SwitchHook,
    answers=Hook,
    perform=switch_hook,
    events=(Kind.HOOK_ENABLED, Kind.HOOK_DISABLED),
    summary="Enable or disable an inbound hook",
    description="Takes effect immediately. Its decisions stay, with their texts.",
    help="enables a hook",
    done=lambda wanted, hook: (
        f"The hook {hook.name} is {'enabled' if wanted.active else 'disabled'}."
    ),
)
MAP: Final = Action(
    name="hook.map",
    right="hook",
    target=HOOK,
    takes=MapIdentity,
    answers=HookIdentity,
    second_admin=True,
    perform=map_named,
    events=(Kind.HOOK_MAPPED,),
    summary="Map a hook's name for a person to a member",
    description="In place of a former person. The hook decides as this member of the "
    "workspace once they have confirmed it; of a reviewer another admin confirms it first.",
    help="maps a hook's name for a person to a member",
    done=lambda _, one: f"{one.identity} in {one.hook_name} stands for {one.user_name}.",
    examples="hook map slack U024BE7LH manager",
)
UNMAP: Final = Action(
    name="hook.unmap",
    right="hook",
    target=HOOK,
    takes=UnmapIdentity,
    answers=HookDetail,
    perform=unmap_identity,
    events=(Kind.HOOK_UNMAPPED,),
    summary="Remove the mapping of a hook's name",
    description="The hook with the words that are left.",
    help="removes such a mapping",
    done=lambda wanted, hook: f"{wanted.identity} in {hook.name} stands for nobody.",
    examples="hook unmap slack U024BE7LH",
)
CONFIRM: Final = Action(
    name="identity.confirm",
    call_id="identities_confirm",
    right="stand_for",
    target=IDENTITY,
    takes=Nothing,
    answers=HookIdentity,
    perform=confirm_identity,
    events=(Kind.HOOK_CONFIRMED,),
    summary="Confirm that a name in a hook is yours",
    description="From then on the hook decides in your name. For logins of browsers.",
    help="confirms that a name in a hook is the person of --as",
    done=lambda _, one: f"Confirmed: {one.identity} in {one.hook_name} decides in your name.",
    examples="hook confirm slack U024BE7LH --as manager",
)
ALL: Final = reading(
    "hooks_list",
    HookList,
    list_hooks,
    summary="List inbound hooks",
    description="By name; no secret.",
)
ONE: Final = reading(
    "hooks_retrieve",
    HookDetail,
    one_hook,
    summary="An inbound hook and the members its names map to",
    description="No secret.",
    refused=(404,),
)
OWN: Final = reading(
    "identities_list",
    OwnIdentities,
    own_identities,
    summary="The names in hooks that map to you",
    description="Confirmed or not.",
)


class HookForms(RecordForms):
    """The actions on hooks for the forms of the records."""

    def make(self, name: str) -> tuple[UUID, str]:
        """A new one: its id and its secret."""
        made = MAKE.run(self.actor, read(MakeHook, {"name": name}))
        return made.id, made.secret

    def rotate(self, hook_id: UUID) -> str:
        """A new secret."""
        return ROTATE.run(self.actor, RotateHook(), hook_id).secret

    def switch(self, hook_id: UUID, active: bool) -> None:
        """On or off."""
        SWITCH.run(self.actor, SwitchHook(active=active), hook_id)

    def map(self, hook_id: UUID, identity: str, user: int) -> UUID:
        """Let a word stand for a user; the id of its row."""
        return map_identity(self.actor, hook_id, identity, user).id

    def unmap(self, hook_id: UUID, identity: str) -> None:
        """Let a word stand for nobody."""
        UNMAP.run(self.actor, read(UnmapIdentity, {"identity": identity}), hook_id)


# --- command --------------------------------------------------------------------------------------


def _list(command: PersonalCommand) -> None:
    actor = command.actor("hook")
    shown = HooksAndIdentities(
        hooks=list_hooks(actor).results,
        identities=HookIdentity.of(hooks.identities(actor.workspace)),
    )
    command.show(shown, _table(shown.hooks), _identities(shown.identities))
    if not shown.hooks:
        command.say("There are no hooks.")


# A word has no name of its own: it is found by its hook and what it says.
def _confirm(command: PersonalCommand) -> None:
    o, actor = command.options, command.actor(CONFIRM.right)
    for word in own_identities(actor).results:
        if (word.hook_name, word.identity) == (o["name"], o["identity"]):
            confirmed = CONFIRM.run(actor, Nothing(), word.id)
            _show_identity(command, actor, confirmed)
            command.say(CONFIRM.done(Nothing(), confirmed))
            return
    raise Missing(f"{o['identity']} of the hook {o['name']} stands for somebody else.")


def _show(command: PersonalCommand, _: Actor, hook: Hook, *__: UUID) -> None:
    command.show(hook, facts(f"Hook {hook.name}", _facts(hook)))


def _show_identity(command: PersonalCommand, _: Actor, one: HookIdentity, *__: UUID) -> None:
    command.show(one, _identities([one]))


def _show_secret(command: PersonalCommand, _: Actor, hook: HookMade, *__: UUID) -> None:
    """Stdout gets the secret and nothing else, so that a script can keep it."""
    if command.as_json:
        command.show(hook)
        return
    command.stdout.write(hook.secret)
    for name, value in (*_facts(hook), ("address", hook.address)):
        command.say(f"{name:<10} {value}")
    command.say("This is the only time the secret is shown. Give both to the service that sends.")


def _facts(hook: Hook) -> list[tuple[str, object]]:
    return [
        ("id", hook.id),
        ("name", hook.name),
        ("active", "yes" if hook.active else "no"),
        ("secrets", hook.secrets),
        ("made", _time(hook.created_at)),
    ]


def _table(rows: list[Hook]) -> Table:
    return table(
        "Hooks",
        ("name", "active", "secrets", "made", "rotated", "refused", "id"),
        (
            (
                row.name,
                "yes" if row.active else "no",
                row.secrets,
                _time(row.created_at),
                _time(row.rotated_at),
                _time(row.refused_at),
                str(row.id),
            )
            for row in rows
        ),
    )


def _identities(rows: list[HookIdentity]) -> Table:
    return table(
        "Outside identities",
        ("hook", "identity", "stands for", "since", "said by", "confirmed by"),
        (
            (
                *(row.hook_name, row.identity, row.user_name or row.user),
                *(_time(row.created_at), row.made_by, row.confirmed_by or "not yet"),
            )
            for row in rows
        ),
    )


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else "never"


def _identity_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar=HOOK.metavar, help=HOOK.help)
    parser.add_argument("identity", metavar="IDENTITY", help="the sender's name for a person")


VERBS: Final = (
    verb(MAKE, _show_secret, called="create", names={"name": ("name", "NAME")}),
    Verb("list", "lists hooks and the members their names map to", _list),
    verb(
        ROTATE,
        _show_secret,
        without=("keep",),
        beside=keep_option("keep", "how long the former secrets hold; 0: not"),
    ),
    verb(SWITCH, _show, called="enable", fixed={"active": True}),
    verb(SWITCH, _show, called="disable", does="disables a hook", fixed={"active": False}),
    verb(
        MAP,
        _show_identity,
        names={"identity": ("identity", "IDENTITY"), "user": ("user", "USER")},
    ),
    Verb("confirm", CONFIRM.help, _confirm, _identity_arguments, CONFIRM.examples, CONFIRM.name),
    verb(UNMAP, _show, names={"identity": ("identity", "IDENTITY")}),
)


# --- page -----------------------------------------------------------------------------------------


@require_POST
@member
def confirm(request: HttpRequest, identity_id: UUID) -> HttpResponse:
    """Let a word of a hook stand for oneself."""
    flash(request, CONFIRM.done(Nothing(), CONFIRM.run(actor(request), Nothing(), identity_id)))
    return SeeOther(reverse("access_changes"))


vars(confirm)["action"] = CONFIRM
