"""The files of a thread, in pieces that fit into JSON: for agents, which have no page to load from.

A file belongs to a thread that stored it, and to one whose state refers to it. What is added is
kept beside the state, which is not changed: input or an edit can refer to it.
"""

from __future__ import annotations

import mimetypes
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from datetime import datetime
from io import SEEK_SET
from typing import Annotated, Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import payloads, queries, store
from checkpoints.limits import NAME_MAX
from checkpoints.states import EventKind
from checkpoints.views import ArtifactRow, EventRow, ThreadRow
from dashboard.documents.state_document import files_in
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, Missing, TooLarge
from dashboard.fields.validation import clean_name
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.api.base import answer, refusals
from dashboard.kit.api.parameters import ident, rows, whole
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.threads.past import Past
from dashboard.threads.target import THREAD, thread_for
from dashboard.threads.thread_shapes import Artifact

# Bytes that one call takes, gives unless more are asked for, and gives at most.
ADDED_MAX: Final = 1_048_576
PIECE, PIECE_MAX = 65_536, 262_144
# A piece is proved by reading the file up to it: of larger ones the page gives all.
READ_MAX: Final = 64 * 1_048_576
AFTER = whole("after", "A sequence number: files that were stored later.")
AT = ident("checkpoint", "Another one than the head: files that its state refers to.")
OFFSET = whole("offset", "The first byte; 0 is the beginning.", high=READ_MAX)
LENGTH = whole("length", f"Bytes at most, {PIECE:,} unless given.", low=1, high=PIECE_MAX)
STORED = rows(200)
# A character of UTF-8 has four bytes: a piece may end within one.
_CUT: Final = 3


class StoredFile(Shape):
    """A file that the thread stored: when, by whom, in which node (empty for a person's)."""

    seq: int
    at: datetime
    actor: str
    node: str
    sha256: str
    name: str
    media_type: str
    size: int

    @classmethod
    def of(cls, event: EventRow) -> StoredFile:
        """The file that an event names."""
        known = {name: event.data[name] for name in ("name", "sha256", "media_type", "size")}
        node = event.data.get("node", "")
        return cls(seq=event.seq, at=event.at, actor=event.actor, node=node, **known)


class FileList(Shape):
    """Files that the state refers to, and files that were stored, oldest first."""

    state: list[Artifact]
    stored: list[StoredFile]
    next_after: int | None = Field(description="`after` of the next page; null on the last one")


class FilePiece(Shape):
    """Bytes of a file from `offset` on: as text where they are UTF-8, else as base64."""

    sha256: str
    name: str
    media_type: str
    size: int
    offset: int
    text: str | None
    base64: str | None
    next_offset: int | None = Field(description="`offset` of the next piece; null at the end")


class AddFile(RequestShape):
    """A file for a thread; its content as text or as base64."""

    name: Annotated[str, NotBlank(NAME_MAX)] = Field(
        description="Name of the file; its ending tells the media type."
    )
    text: Annotated[str, Field(max_length=ADDED_MAX)] | None = Field(
        default=None, description=f"Content as text, at most {ADDED_MAX:,} bytes of UTF-8."
    )
    base64: Annotated[str, Field(max_length=ADDED_MAX * 4 // 3 + 4)] | None = Field(
        default=None, description=f"Content as base64, at most {ADDED_MAX:,} bytes decoded."
    )


def add_file(actor: Actor, wanted: AddFile, thread_id: UUID) -> dict[str, Any]:
    """Keep a file with a thread, in any status; the reference that state and input take."""
    thread_for(actor, "upload", thread_id)
    raw = _content(wanted)
    name = clean_name(wanted.name)
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    ref = store.put_artifact(actor.workspace, name=name, media_type=media_type, chunks=[raw])
    payload = {
        "node": "",
        "name": ref["name"],
        "sha256": ref["$artifact"],
        "size": ref["size"],
        "media_type": ref["media_type"],
    }
    store.add_event(thread_id, store.NewEvent(EventKind.ARTIFACT_STORED, payload, actor.id))
    return ref


def _content(wanted: AddFile) -> bytes:
    if wanted.text is None and wanted.base64 is None:
        raise Invalid("$.text", "is required, or base64")
    path = "$.base64" if wanted.text is None else "$.text"
    try:
        raw = (
            (wanted.text or "").encode()
            if wanted.base64 is None
            else b64decode(wanted.base64, validate=True)
        )
    except (NotBase64, ValueError):
        raise Invalid("$.base64", "must be base64") from None
    if len(raw) > ADDED_MAX:
        raise TooLarge(path, f"has {len(raw):,} bytes, at most {ADDED_MAX:,} are taken")
    return raw


ADD_FILE = Action(
    name="thread.add_file",
    right="upload",
    target=THREAD,
    takes=AddFile,
    alternatives=("text", "base64"),
    answers=Artifact,
    perform=add_file,
    shape=lambda ref, _: Artifact(**ref),
    status=201,
    events=(EventKind.ARTIFACT_STORED,),
    summary="Add a file to a thread",
    description="The answer is what input and state take to refer to it; the state stays as it is. "
    f"At most {ADDED_MAX:,} bytes; larger ones are uploaded (`/artifacts/`). A text with a "
    "credential in it is refused.",
    refused=(413,),
    help="add a file to a thread; input and edits can refer to it",
    done=lambda *_: "Added.",
    arguments={"name": ["name"]},
    examples="threads add-file order-17 notes.txt --text 'Ask the north first.'",
)


class _Files(Past):
    """Shared base of both."""

    def refs(self, row: ThreadRow) -> dict[str, dict[str, Any]]:
        """References in the state at the checkpoint that is asked for, each file once."""
        if row.is_ephemeral:
            return {}
        point = queries.checkpoint(row.id, self.ident(AT.name, row.head))
        return {ref["$artifact"]: ref for ref in files_in(queries.state_at(row.id, point.id))}


class ThreadFiles(_Files):
    """Files of a thread."""

    @extend_schema(
        operation_id="threads_files_list",
        responses={200: FileList, **refusals(404, 422)},
        parameters=[AT, AFTER, STORED],
        summary="Files of a thread: those of its state, and those that it stored",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """A fork stored its own only; of its base's it has those that its state refers to."""
        row = self.thread(thread_id)
        after, limit = self.number(AFTER, 0), self.limit(STORED)
        kinds = [str(EventKind.ARTIFACT_STORED)]
        events = queries.events_after(row.id, after, limit=limit + 1, kinds=kinds)
        page = events[:limit]
        result = FileList(
            state=[] if after else [*filter(None, map(_whole, self.refs(row).values()))],
            stored=[StoredFile.of(event) for event in page if event.data],
            next_after=page[-1].seq if len(events) > limit else None,
        )
        return answer(result)


class OneFile(_Files):
    """A file of a thread."""

    @extend_schema(
        responses={200: FilePiece, **refusals(404, 413, 422)},
        parameters=[AT, OFFSET, LENGTH],
        summary="Read a file of a thread, piece by piece",
    )
    def get(self, request: Request, thread_id: UUID, sha256: str) -> Response:
        """Only of files that the thread stored or its state refers to."""
        row = self.thread(thread_id)
        if not queries.has_stored(row.id, sha256) and sha256 not in self.refs(row):
            raise Missing("The thread has no such file; its list names them.")
        file = queries.artifact(sha256, workspace=self.actor.workspace)
        length = self.number(LENGTH, PIECE)
        return answer(_piece(file, self.number(OFFSET, 0), length), Cache_Control="no-store")


def _whole(ref: dict[str, Any]) -> Artifact | None:
    """A reference of state with all its members; None where a person wrote only the hash."""
    return Artifact(**ref) if {"name", "media_type", "size"} <= {*ref} else None


def _piece(file: ArtifactRow, offset: int, length: int) -> FilePiece:
    if file.size > READ_MAX:
        raise TooLarge(
            "sha256", f"has {file.size:,} bytes; above {READ_MAX:,} load it from its page"
        )
    with payloads.opened(file) as stream:
        stream.seek(min(offset, file.size), SEEK_SET)
        raw = stream.read(length)
    text = _text(raw, is_last=offset + len(raw) >= file.size)
    taken = len(raw) if text is None else len(text.encode())
    end = offset + taken
    return FilePiece(
        sha256=file.sha256,
        name=file.name,
        media_type=file.media_type,
        size=file.size,
        offset=offset,
        text=text,
        base64=b64encode(raw).decode() if text is None else None,
        next_offset=end if end < file.size else None,
    )


def _text(raw: bytes, *, is_last: bool) -> str | None:
    """The bytes as text, without a character that is cut at the end; None where they are none."""
    if b"\0" in raw:
        return None
    for cut in range(1 if is_last else _CUT + 1):
        try:
            text = raw[: len(raw) - cut].decode()
        except UnicodeDecodeError:
            continue
        # A piece that is all cut away would never end.
        return text if text or not raw else None
    return None
