"""`./manage.py import FILE|FOLDER`: a thread from another installation, paused."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel

from checkpoints import queries
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.console import PersonalCommand, add_common_arguments
from dashboard.kit.terminal.tables import facts
from dashboard.threads.capsule import import_thread


class Imported(BaseModel):
    """The imported thread and its status; `events` were verified on the way.

    `left_out` counts the children that were not in the capsule, `memories` the texts of memory that
    were: they are checked, and none is kept.
    """

    thread: UUID
    status: str
    bases: list[UUID]
    children: list[UUID]
    left_out: int
    events: int
    withdrawn: int
    memories: int = 0


class Command(PersonalCommand):
    """Checked first, written and verified in one transaction; nothing starts by itself."""

    help = (
        "Reads a capsule that `export` wrote: the thread has the same history, verifies, and has "
        "the same status. What was at work or waiting is paused, open requests are "
        "withdrawn; an effect is never repeated. The folder that the file store keeps of a thread "
        "is read like the capsule of one checkpoint."
    )
    examples = """
        import market-research-01a2f0c3.zip
        import capsule.zip --workspace default --as operator
        import capsule.zip --name 'the failing one'
        import threads/01890a5d-ac96-774b-bcce-b302099a8057
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Which file, and where to."""
        parser.add_argument("file", type=Path, metavar="FILE|FOLDER", help="a capsule")
        parser.add_argument("--workspace", default="", help="its name; else that of who imports")
        parser.add_argument("--name", help="the thread's name here; else the one it had")
        add_common_arguments(parser)

    def act(self) -> None:
        """Import it, say how it stands."""
        actor = self.actor("import")
        if self.options["workspace"]:
            actor = _in_workspace(actor, self.options["workspace"])
        done = import_thread(actor, self.options["file"], name=self.options["name"])
        row = queries.thread(done.thread, workspace=actor.workspace)
        imported = Imported(
            thread=done.thread,
            status=str(row.status),
            bases=list(done.bases),
            children=list(done.children),
            left_out=done.left_out,
            events=done.events,
            withdrawn=done.withdrawn,
            memories=done.memories,
        )
        rows: list[tuple[str, object]] = [
            ("thread", row.id),
            ("title", row.title),
            ("status", f"{row.status}: {row.status_reason}" if row.status_reason else row.status),
            ("events verified", f"{done.events:,}"),
        ]
        if done.bases:
            rows.append(("bases", len(done.bases)))
        if done.children:
            rows.append(("children", len(done.children)))
        if done.left_out:
            rows.append(("children not in it", done.left_out))
        if done.withdrawn:
            rows.append(("requests withdrawn", done.withdrawn))
        if done.memories:
            rows.append(("memories, not kept here", done.memories))
        self.show(imported, facts("", rows))


def _in_workspace(actor: Actor, name: str) -> Actor:
    """The same person in another workspace of theirs."""
    mine = [row for row in queries.memberships(actor.user_id) if row[1] == name]
    if not mine:
        raise Missing(f"{actor.name} belongs to no workspace named {name}.")
    roles = frozenset(role for _, _, role in mine)
    return replace(actor, workspace=mine[0][0], workspace_name=name, roles=roles)
