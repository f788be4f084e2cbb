"""Histories as files: every row of a thread as the database gives it, and the bytes of its files.

PostgreSQL writes the rows and reads them again, so nothing between interprets a number or a text.
Files stand in `files/`, named by their content; equal ones of several histories stand there once.
Everything is packed with gzip: `zcat tests/unit/golden/v1/failed.json.gz`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from tests.unit.checkpoints.builders import one, rows

FOLDER = Path(__file__).parent
MADE = FOLDER / "MADE.json"
FILES = FOLDER / "files"
# In an order that keeps the foreign keys; each with what picks a thread's rows.
TABLES = {
    "gp_workspace": "id = (SELECT workspace_id FROM gp_thread WHERE id = %s::uuid)",
    "gp_workspace_event": "workspace_id = (SELECT workspace_id FROM gp_thread WHERE id = %s::uuid)",
    "gp_agent_version": (
        "id IN (SELECT agent_version_id FROM gp_checkpoint WHERE thread_id = %s::uuid)"
    ),
    "gp_thread": "id = %s::uuid",
    "gp_checkpoint": "thread_id = %s::uuid",
    "gp_keyframe": "thread_id = %s::uuid",
    "gp_event": "thread_id = %s::uuid",
    "gp_activity": "thread_id = %s::uuid",
    "gp_artifact": "workspace_id = (SELECT workspace_id FROM gp_thread WHERE id = %s::uuid)",
    "gp_wake": "thread_id = %s::uuid",
    "gp_approval": "thread_id = %s::uuid",
    "gp_decision": "approval_id IN (SELECT id FROM gp_approval WHERE thread_id = %s::uuid)",
}
# Places in one database, which another one gives anew.
ELSEWHERE = {("gp_event", "xid8"), ("gp_wake", "id")}


@dataclass(frozen=True)
class History:
    """One thread of one version of the agent, at rest in a file.

    `folder` is that of a history aside: `moved` was written by the newest state's code under its
    former names, `agents.market_research`.
    """

    version: int
    story: str
    folder: str = ""

    @property
    def path(self) -> Path:
        return FOLDER / (self.folder or f"v{self.version}") / f"{self.story}.json.gz"

    def __str__(self) -> str:
        return f"v{self.version}-{self.story}"

    def text(self) -> str:
        """JSON: {"thread", "published": {path: sha256}, "tables": {table: [row]}}."""
        return gzip.decompress(self.path.read_bytes()).decode()


def histories() -> list[History]:
    """All that were made, oldest version first."""
    return [
        History(int(path.parent.name[1:]), path.name.partition(".")[0])
        for path in sorted(FOLDER.glob("v*/*.json.gz"))
    ]


def written() -> Iterator[Path]:
    """Every file that must never change again."""
    yield from sorted(FOLDER.glob("*/*.json.gz"))
    yield from sorted(FILES.iterdir())


def dump(thread: UUID, history: History) -> None:
    """Write a thread with all that belongs to it; FileExistsError for one that is there."""
    text = text_of(thread)
    for (path,) in rows(f"SELECT path FROM gp_artifact WHERE {TABLES['gp_artifact']}", [thread]):
        with default_storage.open(path) as file:
            _keep(file.read())
    for path in json.loads(text)["published"]:
        _keep(Path(settings.GATEPOST_PUBLISHED, path).read_bytes())
    history.path.parent.mkdir(exist_ok=True)
    with history.path.open("xb") as out:
        out.write(gzip.compress(text.encode(), mtime=0))


def text_of(thread: UUID) -> str:
    """What `History.text` answers, of a thread in this database."""
    tables = []
    for table, mine in TABLES.items():
        without = "".join(f" - '{c}'" for t, c in sorted(ELSEWHERE) if t == table)
        texts = rows(
            f"SELECT (to_jsonb(t){without})::text FROM {table} t WHERE {mine} ORDER BY 1", [thread]
        )
        lines = ",\n".join(text for (text,) in texts)
        tables.append(f'"{table}": [\n{lines}\n]' if lines else f'"{table}": []')
    published = json.dumps(_published(thread), indent=0, sort_keys=True)
    body = ",\n".join(tables)
    return f'{{\n"thread": "{thread}",\n"published": {published},\n"tables": {{\n{body}\n}}\n}}\n'


def _published(thread: UUID) -> dict[str, str]:
    """What stands in the published folder because of the thread: {path: sha256}."""
    slug = one(
        "SELECT result ->> 'slug' FROM gp_activity WHERE thread_id = %s::uuid "
        "AND kind = 'effect' AND state = 'done' UNION ALL SELECT NULL LIMIT 1",
        [thread],
    )
    folder = Path(settings.GATEPOST_PUBLISHED)
    paths = sorted(path for path in folder.rglob("*") if path.parent.name == slug)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }


def _keep(content: bytes) -> None:
    """Put bytes beside the histories, under their sha256."""
    FILES.mkdir(exist_ok=True)
    place = FILES / f"{hashlib.sha256(content).hexdigest()}.gz"
    if not place.exists():
        place.write_bytes(gzip.compress(content, mtime=0))


def kept(sha: str) -> bytes:
    """The bytes of a file that belongs to some history."""
    content = gzip.decompress((FILES / f"{sha}.gz").read_bytes())
    assert hashlib.sha256(content).hexdigest() == sha
    return content


def load(history: History) -> UUID:
    """Put a history into this database, its storage and its published folder; the thread."""
    text = history.text()
    told = json.loads(text)
    for table in TABLES:
        # Named one by one: a column that is newer than the history gets its default.
        columns = ", ".join(f'"{c}"' for c in sorted({c for r in told["tables"][table] for c in r}))
        if columns:
            rows(
                f"INSERT INTO {table} ({columns}) SELECT {columns} FROM "
                f"jsonb_populate_recordset(NULL::{table}, %s::jsonb #> ARRAY['tables', %s])",
                [text, table],
            )
    for row in told["tables"]["gp_artifact"]:
        if not default_storage.exists(row["path"]):
            content = ContentFile(kept(row["sha256"]))
            assert default_storage.save(row["path"], content) == row["path"]
    for path, sha in told["published"].items():
        place = Path(settings.GATEPOST_PUBLISHED, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(kept(sha))
    return UUID(told["thread"])
