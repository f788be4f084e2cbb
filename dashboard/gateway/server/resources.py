"""Resources: the state of a thread, a request for approval, its files' list, as JSON; a file."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import mcp_types as types

from dashboard.threads.files import PIECE_MAX

from .tools.calls import ApiCall

MEDIA_TYPE: Final = "application/json"
_ID: Final = "[0-9a-fA-F-]{36}"
_STATE: Final = re.compile(rf"gatepost://threads/({_ID})/state(?:\?checkpoint=({_ID}))?")
_FILES: Final = re.compile(rf"gatepost://threads/({_ID})/files(?:\?checkpoint=({_ID}))?")
_FILE: Final = re.compile(
    rf"gatepost://threads/({_ID})/files/([0-9a-f]{{64}})(?:\?checkpoint=({_ID}))?"
)
_APPROVAL: Final = re.compile(rf"gatepost://approvals/({_ID})")

TEMPLATES: Final = (
    types.ResourceTemplate(
        name="state",
        title="State of a thread",
        uri_template="gatepost://threads/{thread}/state{?checkpoint}",
        description="The whole state at the head, or at a checkpoint: also where it stands, its "
        "history, and the files it refers to.",
        mime_type=MEDIA_TYPE,
    ),
    types.ResourceTemplate(
        name="files",
        title="Files of a thread",
        uri_template="gatepost://threads/{thread}/files{?checkpoint}",
        description="Files that the state refers to at the head, or at a checkpoint, and the first "
        "ones that the thread stored.",
        mime_type=MEDIA_TYPE,
    ),
    types.ResourceTemplate(
        name="file",
        title="File of a thread",
        uri_template="gatepost://threads/{thread}/files/{sha256}{?checkpoint}",
        description=f"The bytes of a file of at most {PIECE_MAX:,} bytes; the tool `read_file` "
        "reads larger ones.",
    ),
    types.ResourceTemplate(
        name="approval",
        title="Request for approval",
        uri_template="gatepost://approvals/{approval}",
        description="What would be done exactly, who has approved and who is still needed.",
        mime_type=MEDIA_TYPE,
    ),
)


def call_for(uri: str) -> ApiCall | None:
    """The call of the API that reads a resource; None where no template fits."""
    if (match := _STATE.fullmatch(uri)) is not None:
        query = {"checkpoint": match[2]} if match[2] else {}
        return ApiCall("GET", f"threads/{match[1]}/state/", query)
    if (match := _FILES.fullmatch(uri)) is not None:
        query = {"checkpoint": match[2]} if match[2] else {}
        return ApiCall("GET", f"threads/{match[1]}/files/", query)
    if (match := _FILE.fullmatch(uri)) is not None:
        query = {"length": str(PIECE_MAX)} | ({"checkpoint": match[3]} if match[3] else {})
        return ApiCall("GET", f"threads/{match[1]}/files/{match[2]}/", query)
    if (match := _APPROVAL.fullmatch(uri)) is not None:
        return ApiCall("GET", f"approvals/{match[1]}/")
    return None


def contents_of(
    uri: str, data: Any
) -> types.TextResourceContents | types.BlobResourceContents | None:
    """The contents of a resource from what the call answered; None for a file too large."""
    if _FILE.fullmatch(uri) is None:
        text = json.dumps(data, ensure_ascii=False)
        return types.TextResourceContents(uri=uri, mime_type=MEDIA_TYPE, text=text)
    if data["next_offset"] is not None:
        return None
    kind = data["media_type"]
    if data["text"] is not None:
        return types.TextResourceContents(uri=uri, mime_type=kind, text=data["text"])
    return types.BlobResourceContents(uri=uri, mime_type=kind, blob=data["base64"])
