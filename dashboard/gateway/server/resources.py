"""Resources: the state of a thread and a request for approval, as JSON."""

from __future__ import annotations

import re
from typing import Final

import mcp_types as types

from .tools.calls import ApiCall

MEDIA_TYPE: Final = "application/json"
_ID: Final = "[0-9a-fA-F-]{36}"
_STATE: Final = re.compile(rf"gatepost://threads/({_ID})/state(?:\?checkpoint=({_ID}))?")
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
    if (match := _APPROVAL.fullmatch(uri)) is not None:
        return ApiCall("GET", f"approvals/{match[1]}/")
    return None
