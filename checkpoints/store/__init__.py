"""The only writer of threads and their history; import the verbs from here."""

from .activities import finish_activity, record_activity, report_progress, start_activity
from .agents import announce_version, announce_worker, heartbeat_worker, retire_worker
from .artifacts import forget_file, place_file, put_artifact
from .births import fork, joined_config, start
from .code import accept, pin, unpin
from .control import cancel, edit, pause, resume, retry
from .imports import (
    import_agent_version,
    import_artifact,
    import_checkpoint,
    import_thread,
    keep_head,
    note_import,
)
from .inputs import send_input
from .keyframes import drop_keyframe, write_keyframe
from .news import add_event, wake
from .rollbacks import record_compensation, roll_back
from .steps import adopt_version, commit_step, hand_back, leave, record
from .sweeping import (
    claim_duty,
    forget_duty,
    park_crash_loops,
    stranded_threads,
    wake_sleepers,
)
from .verifications import note_verification
from .workspaces import (
    create_workspace,
    ensure_workspace,
    grant,
    log_export,
    log_token,
    log_user,
    rename_workspace,
    withdraw,
)
from .writing import NewCheckpoint, NewEvent, next_checkpoint

__all__ = [
    "NewCheckpoint",
    "NewEvent",
    "accept",
    "add_event",
    "adopt_version",
    "announce_version",
    "announce_worker",
    "cancel",
    "claim_duty",
    "commit_step",
    "create_workspace",
    "drop_keyframe",
    "edit",
    "ensure_workspace",
    "finish_activity",
    "forget_duty",
    "forget_file",
    "fork",
    "grant",
    "hand_back",
    "heartbeat_worker",
    "import_agent_version",
    "import_artifact",
    "import_checkpoint",
    "import_thread",
    "joined_config",
    "keep_head",
    "leave",
    "log_export",
    "log_token",
    "log_user",
    "next_checkpoint",
    "note_import",
    "note_verification",
    "park_crash_loops",
    "pause",
    "pin",
    "place_file",
    "put_artifact",
    "record",
    "record_activity",
    "record_compensation",
    "rename_workspace",
    "report_progress",
    "resume",
    "retire_worker",
    "retry",
    "roll_back",
    "send_input",
    "start",
    "start_activity",
    "stranded_threads",
    "unpin",
    "wake",
    "wake_sleepers",
    "withdraw",
    "write_keyframe",
]
