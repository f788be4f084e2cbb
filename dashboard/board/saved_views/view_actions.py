"""Saved views: everybody keeps boards under names, auditors and admins questions to the record too.

Each may be shared with the workspace. A shared view is changed by its owner or an admin; a private
one is known to its owner alone, and one of the records to those who may open them.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from dashboard.errors import Forbidden, Missing, translated
from dashboard.fields.credentials import check_credentials
from dashboard.identity.administrator import AUDIT
from dashboard.identity.permissions import Actor, require

from . import changes, queries
from .changes import OF_PERSON_MAX, SHARED_MAX, Choice
from .queries import ViewRow
from .surfaces import RECORDS, SURFACES

THEIRS: Final = "Only the person who saved a shared view, or an admin, changes it."
RECORDS_ONLY: Final = "Questions to the record are saved by auditors and admins, who see its pages."


@translated()
def list_views(actor: Actor, surface: str = "") -> list[ViewRow]:
    """The person's own by name, then those that others share; of one surface or of all."""
    require(actor, "read")
    surfaces = [one for one in SURFACES if may_open(actor, one) and surface in ("", one)]
    limit = OF_PERSON_MAX + SHARED_MAX
    return queries.views(actor.workspace, owner=actor.person, surfaces=surfaces, limit=limit)


@translated()
def one_view(actor: Actor, view_id: UUID) -> ViewRow:
    """One's own view, or one that is shared."""
    require(actor, "read")
    row = queries.view(view_id, workspace=actor.workspace)
    if (row.owner != actor.person and not row.shared) or not may_open(actor, row.surface):
        raise Missing("There is no such view in this workspace.")
    return row


def may_open(actor: Actor, surface: str) -> bool:
    """Tell whether somebody has the page that a view of this surface opens."""
    return surface != RECORDS or not AUDIT.isdisjoint(actor.roles)


def may_change(actor: Actor, row: ViewRow) -> bool:
    """Tell whether a view that the person sees is theirs to change."""
    return row.owner == actor.person or "admin" in actor.roles


@translated()
def save_view(actor: Actor, choice: Choice) -> ViewRow:
    """Save a page under a name; raises Invalid for a name that is taken or a wrong address."""
    require(actor, "save_view")
    if not may_open(actor, choice.surface):
        raise Forbidden(RECORDS_ONLY)
    _check(choice)
    return changes.save(actor.workspace, actor.person, choice, actor=actor.id)


@translated()
def change_view(actor: Actor, view_id: UUID, choice: Choice) -> ViewRow:
    """Give a view another name or address, share it or not."""
    _theirs(actor, view_id)
    _check(choice)
    return changes.change(view_id, choice, workspace=actor.workspace, actor=actor.id)


@translated()
def remove_view(actor: Actor, view_id: UUID) -> ViewRow:
    """Take a view away; what it was."""
    _theirs(actor, view_id)
    return changes.remove(view_id, workspace=actor.workspace, actor=actor.id)


def _theirs(actor: Actor, view_id: UUID) -> ViewRow:
    """A view that the person may change."""
    require(actor, "save_view")
    row = one_view(actor, view_id)
    if not may_change(actor, row):
        raise Forbidden(THEIRS)
    return row


def _check(choice: Choice) -> None:
    check_credentials("$.name", choice.name or "")
    check_credentials("$.address", choice.address or "")
