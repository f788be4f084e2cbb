"""Roles and teams that follow from the groups of a directory, by GATEPOST_GROUPS."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction

from checkpoints.queries.installation.workspaces import workspaces_named
from dashboard.configuration.sign_in import Access
from dashboard.identity.user_changes import changed_by
from dashboard.people.accounts.accounts import assign_roles, locked_account, roles_of

log = structlog.get_logger("gatepost.directory")


def opened_by(groups: Collection[str]) -> dict[UUID, set[str]]:
    """{workspace: roles} that these groups open; each workspace that the mapping names."""
    mapping: Mapping[str, tuple[Access, ...]] = settings.GATEPOST_GROUPS
    names = {access.workspace for entries in mapping.values() for access in entries}
    places = workspaces_named(names)
    if missing := sorted(names - set(places)):
        log.warning("GATEPOST_GROUPS names workspaces that are not there", names=missing)
    results: dict[UUID, set[str]] = {workspace: set() for workspace in places.values()}
    for group in mapping.keys() & groups:
        for access in mapping[group]:
            if access.workspace in places:
                results[places[access.workspace]].update(access.roles)
    return results


def apply_groups(user_id: int, groups: Collection[str], *, actor: str) -> None:
    """Give somebody exactly the roles and teams that these groups open, all or none.

    Workspaces and teams that the mapping does not name stay as they are. Raises Conflict where
    somebody is the last admin of a workspace and would no longer be.
    """
    with transaction.atomic():
        user = locked_account(user_id)
        for workspace, wanted in opened_by(groups).items():
            had = roles_of(user_id, workspace)
            assign_roles(workspace, user_id, had=had, wanted=wanted, actor=actor)
        _set_teams(user, groups, actor)


def _set_teams(user: Any, groups: Collection[str], actor: str) -> None:
    mapping: Mapping[str, tuple[Access, ...]] = settings.GATEPOST_GROUPS
    named = {team for entries in mapping.values() for access in entries for team in access.teams}
    wanted = {
        team
        for group, entries in mapping.items()
        if group in groups
        for access in entries
        for team in access.teams
    }
    had = set(user.groups.values_list("name", flat=True)) & named
    with changed_by(actor):
        if joins := wanted - had:
            user.groups.add(*[Group.objects.get_or_create(name=name)[0] for name in sorted(joins)])
        if leaves := had - wanted:
            user.groups.remove(*Group.objects.filter(name__in=leaves))
