"""What is left when all is quiet, read from outside: the tables by plain SQL, files and folders.

Nothing of the product is imported.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.chaos import tasks


@dataclass(frozen=True)
class Effect:
    """An effect as the activities have it."""

    tool: str
    key: str
    attempts: int
    approval: str | None
    state: str


@dataclass
class Thread:
    """One thread as the tables have it."""

    id: str
    agent: str
    status: str
    last_seq: int
    head: str
    state: dict[str, Any] = field(default_factory=dict)
    steps: int = 0
    checkpoints: list[str] = field(default_factory=list)
    events: list[tuple[int, str, dict[str, Any], float]] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    parent: str | None = None
    base: str | None = None
    state_hashes: dict[str, str] = field(default_factory=dict)  # by checkpoint
    hashes: dict[int, str] = field(default_factory=dict)  # of events, by their numbers

    @property
    def task(self) -> int:
        """By the file that it was started with; of the first thread of a tree -1, -2 ...

        Of a hot thread below that, by tasks.HOT_FROM.
        """
        if self.agent.startswith("chaos-"):
            return -int(self.state["task"])
        return tasks.task_of(str((self.state.get("file") or {}).get("name")))


@dataclass
class Report:
    """A folder of published files."""

    key: str
    promised: dict[str, str]  # {file: sha256} as the manifest says
    there: dict[str, str]  # {file: sha256} as they are


@dataclass
class Record:
    """All evidence. `files` are artifacts by hash, `half` what somebody left half written."""

    threads: dict[str, Thread]
    bank: list[dict[str, Any]]
    acknowledged: list[dict[str, Any]]
    mails: dict[str, bytes] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    broken_files: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    counts: list[dict[str, Any]] = field(default_factory=list)
    waited: list[dict[str, Any]] = field(default_factory=list)  # steps seen in the hot store


def lines(path: Path) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def digest(raw: bytes) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(raw).hexdigest()


def apply(state: dict[str, Any], delta: dict[str, Any], contents: dict[str, Any]) -> None:
    """What a checkpoint changed, as the format of deltas says; `contents` lie elsewhere."""
    state.update(delta.get("set", {}))
    for channel, payload in delta.get("put", {}).items():
        state[channel] = contents.get(
            payload["sha256"], f"the content {payload['sha256']} is missing"
        )
    for channel, items in delta.get("append", {}).items():
        state[channel] = [*state.get(channel, []), *items]
    for channel, members in delta.get("merge", {}).items():
        state[channel] = {**state.get(channel, {}), **members}
    for channel in delta.get("unset", []):
        state.pop(channel, None)


def _contents(folder: Path) -> dict[str, Any]:
    """{hash: value} of what lies in files; what does not match its hash is not there."""
    results = {}
    for path in folder.glob("threads/*/contents/*.json"):
        raw = path.read_bytes()
        if digest(raw) == path.stem:
            results[path.stem] = json.loads(raw)
    return results


def threads(database: str, media: Path) -> dict[str, Thread]:
    """All threads with their past."""
    results: dict[str, Thread] = {}
    contents = _contents(media)
    with psycopg.connect(database) as connection:
        for sha, body in connection.execute("SELECT sha256, body FROM gp_content"):
            contents[sha] = json.loads(body)
        for row in connection.execute(
            "SELECT id::text, agent, status, last_seq, head::text, parent::text, base::text "
            "FROM gp_thread"
        ):
            results[row[0]] = Thread(*row[:5], parent=row[5], base=row[6])
        # Successors last: they begin with the state in which their givers ended.
        for thread, ident, number, source, delta, state_hash in connection.execute(
            "SELECT c.thread_id::text, c.id::text, c.number, c.source, c.delta, "
            "encode(c.state_hash, 'hex') FROM gp_checkpoint c JOIN gp_thread th "
            "ON th.id = c.thread_id ORDER BY th.base IS NOT NULL, c.thread_id, c.number"
        ):
            at = results[thread]
            if number == 0 and at.base is not None:
                at.state = dict(results[at.base].state)
            apply(at.state, delta, contents)
            at.state_hashes[ident] = state_hash
            at.checkpoints.append(ident)
            at.steps += source == "step"
        for thread, seq, kind, data, when, digested in connection.execute(
            "SELECT thread_id::text, seq, kind, data, extract(epoch FROM at)::float8, "
            "encode(hash, 'hex') FROM gp_event ORDER BY thread_id, seq"
        ):
            results[thread].hashes[seq] = digested
            results[thread].events.append((seq, kind, data, when))
        for thread, *effect in connection.execute(
            "SELECT thread_id::text, tool, idempotency_key, attempts, approval_id::text, state "
            "FROM gp_activity WHERE kind = 'effect'"
        ):
            results[thread].effects.append(Effect(*effect))
    return results


def artifacts(database: str, media: Path) -> tuple[dict[str, bytes], list[str]]:
    """(files by hash, those that are gone or are not what their row says)."""
    results, broken = {}, []
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT sha256, size, path FROM gp_artifact").fetchall()
    for sha, size, path in rows:
        try:
            raw = (media / path).read_bytes()
        except OSError:
            broken.append(f"{path} is gone")
            continue
        if digest(raw) != sha or len(raw) != size:
            broken.append(f"{path} is another")
        results[sha] = raw
    return results, broken


def _report(folder: Path) -> Report:
    try:
        payload = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        payload = {"key": "", "files": []}
    there = {
        path.name: digest(path.read_bytes())
        for path in folder.iterdir() if path.name != "manifest.json"
    }  # fmt: skip
    return Report(payload["key"], {one["name"]: one["sha256"] for one in payload["files"]}, there)


def files_in(folder: Path) -> dict[str, bytes]:
    """{name: content} of the files that others see in a folder."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return {path.name: path.read_bytes() for path in paths if path.name[0] != "."}


def reports_in(folder: Path) -> dict[str, Report]:
    """{slug: report} of the reports that others see in the folders of workspaces."""
    paths = folder.glob("*/*") if folder.is_dir() else ()
    return {path.name: _report(path) for path in paths if path.name[0] != "."}


def read(home: Path, database: str) -> Record:
    """Everything that the chaos left in its folder and its database."""
    data = home / "data"
    media, outbox, published = data / "artifacts", data / "outbox", data / "published"
    files, broken = artifacts(database, media)
    return Record(
        threads(database, media),
        lines(home / "bank.jsonl"),
        lines(home / "acks.jsonl"),
        files_in(outbox),
        reports_in(published),
        files,
        broken,
        sorted(path.name for folder in (outbox, published) for path in folder.rglob(".*")),
        lines(data / "counts.jsonl"),
        lines(home / "waited.jsonl"),
    )
