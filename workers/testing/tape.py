"""Tapes: what a capsule has recorded of a thread, read for a play that calls nothing.

A tape begins at the newest checkpoint of the thread that is no step: its input, a message, an edit,
a rollback, an upgrade, the start of a fork. What it holds is what was recorded after that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from uuid import UUID

from approvals.columns import APPROVAL
from approvals.queries import ApprovalRow
from checkpoints.capsules import folder, layout
from checkpoints.capsules.about import About, about_of
from checkpoints.capsules.layout import BadCapsule, Reader
from checkpoints.capsules.rows import from_json
from checkpoints.log import control_columns
from checkpoints.state import deltas, references
from checkpoints.state.channels import Digests, reducers_of
from checkpoints.state.model_configuration import with_texts
from checkpoints.states import EventKind, Status
from checkpoints.tables.columns import ACTIVITY, CHECKPOINT
from checkpoints.views import ActivityRow

LOST = "It was at work when the thread was exported; nobody here knows whether it happened."


def read(text: str | None) -> Any:
    """A value of a capsule as PostgreSQL would give it back; None where there is none."""
    return None if text is None else _as_jsonb(deltas.decode(text))


def _as_jsonb(value: Any) -> Any:
    if isinstance(value, dict):
        names = sorted(value, key=lambda k: (len(raw := k.encode()), raw))
        return {k: _as_jsonb(value[k]) for k in names}
    return [_as_jsonb(item) for item in value] if isinstance(value, list) else value


_FIRST_KINDS = (EventKind.THREAD_STARTED, EventKind.THREAD_FORKED, EventKind.THREAD_IMPORTED)
NodeStep = tuple[int, str]
"""(step, node) of what is recorded."""


@dataclass(frozen=True, slots=True)
class Tape:
    """The recorded calls of one thread since a checkpoint, with the state there.

    `row` are the thread's columns, `point` those of the checkpoint; `versions` the agent versions
    that asked people something; `children` the states of (child, checkpoint) that were joined.
    """

    row: Mapping[str, Any]
    point: Mapping[str, Any]
    state: dict[str, Any]
    config: dict[str, Any]
    effects: str
    activities: dict[NodeStep, list[ActivityRow]] = field(default_factory=dict)
    requests: dict[NodeStep, list[ApprovalRow]] = field(default_factory=dict)
    versions: frozenset[UUID] = frozenset()
    files: dict[str, tuple[str, str, bytes]] = field(default_factory=dict)
    children: dict[tuple[UUID, UUID], dict[str, Any]] = field(default_factory=dict)

    @property
    def thread(self) -> UUID:
        """The id of the thread, in the play as well: keys and ids of children follow from it."""
        result: UUID = self.row["id"]
        return result

    @property
    def end(self) -> str:
        """The status of the thread when it was exported."""
        reason = self.row["status_reason"]
        return f"{self.row['status']} at step {self.row['step']}{f' ({reason})' if reason else ''}"

    def calls(self, step: int, node: str) -> Sequence[ActivityRow]:
        """The recorded calls of a node in a step, newest revision of a position last."""
        return self.activities.get((step, node), ())

    def requests_of(self, step: int, node: str) -> Sequence[ApprovalRow]:
        """The requests of a node in a step."""
        return self.requests.get((step, node), ())


def read_tape(path: Path) -> Tape:
    """The tape of the thread in a capsule, a file or a folder; raises BadCapsule, InvalidValue."""
    with folder.opened(path) if path.is_dir() else layout.opened(path) as reader:
        about = about_of(reader)
        if about.kind != "thread":
            raise BadCapsule(
                f"{path} holds one checkpoint and no calls: export the thread without --checkpoint."
            )
        return _Reading(reader, about).tape()


class _Reading:
    """One capsule on its way to a tape."""

    def __init__(self, reader: Reader, about: About) -> None:
        self._reader = reader
        self._about = about
        self._folders = {about.id: ""}
        self._folders |= {base: layout.base_folder(base) for base in about.bases}
        self._folders |= {child: layout.child_folder(child) for child in about.children}

    def tape(self) -> Tape:
        about, first = self._about, self._point(self._about.id, 0)
        point = self._begin()
        prompts = self._prompts()
        requests = self._requests(point)
        activities: dict[NodeStep, list[ActivityRow]] = {}
        for row in self._activities(point):
            activities.setdefault((row.step, row.node), []).append(row)
        return Tape(
            row=about.row,
            point=point,
            state=self._state_at(point),
            config=with_texts(read(first["config"]) or {}, prompts),
            effects=self._effects(),
            activities=activities,
            requests=requests,
            versions=frozenset(r.agent_version_id for some in requests.values() for r in some),
            files=self._files(),
            children=self._joined(activities),
        )

    def _begin(self) -> dict[str, Any]:
        """The newest checkpoint on the way to the head that is no step."""
        number = self._about.row["number"]
        while (point := self._point(self._about.id, number))["source"] == "step":
            number = point["parent_number"]
        return point

    def _point(self, thread: UUID, number: int) -> dict[str, Any]:
        if thread not in self._folders:
            raise BadCapsule(f"The capsule lacks the thread {thread}.")
        name = self._folders[thread] + layout.checkpoint_name(number)
        return from_json(CHECKPOINT.exported, self._reader.json(name), f"{name}: $") | {
            "thread": thread
        }

    def _state_at(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The state at a checkpoint, folded from its deltas and compared with its hash."""
        past = [point]
        while past[-1]["parent_number"] is not None:
            past.append(self._point(past[-1]["parent_thread"], past[-1]["parent_number"]))
        state = deltas.fold({}, (self._delta(one) for one in reversed(past)))
        channels = self._reader.json(layout.agent_name(point["agent_version_id"]))["channels"]
        if Digests.of(state, reducers_of(channels)).root != point["state_hash"]:
            raise BadCapsule(f"The state at checkpoint {point['number']} does not match its hash.")
        return state

    def _delta(self, point: Mapping[str, Any]) -> dict[str, Any]:
        stored = read(point["delta"])
        folder = self._folders[point["thread"]]
        return references.resolved(
            stored,
            {
                sha: b"".join(self._reader.chunks(folder + layout.content_name(sha)))
                for sha in references.wanted(
                    references.named(stored.get(references.PUT, {})).values()
                )
            },
        )

    def _prompts(self) -> list[str]:
        """The prompt texts that the agent versions of the capsule declare."""
        results: list[str] = []
        for name in self._reader.names:
            if name.startswith("agents/"):
                results += self._reader.json(name)["graph"].get("prompts", {}).values()
        return results

    def _effects(self) -> str:
        """The effects mode of the thread, from the newest event that began it."""
        effects = str(control_columns.USUAL["effects"])
        for event in self._reader.lines(layout.EVENTS):
            if event["kind"] in _FIRST_KINDS:
                effects = (control_columns.USUAL | event["data"].get("row", {}))["effects"]
        return effects

    def _after(self, point: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
        return bool(row["branch"] == point["branch"] and row["step"] > point["step"])

    def _activities(self, point: Mapping[str, Any]) -> list[ActivityRow]:
        """Calls after a checkpoint; an effect whose worker was at it is unknown."""
        results = []
        for line in self._reader.lines(layout.ACTIVITIES):
            row = from_json(ACTIVITY.exported, line, f"{layout.ACTIVITIES}: $")
            if row["kind"] == "node" or not self._after(point, row):
                continue
            row |= {name: read(row[name]) for name in row.keys() & set(ACTIVITY.json)}
            row |= {"thread": self._about.id, "approval": row["approval_id"], "progress": None}
            if row["state"] == "started":
                row |= {"state": "unknown", "error": LOST}
            values = {f.name: row[f.name] for f in fields(ActivityRow) if f.name in row}
            results.append(ActivityRow(**values | {"cursor": None}))
        return sorted(results, key=lambda a: a.revision)

    def _requests(self, point: Mapping[str, Any]) -> dict[NodeStep, list[ApprovalRow]]:
        about, results = self._about, dict[NodeStep, list[ApprovalRow]]()
        for line in self._reader.lines(layout.APPROVALS):
            row = from_json(APPROVAL.exported, line, f"{layout.APPROVALS}: $")
            if not self._after(point, row):
                continue
            row |= {name: read(row[name]) for name in row.keys() & set(APPROVAL.json)}
            row |= {"workspace": about.row["workspace_id"], "thread": about.id}
            row |= {"thread_title": about.row["title"], "agent": about.row["agent"]}
            known = {f.name for f in fields(ApprovalRow)}
            request = ApprovalRow(**{name: v for name, v in row.items() if name in known})
            results.setdefault((request.step, request.node), []).append(request)
        for some in results.values():
            some.sort(key=lambda r: r.revision)
        return results

    def _joined(
        self, activities: Mapping[NodeStep, Sequence[ActivityRow]]
    ) -> dict[tuple[UUID, UUID], dict[str, Any]]:
        """The states of the joined children that the capsule holds, as the joins name them."""
        results = {}
        joins = [a for some in activities.values() for a in some if a.tool == "join"]
        for named in (child for join in joins for child in join.result or ()):
            child, head = UUID(named["thread"]), UUID(named["checkpoint"])
            if named["status"] != Status.SUCCEEDED or child not in self._folders:
                continue
            number = about_of(self._reader, self._folders[child]).row["number"]
            while (point := self._point(child, number))["id"] != head:
                number -= 1
            if point["state_hash"].hex() != named["state_hash"]:
                raise BadCapsule(f"The child {child} in the capsule is not as it was joined.")
            results[child, head] = self._state_at(point)
        return results

    def _files(self) -> dict[str, tuple[str, str, bytes]]:
        return {
            row["sha256"]: (
                row["name"],
                row["media_type"],
                b"".join(self._reader.chunks(layout.artifact_name(row["sha256"]))),
            )
            for row in self._reader.lines(layout.FILES)
        }
