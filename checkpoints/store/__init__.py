"""The only writer of threads and their history; import the verbs from here."""

from ..postgres.guarded_rows import forget_rows_set_aside
from .activities import finish_activity, record_activity, report_progress, start_activity
from .clock_steps import bring_back_sleepers, note_clock_step
from .code import accept, pin, unpin
from .control import cancel, edit, pause, resume, retry
from .cursors import keep_cursor
from .folder_duties import claim_folder, folder_kept, owe_folder, postpone_folder
from .inputs import send_input
from .installation.agents import (
    announce_version,
    announce_worker,
    heartbeat_worker,
    note_refused_messages,
    retire_worker,
)
from .installation.artifacts import forget_file, place_file, put_artifact
from .installation.faults import hold_off, lose_step
from .installation.imports import (
    import_agent_version,
    import_artifact,
    import_checkpoint,
    import_thread,
    keep_head,
    note_import,
)
from .installation.record_begin import begin_record
from .installation.sweep import (
    claim_duty,
    forget_duty,
    park_crash_loops,
    shorten_leases,
    stranded_threads,
    wake_sleepers,
)
from .installation.verifications import Noted, note_complete, note_verification
from .installation.workspaces import (
    create_workspace,
    ensure_workspace,
    grant,
    log_export,
    log_refused_role,
    log_setting,
    log_user,
    rename_workspace,
    withdraw,
)
from .keyframes import drop_keyframe, write_keyframe
from .rollbacks import (
    cancel_and_undo,
    fail_and_undo,
    record_compensation,
    roll_back,
    take_back,
)
from .starts import fork, joined_config, start
from .statement.moves import NewCheckpoint, NewEvent, next_checkpoint
from .steps import adopt_version, commit_step, hand_back, leave, record
from .unknown_effects import note_unknown, settle
from .wakes import add_event, wake

__all__ = [
    "NewCheckpoint",
    "NewEvent",
    "Noted",
    "accept",
    "add_event",
    "adopt_version",
    "announce_version",
    "announce_worker",
    "begin_record",
    "bring_back_sleepers",
    "cancel",
    "cancel_and_undo",
    "claim_duty",
    "claim_folder",
    "commit_step",
    "create_workspace",
    "drop_keyframe",
    "edit",
    "ensure_workspace",
    "fail_and_undo",
    "finish_activity",
    "folder_kept",
    "forget_duty",
    "forget_file",
    "forget_rows_set_aside",
    "fork",
    "grant",
    "hand_back",
    "heartbeat_worker",
    "hold_off",
    "import_agent_version",
    "import_artifact",
    "import_checkpoint",
    "import_thread",
    "joined_config",
    "keep_cursor",
    "keep_head",
    "leave",
    "log_export",
    "log_refused_role",
    "log_setting",
    "log_user",
    "lose_step",
    "next_checkpoint",
    "note_clock_step",
    "note_complete",
    "note_import",
    "note_refused_messages",
    "note_unknown",
    "note_verification",
    "owe_folder",
    "park_crash_loops",
    "pause",
    "pin",
    "place_file",
    "postpone_folder",
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
    "settle",
    "shorten_leases",
    "start",
    "start_activity",
    "stranded_threads",
    "take_back",
    "unpin",
    "wake",
    "wake_sleepers",
    "withdraw",
    "write_keyframe",
]
