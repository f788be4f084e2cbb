"""Proof that the past of a thread or a workspace was not altered.

Found are edits, deletions, insertions and reorders of events, checkpoints, keyframes, activities
and roles. An end cut off together with the owner's own row is found only against an anchor kept
elsewhere.
"""

from .events import Event
from .exported_row import exported_row_differs
from .files import Files
from .installation import unrecorded_users_in_slices, version_reports
from .links import LINK_TEXT, NO_HASH, Broken, link
from .verify import (
    CHECKS,
    ChainReport,
    EventCheck,
    EventCheckFor,
    returned,
    verify_in_slices,
    verify_thread,
)
from .workspaces import verify_workspace, verify_workspace_in_slices
