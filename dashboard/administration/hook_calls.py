"""Inbound hooks: admins make, change and map them, auditors look at them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.hooks.changes import HookRow, IdentityRow
from dashboard.administration import hooks
from dashboard.identity.people import people
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.previews import SecondAdminAsked
from dashboard.kit.shapes.requests import Nothing

from .hook_shapes import (
    Hook,
    HookDetail,
    HookIdentity,
    HookList,
    HookMade,
    MakeHook,
    MapIdentity,
    OwnIdentities,
    RotateHook,
    SwitchHook,
    UnmapIdentity,
)


class Hooks(MemberView):
    """All of the workspace, or a new one."""

    changes = "hook"
    # A stored answer would be a stored secret.
    keyed = False

    @extend_schema(
        operation_id="hooks_list",
        responses={200: HookList, **refusals()},
        summary="List inbound hooks",
    )
    def get(self, request: Request) -> Response:
        """By name; no secret."""
        return answer(HookList(results=[Hook.of(row) for row in hooks.list_hooks(self.actor)]))

    @extend_schema(
        operation_id="hooks_make",
        request=MakeHook,
        responses={201: HookMade, **refusals(422)},
        summary="Make an inbound hook",
        description="Its secret is in this answer and nowhere else. See docs/howto/hooks.md.",
    )
    def post(self, request: Request) -> Response:
        """Its secret is shown once."""
        row, secret = hooks.create_hook(self.actor, self.body(MakeHook).name)
        return answer(HookMade.with_secret(row, secret), status=201)


class OneHook(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="hooks_retrieve",
        responses={200: HookDetail, **refusals(404)},
        summary="An inbound hook and the members its names map to",
    )
    def get(self, request: Request, hook_id: UUID) -> Response:
        """No secret."""
        return _detail(*hooks.one_hook(self.actor, hook_id))


class RotateOneHook(MemberView):
    """A new secret."""

    changes = "hook"
    keyed = False

    @extend_schema(
        operation_id="hooks_rotate",
        request=RotateHook,
        responses={200: HookMade, **refusals(404, 422)},
        summary="Give an inbound hook another secret",
        description="The former secrets hold for `keep` seconds more. At most five are valid at "
        "the same time.",
    )
    def post(self, request: Request, hook_id: UUID) -> Response:
        """Shown once."""
        keep = timedelta(seconds=self.body(RotateHook).keep)
        secret = hooks.rotate_hook(self.actor, hook_id, keep)
        return answer(HookMade.with_secret(hooks.hook_row(self.actor, hook_id), secret))


class SwitchOneHook(MemberView):
    """In or out."""

    changes = "hook"

    @extend_schema(
        operation_id="hooks_switch",
        request=SwitchHook,
        responses={200: Hook, **refusals(404, 422)},
        summary="Enable or disable an inbound hook",
    )
    def post(self, request: Request, hook_id: UUID) -> Response:
        """Takes effect at once; its decisions stay, and so do its words."""
        act = hooks.enable_hook if self.body(SwitchHook).active else hooks.disable_hook
        return answer(Hook.of(act(self.actor, hook_id)))


class IdentitiesOfHook(MemberView):
    """Another word that stands for somebody."""

    changes = "hook"

    @extend_schema(
        operation_id="hooks_map",
        request=MapIdentity,
        responses={200: HookIdentity, 202: SecondAdminAsked, **refusals(404, 422)},
        summary="Map a hook's name for a person to a member",
        description="In place of a former person. The hook decides as this member of the "
        "workspace once they have confirmed it; of a reviewer another admin confirms it first.",
    )
    def post(self, request: Request, hook_id: UUID) -> Response:
        """404 also for a user who is no member here."""
        body = self.body(MapIdentity)
        user = hooks.user_named(self.actor, body.user)
        row = hooks.map_identity(self.actor, hook_id, body.identity, user)
        return answer(_identities([row])[0])


class OwnIdentityList(MemberView):
    """Those of the caller."""

    @extend_schema(
        operation_id="identities_list",
        responses={200: OwnIdentities, **refusals()},
        summary="The names in hooks that map to you",
    )
    def get(self, request: Request) -> Response:
        """Confirmed or not."""
        rows = hooks.own_identities(self.actor)
        return answer(OwnIdentities(results=_identities(rows)))


class ConfirmIdentity(MemberView):
    """A word that stands for the caller."""

    changes = "stand_for"

    @extend_schema(
        operation_id="identities_confirm",
        request=Nothing,
        responses={200: HookIdentity, **refusals(404, 422)},
        summary="Confirm that a name in a hook is yours",
        description="From then on the hook decides in your name. For logins of browsers.",
    )
    def post(self, request: Request, identity_id: UUID) -> Response:
        """404 for a word that stands for somebody else."""
        self.body(Nothing)
        return answer(_identities([hooks.confirm_identity(self.actor, identity_id)])[0])


class RemoveIdentityOfHook(MemberView):
    """A word that no longer stands for anybody."""

    changes = "hook"

    @extend_schema(
        operation_id="hooks_unmap",
        request=UnmapIdentity,
        responses={200: HookDetail, **refusals(404, 422)},
        summary="Remove the mapping of a hook's name",
    )
    def post(self, request: Request, hook_id: UUID) -> Response:
        """The hook with the words that are left."""
        hooks.unmap_identity(self.actor, hook_id, self.body(UnmapIdentity).identity)
        return _detail(*hooks.one_hook(self.actor, hook_id))


def _detail(row: HookRow, identities: Sequence[IdentityRow]) -> Response:
    shown = _identities(identities)
    return answer(HookDetail(**Hook.of(row).model_dump(), identities=shown))


def _identities(rows: Sequence[IdentityRow]) -> list[HookIdentity]:
    names = people(f"user:{row.user_id}" for row in rows)
    return [HookIdentity.of(row, names) for row in rows]
