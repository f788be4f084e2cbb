"""Follow a folder of JSON files that agents write: what is new in them becomes checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel

from dashboard.errors import ActionError, Invalid, Leased, Missing
from dashboard.external import observed_threads
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.state_files import read

FRAMEWORK: Final = "state.json"
type FileStatus = Literal["paused", "succeeded", "failed"]
# Words for how a thread stands, as agents write them into `status`.
STATUSES: Final[dict[str, FileStatus]] = {
    **dict.fromkeys(("succeeded", "success", "completed", "done", "finished"), "succeeded"),
    **dict.fromkeys(("failed", "failure", "error", "crashed"), "failed"),
}


type Stamp = tuple[int, int, int]


class Seen(BaseModel):
    """The result of one look at a file; `why` is the reason of a refusal."""

    file: str
    result: Literal["kept", "unchanged", "refused"]
    thread: UUID | None = None
    checkpoint: int | None = None
    why: str = ""


@dataclass
class Folder:
    """A folder that is looked at again and again; each version of a file is read once.

    `agent` names the agent of all files; a thread has the name of its file, as it lies in the
    folder.
    """

    path: Path
    agent: str
    actor: Actor
    stamps: dict[Path, Stamp] = field(default_factory=dict)
    refused: dict[Path, tuple[Stamp, str]] = field(default_factory=dict)

    def look(self, *, patient: bool) -> Iterator[Seen]:
        """Keep what is new since the last look; all files the first time.

        A file that cannot be read may be half-written: with `patient` it is refused only when it
        is the same at the next look.
        """
        if not self.path.is_dir():
            raise Missing(f"{self.path} is not a folder.")
        files = sorted(p for p in self.path.rglob("*.json") if not p.name.startswith("."))
        for path in files:
            stamp = _stamp(path)
            if stamp is None or self.stamps.get(path) == stamp:
                continue
            try:
                seen = self._keep(path)
            except Leased:
                continue  # another watcher is at it, or one was killed: looked at again
            if seen.result != "refused":
                self.stamps[path] = stamp
                self.refused.pop(path, None)
                yield seen
                continue
            known, self.refused[path] = self.refused.get(path), (stamp, seen.why)
            if patient and known != (stamp, seen.why):
                continue
            self.stamps[path] = stamp
            yield seen

    def _keep(self, path: Path) -> Seen:
        name = path.relative_to(self.path).as_posix()
        try:
            state = read(path)
            if not isinstance(state, dict):
                raise Invalid("$", "must be an object")
            status: FileStatus = STATUSES.get(str(state.get("status")).lower(), "paused")
            saved = observed_threads.keep_state(
                self.actor,
                agent=self.agent,
                name=name,
                title=_title(state) or name,
                state=state,
                framework=FRAMEWORK,
                status=status,
                reason=f"{name} says: {status}" if status != "paused" else "Watched.",
            )
        except Leased:
            raise
        except ActionError as error:
            return Seen(file=name, result="refused", why=str(error))
        result: Literal["kept", "unchanged"] = "kept" if saved.is_news else "unchanged"
        return Seen(file=name, result=result, thread=saved.thread, checkpoint=saved.number)


def _title(state: dict[str, Any]) -> str:
    session = state.get("session_id")
    return session if isinstance(session, str) else ""


def _stamp(path: Path) -> Stamp | None:
    """Read what changes when a file is written; None where it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
