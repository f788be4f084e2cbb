"""Changes that admins make to inbound hooks, behind the admin site, the API and the command.

The same shape as in `actions`: the right first, then the domain call, errors as ActionError. What
comes in through a hook is `inbound`'s.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.contrib.auth import get_user_model

from approvals.hooks import changes as hooks
from approvals.hooks.changes import HookRow, IdentityRow
from checkpoints import queries
from dashboard.errors import Invalid, Missing, clip, translated
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require
from dashboard.people.accounts.access_changes import Gift, guarded, notify
from dashboard.people.accounts.accounts import roles_of
from dashboard.people.accounts.administration import name_of, require_audit

KEEP_MAX: Final = timedelta(days=30)
# Of a hook by its id: its sender posts decisions here.
ADDRESS: Final = "/api/v1/hooks/decide/?hook={}"


def list_hooks(actor: Actor) -> list[HookRow]:
    """The hooks of the workspace by name, for auditors and admins."""
    require_audit(actor)
    return hooks.hooks(actor.workspace)


@translated()
def one_hook(actor: Actor, hook: UUID) -> tuple[HookRow, list[IdentityRow]]:
    """A hook and the people whom its words stand for; raises Missing."""
    return hook_row(actor, hook), hooks.identities(actor.workspace, hook=hook)


@translated()
def hook_row(actor: Actor, hook: UUID) -> HookRow:
    """A hook by itself; raises Missing."""
    require_audit(actor)
    return hooks.hook(hook, workspace=actor.workspace)


@translated()
def create_hook(actor: Actor, name: str, secret: str = "") -> tuple[HookRow, str]:
    """Make a hook; it and its secret, shown this once. `secret` is one that the sender chose."""
    require(actor, "hook")
    check_text("$.name", name, 40, required=True)
    return hooks.add(actor.workspace, name, actor=actor.id, secret=secret)


@translated()
def rotate_hook(
    actor: Actor,
    hook: UUID,
    keep: timedelta = timedelta(seconds=hooks.KEEP_SECONDS),
    secret: str = "",
) -> str:
    """Give a hook another secret, shown this once; the former ones hold for `keep` longer."""
    require(actor, "hook")
    if not timedelta() <= keep <= KEEP_MAX:
        raise Invalid("$.keep", f"takes at most {KEEP_MAX.days}d")
    return hooks.rotate(
        hook,
        workspace=actor.workspace,
        actor=actor.id,
        keep=keep.total_seconds(),
        secret=secret,
    )


@translated()
def enable_hook(actor: Actor, hook: UUID) -> HookRow:
    """Let a hook in again."""
    require(actor, "hook")
    return hooks.set_active(hook, True, workspace=actor.workspace, actor=actor.id)


@translated()
def disable_hook(actor: Actor, hook: UUID) -> HookRow:
    """Keep a hook out from now on; whom its words stood for is kept."""
    require(actor, "hook")
    return hooks.set_active(hook, False, workspace=actor.workspace, actor=actor.id)


def _gift_of_identity(actor: Actor, hook: UUID, identity: str, user_id: int) -> Gift:
    decides = "reviewer" in roles_of(user_id, actor.workspace)
    gives = [f"decisions by a hook as {clip(identity, 60)}"]
    return Gift(user_id, name_of(user_id), gives if decides else [])


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


def own_identities(actor: Actor) -> list[IdentityRow]:
    """The words of hooks that stand for the person who asks."""
    require(actor, "read")
    return [one for one in hooks.identities(actor.workspace) if one.user_id == actor.user_id]


@translated()
def confirm_identity(actor: Actor, identity_id: UUID) -> IdentityRow:
    """Confirm that a hook's word stands for oneself: it decides in one's name from now on.

    No token does it, and nobody by a password that somebody else set. Raises Missing.
    """
    require(actor, "stand_for")
    return hooks.confirm_identity(
        identity_id, workspace=actor.workspace, user=actor.user_id, actor=actor.id
    )


@translated()
def unmap_identity(actor: Actor, hook: UUID, identity: str) -> None:
    """A hook's word for a person stands for nobody from now on."""
    require(actor, "hook")
    check_text("$.identity", identity, hooks.IDENTITY_MAX, required=True)
    hooks.unmap_identity(hook, identity, workspace=actor.workspace, actor=actor.id)


def user_named(actor: Actor, name: str) -> int:
    """The id of a member of the workspace; raises Missing."""
    model = get_user_model()
    row = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
    if row is None or row.pk not in queries.people_of(actor.workspace):
        raise Missing(f"There is no user {name} in this workspace.")
    return int(row.pk)
