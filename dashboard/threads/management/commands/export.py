"""`./manage.py export THREAD`: one file that holds a thread, or one checkpoint of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel

from dashboard.kit.terminal.arguments import checkpoint_named
from dashboard.kit.terminal.console import PersonalCommand, Usage, add_common_arguments
from dashboard.kit.terminal.new_files import write_new
from dashboard.kit.terminal.tables import facts
from dashboard.threads.capsule import export, memories_along
from dashboard.threads.capsules.memories import MemoriesAlong
from dashboard.threads.reads_command import thread_argument, thread_of


class Exported(BaseModel):
    """The file that was written; `number` where it holds one checkpoint only.

    `children` threads of the tree below are in it; `left_out` of those next below are not.
    `memories` has how many that it refers to came along.
    """

    file: str
    thread: UUID
    number: int | None
    seq: int
    hash: str
    bytes: int
    manifest: str
    children: int = 0
    left_out: int = 0
    memories: MemoriesAlong | None = None


class Command(PersonalCommand):
    """The file appears whole under its name, or not at all."""

    help = (
        "Writes a capsule: one zip file with the whole history of a thread, its agent's "
        "description and its files. `import` shows the same thread in another installation."
    )
    examples = """
        export demo-flights
        export demo-flights --to /safe/place
        export demo-flights --checkpoint 2 --to second.zip
        export demo-flights --children
        export demo-flights --memories --preview
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare what to export, and the destination."""
        thread_argument(parser)
        parser.add_argument(
            "--to", type=Path, default=Path(), metavar="FILE|FOLDER", help="else this folder"
        )
        parser.add_argument(
            "--checkpoint",
            default="",
            metavar="N",
            help="only this checkpoint (number or id) and its files: enough to continue from there",
        )
        parser.add_argument(
            "--children",
            action="store_true",
            help="with all threads that it started or handed over to, and those below them",
        )
        parser.add_argument(
            "--memories",
            action="store_true",
            help="with the texts of memory that it refers to, as far as you may see them",
        )
        parser.add_argument(
            "--preview", action="store_true", help="only say how many memories would come along"
        )
        add_common_arguments(parser)

    def act(self) -> None:
        """Write it."""
        actor, thread = thread_of(self, "export")
        checkpoint = self.options["checkpoint"]
        children = self.options["children"]
        if children and checkpoint:
            raise Usage("--children", "one checkpoint comes without children")
        number = checkpoint_named(thread.id, checkpoint).number if checkpoint else None
        memories = self.options["memories"]
        if self.options["preview"]:
            if not memories:
                raise Usage("--preview", "says what --memories would take along")
            along = memories_along(actor, thread.id, number, children=children)
            self.show(along, facts("", _rows_of(along)))
            return
        capsule = export(actor, thread.id, number, children=children, memories=memories)
        try:
            path: Path = self.options["to"]
            target = path / capsule.name if path.is_dir() else path
            size = write_new(capsule.chunks(), target)
        finally:
            capsule.close()
        exported = Exported(
            file=str(target),
            thread=thread.id,
            number=number,
            seq=capsule.seq,
            hash=capsule.hash,
            bytes=size,
            manifest=capsule.manifest_sha,
            children=capsule.children,
            left_out=capsule.left_out,
            memories=capsule.memories if memories else None,
        )
        rows = [
            ("file", exported.file),
            ("bytes", f"{size:,}"),
            ("events", f"{exported.seq:,}"),
            ("manifest", exported.manifest),
        ]
        if exported.children:
            rows.append(("children", f"{exported.children:,}"))
        if exported.left_out:
            rows.append(("children left out", f"{exported.left_out:,}"))
        if exported.memories:
            rows += _rows_of(exported.memories)
        self.show(exported, facts("", rows))


def _rows_of(along: MemoriesAlong) -> list[tuple[str, str]]:
    return [
        ("memories", f"{along.texts:,}"),
        ("memories that are gone", f"{along.gone:,}"),
        ("memories that are not yours to see", f"{along.withheld:,}"),
    ]
