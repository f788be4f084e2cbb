"""Reading capsules: everything is checked, and what does not hold leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DataError, IntegrityError, connection, transaction

from approvals import gates
from approvals.columns import APPROVAL, DECISION
from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.capsules import folder, layout
from checkpoints.capsules.about import About, about_of
from checkpoints.capsules.layout import BadCapsule, Reader
from checkpoints.capsules.rows import CURSOR, from_json
from checkpoints.chain import exported_row_differs
from checkpoints.errors import GatepostError, InvalidValue, NotAllowedNow, NotFound
from checkpoints.memories import refs_in
from checkpoints.state import deltas
from checkpoints.state.json_schemas.soundness import broken_part
from checkpoints.state.schema_texts import with_definitions
from checkpoints.states import Status
from checkpoints.tables.columns import ACTIVITY, AGENT_VERSION, ARTIFACT, CHECKPOINT, EVENT
from checkpoints.tables.listed import Columns
from dashboard.documents.json_text import json_of
from dashboard.documents.state_document import state_answer
from dashboard.documents.yaml_text import yaml_of
from dashboard.identity.permissions import Actor
from dashboard.threads.capsules.credentials import AGENT_MAX, refuse_credentials
from dashboard.threads.capsules.lineages import lineages
from dashboard.threads.capsules.memories import check_memories

log = structlog.get_logger("gatepost.capsules")

WITHDRAWN = "The thread was imported; working on asks anew."
# The same for every id: who imports learns nothing of the threads of other workspaces.
TAKEN = "An id in the capsule is not free on this installation. Import it on another one."


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: thread, the bases and children with it, events verified.

    `left_out` counts the children that are not in the capsule, `memories` the texts of memory that
    are: they are for readers, and none is kept.
    """

    thread: UUID
    bases: tuple[UUID, ...]
    children: tuple[UUID, ...]
    left_out: int
    events: int
    withdrawn: int
    memories: int = 0


def import_capsule(actor: Actor, path: Path, *, name: str | None = None) -> Imported:
    """Bring in the thread or the checkpoint of a capsule, into the actor's workspace.

    `path` is the file, or a folder that holds the same unpacked: a thread's of the file store.

    Each member is compared with MANIFEST first. The rows are then written and verified in one
    transaction: nobody sees them before all of them hold. `name` replaces the thread's own.
    Raises BadCapsule, NotAllowedNow.
    """
    with _opened(path) as reader, _in_shape():
        refuse_credentials(reader)
        named = _named_memories(reader)
        about = about_of(reader)
        files = _files(reader)
        taken = _OneImport(actor, reader, about, files, name or about.row["name"])
        with taken.files_in_place() as paths, transaction.atomic():
            with connection.cursor() as cursor:
                # Folding a long past takes a while; nobody waits for the rows of this one.
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
            taken.agents()
            for row in files:
                store.import_artifact(row, workspace=actor.workspace, path=paths[row["sha256"]])
            done = taken.checkpoint() if about.kind == "checkpoint" else taken.threads()
            return replace(done, memories=check_memories(reader, named))


def _named_memories(reader: Reader) -> set[tuple[UUID, int]]:
    """The memories that values name which the reader reads from now on."""
    named: set[tuple[UUID, int]] = set()
    look_at = reader.look_at

    def look(value: Any, where: str) -> None:
        look_at(value, where)
        named.update(refs_in(value))

    reader.look_at = look
    return named


def _opened(path: Path) -> AbstractContextManager[Reader]:
    return folder.opened(path) if path.is_dir() else layout.opened(path)


@contextmanager
def _in_shape() -> Iterator[None]:
    """Whatever a hostile capsule makes fail is a refusal of that capsule."""
    try:
        yield
    except InvalidValue as error:
        raise BadCapsule(f"The capsule is not in order: {error.path} {error.reason}.") from error
    except (DataError, IntegrityError) as error:
        rule = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
        reason = f"it breaks the rule {rule}" if rule else "a value does not fit its column"
        raise BadCapsule(f"The database refuses a row of the capsule: {reason}.") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        log.warning("capsule.refused", error=repr(error))
        raise BadCapsule(
            "The capsule is not in order: a member has values of a form that was never written."
        ) from error


def _files(reader: Reader) -> list[dict[str, Any]]:
    rows = [
        from_json(ARTIFACT.exported, row, f"{layout.FILES}: $")
        for row in reader.lines(layout.FILES)
    ]
    most = settings.GATEPOST_UPLOAD_MAX_BYTES
    if large := next((row for row in rows if row["size"] > most), None):
        raise BadCapsule(f"The file {large['sha256']} has more than the {most:,} bytes taken here.")
    named = {layout.artifact_name(row["sha256"]): row["size"] for row in rows}
    there = {name: reader.size(name) for name in reader.names if name.startswith("artifacts/")}
    if named != there or len(named) != len(rows):
        raise BadCapsule("The files in the capsule are not those that it lists.")
    return rows


def _is_agent(payload: Mapping[str, Any]) -> bool:
    """True if pages can show the agent's description; they read it unchecked."""
    graph, nodes = payload["graph"], payload["graph"]["nodes"]
    brought = [payload["schema"], *(t.get("schema", {}) for t in payload["tools"].values())]
    for schema in brought:
        if (fault := broken_part(with_definitions(schema))) is not None:
            raise BadCapsule(
                f"A schema of the capsule's agent is broken: {fault.path} {fault.message}."
            )
    return (
        all(isinstance(one, dict) for one in (payload["schema"], *payload["channels"].values()))
        and all(isinstance(tool, dict) for tool in payload["tools"].values())
        and all(isinstance(name, str) for name in graph["entry"])
        and all(isinstance(node["name"], str) for node in nodes)
        and all(isinstance(target, str) for node in nodes for target in node.get("then", []))
    )


def _first_difference(payload: Any, expected: Mapping[str, Any], path: str) -> str:
    """The path of the first member of `payload` that is another in `expected`; "" if none is.

    Members that only later versions write may be missing, those of `context` as well.
    """
    if not isinstance(payload, dict):
        return path
    for name, value in payload.items():
        at = deltas.at(path, name)
        if name == "context" and path == "$":
            if wrong := _first_difference(value, expected[name], at):
                return wrong
        elif name not in expected or expected[name] != value:
            return at
    return "" if path != "$" or "state" in payload else "$.state"


class _OneImport:
    """One capsule on its way in."""

    def __init__(
        self,
        actor: Actor,
        reader: Reader,
        about: About,
        files: list[dict[str, Any]],
        name: str | None,
    ) -> None:
        self._actor = actor
        self._reader = reader
        self._about = about
        self._files = files
        self._name = name
        self._described: set[UUID] = set()  # the agent versions that the capsule brings

    @contextmanager
    def files_in_place(self) -> Iterator[dict[str, str]]:
        """Path by hash; taken away again where the import fails."""
        workspace = self._actor.workspace
        placed: dict[str, str] = {}
        try:
            for row in self._files:
                sha = row["sha256"]
                chunks = self._reader.chunks(layout.artifact_name(sha))
                *_, placed[sha] = store.place_file(workspace, chunks)
            yield placed
        except BaseException:
            for sha, path in placed.items():
                store.forget_file(workspace, sha, path)
            raise

    def agents(self) -> None:
        """Keep the agent versions that are not known here, for the threads of this capsule."""
        for name in self._reader.names:
            if name.startswith("agents/"):
                if self._reader.size(name) > AGENT_MAX:
                    raise BadCapsule(f"{name} in the capsule is too large.")
                payload = self._reader.json(name)
                row = from_json(AGENT_VERSION.exported, payload, f"{name}: $")
                if not _is_agent(payload):
                    raise BadCapsule(f"{name} in the capsule does not describe an agent.")
                store.import_agent_version(row, workspace=self._actor.workspace)
                self._described.add(row["id"])

    def threads(self) -> Imported:
        """Bases first, the oldest before all, then the thread itself, then the tree below it."""
        about, here = self._about, []
        self._refuse_taken("thread", about.id)
        line = [about_of(self._reader, layout.base_folder(base)) for base in about.bases]
        for younger, base in zip((about, *line), (*line, None), strict=True):
            if younger.row["base"] != (base.id if base else None) or younger.kind != "thread":
                raise BadCapsule("The bases in the capsule are not those of its forks.")
        tree = [about_of(self._reader, layout.child_folder(child)) for child in about.children]
        for child in tree:
            self._refuse_taken("child", child.id)
        lineage = lineages(about, line, tree)
        for base in reversed(line):
            if not self._known(base):
                self._bring(base, base.row["name"], lineage[base.id])
                here.append(base)
        bases = tuple(one.id for one in here)
        self._bring(about, self._name, lineage[about.id])
        for child in tree:
            self._bring(child, child.row["name"], lineage[child.id])
        here += [about, *tree]
        named = queries.named_by([about.id, *about.children])
        if strange := [child for child in about.children if str(child) not in named]:
            raise BadCapsule(f"No thread in the capsule says that it started {strange[0]}.")
        store.bring_children({one.row["parent"] for one in tree} & lineage.keys())
        # The event that records where a thread came from is needed to verify what is before it.
        self._check_agents(
            set().union(*(queries.agent_versions_of(one.id) for one in (about, *line, *tree)))
        )
        withdrawn = sum(self._settled(one) for one in here)
        n_events = sum(self._verified(one) for one in here)
        self._check_state()
        children, left_out = tuple(about.children), len(about.left_out)
        return Imported(about.id, bases, children, left_out, n_events, withdrawn)

    def checkpoint(self) -> Imported:
        """A thread that begins with the state of one checkpoint."""
        about, reader = self._about, self._reader
        name = layout.checkpoint_name(about.checkpoint or 0)
        point = from_json(CHECKPOINT.exported, reader.json(name), f"{name}: $")
        self._check_agents({point["agent_version_id"]})
        payload = reader.json(layout.STATE)
        state, config = payload["state"], payload["context"]["config"]
        if not isinstance(state, dict) or not isinstance(config, dict):
            raise BadCapsule(f"{layout.STATE} in the capsule is not in order.")
        row = about.row
        made = store.import_checkpoint(
            row,
            point,
            state,
            workspace=self._actor.workspace,
            name=self._name,
            config=config,
            origin=self._origin(row)
            | {"thread": str(about.id), "checkpoint": str(point["id"]), "number": point["number"]},
            actor=self._actor.id,
        )
        return Imported(made, (), (), 0, 0, 0)

    def _check_agents(self, named: set[UUID]) -> None:
        """Refuse a capsule that describes agents which its threads have nothing to do with."""
        if strange := self._described - named:
            one = layout.agent_name(min(strange, key=str))
            raise BadCapsule(f"{one} in the capsule describes an agent that its thread never had.")

    def _refuse_taken(self, what: str, thread: UUID) -> None:
        """Refuse an id that a thread of this installation has; raises NotAllowedNow."""
        if queries.head("thread", thread, 0) is None:
            return
        if self._is_own(thread):
            raise NotAllowedNow(f"The {what} {thread} is here already; it is not imported twice.")
        raise NotAllowedNow(TAKEN)

    def _is_own(self, thread: UUID) -> bool:
        try:
            queries.thread(thread, workspace=self._actor.workspace)
        except NotFound:
            return False
        return True

    def _known(self, base: About) -> bool:
        """True if a base is here with the capsule's past; NotAllowedNow if its past differs."""
        row = base.row
        head = queries.head("thread", base.id, row["last_seq"])
        if head is None:
            return False
        if not self._is_own(base.id):
            raise NotAllowedNow(TAKEN)
        if (head.chain, head.hash) != (row["chain_id"], row["last_hash"].hex()):
            raise NotAllowedNow(f"The base {base.id} is here already, with another past.")
        return True

    def _bring(self, about: About, name: str | None, lineage: Mapping[str, Any]) -> None:
        row, reader, workspace = about.row, self._reader, self._actor.workspace
        folder = f"{about.folder}checkpoints/"
        points = sorted(
            (name for name in reader.names if name.startswith(folder)),
            key=lambda name: (len(name), name),
        )
        # Closed also where one of them is refused.
        with closing(self._cursors(about.folder + layout.CURSORS)) as cursors:
            store.import_thread(
                row,
                workspace=workspace,
                name=name,
                actor=self._actor.id,
                events=self._rows(EVENT.exported, about.folder + layout.EVENTS),
                checkpoints=(
                    from_json(CHECKPOINT.exported, reader.json(one), f"{one}: $") for one in points
                ),
                contents=self._contents(about.folder + layout.CONTENTS),
                activities=self._rows(ACTIVITY.exported, about.folder + layout.ACTIVITIES),
                cursors=cursors,
                inputs=about.inputs,
                files={file["sha256"]: file["size"] for file in self._files},
                lineage=lineage,
            )
        approvals = self._rows(APPROVAL.exported, about.folder + layout.APPROVALS)
        decisions = self._rows(DECISION.exported, about.folder + layout.DECISIONS)
        gates.import_requests(
            about.id,
            workspace=workspace,
            origin=row["workspace_id"],
            approvals=approvals,
            decisions=decisions,
        )

    def _contents(self, folder: str) -> Iterator[tuple[str, bytes]]:
        for name in self._reader.names:
            if name.startswith(folder):
                raw = deltas.canonical(self._reader.json(name))
                if not name.endswith(layout.content_name(sha := layout.sha_of(raw))):
                    raise BadCapsule(f"{name} in the capsule is not as it was written.")
                yield sha, raw

    def _cursors(self, name: str) -> Generator[dict[str, Any]]:
        if self._reader.has(name):  # formerly there were none
            yield from self._rows(CURSOR, name)

    def _rows(self, of: Columns, name: str) -> Iterator[dict[str, Any]]:
        for n, line in enumerate(self._reader.lines(name), 1):
            yield from_json(of, line, f"{name} line {n}: $")

    def _verified(self, about: About) -> int:
        """Fold everything again; raises BadCapsule. The bytes of files were compared before."""
        try:
            report = verify(about.id, files=False)
        except GatepostError as error:
            raise BadCapsule(f"The history in the capsule does not hold: {error}.") from error
        if not report.intact:
            raise BadCapsule(f"The history in the capsule does not hold: {report.what}")
        if wrong := exported_row_differs(about.id, self._actor.workspace, about.row):
            name = about.folder + layout.THREAD
            raise BadCapsule(f"{name} in the capsule was altered: the log disagrees with {wrong}.")
        return report.n_events

    def _check_state(self) -> None:
        """Compare the state that people read with the fold of the history; raises BadCapsule.

        Its row has other values since the import: the capsule's, which were compared with the log.
        """
        row, about = self._about.row, self._about
        here = queries.thread(about.id, workspace=self._actor.workspace)
        then = replace(
            here,
            name=row["name"],
            title=row["title"],
            labels=deltas.decode(row["labels"]),
            status=Status(row["status"]),
            version=row["version"],
        )
        answer = state_answer(then, queries.checkpoint(about.id, here.head))
        expected = json.loads(json_of(answer))
        payload = self._reader.json(layout.STATE)
        if wrong := _first_difference(payload, expected, "$"):
            raise BadCapsule(
                f"{layout.STATE} in the capsule was altered: {wrong} is not what its history gives."
            )
        text = b"".join(self._reader.chunks(layout.STATE_YAML))
        if text != yaml_of(payload):
            raise BadCapsule(
                f"{layout.STATE_YAML} in the capsule was altered: it is not {layout.STATE}."
            )

    def _settled(self, about: About) -> int:
        """Withdraw what was open, log where it came from; how many requests were withdrawn."""
        actor = self._actor.id
        gone = gates.withdraw_open(about.id, reason=WITHDRAWN, actor=actor)
        store.note_import(about.id, data=self._origin(about.row), actor=actor)
        transaction.on_commit(partial(store.keep_head, about.id), robust=True)
        return gone

    def _origin(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "workspace": str(row["workspace_id"]),
            "seq": row["last_seq"],
            "hash": row["last_hash"].hex(),
            "chain": str(row["chain_id"]),
            "status": row["status"],
            "title": row["title"],
            "capsule": self._reader.manifest_sha,
            "by_name": self._actor.name,
        }
