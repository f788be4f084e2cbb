"""The only writer of threads and their history; import the verbs from here."""

from .activities import finish_activity, record_activity, report_progress, start_activity
from .agents import announce_version, announce_worker, heartbeat_worker, retire_worker
from .artifacts import put_artifact
from .births import fork, start
from .control import cancel, edit, pause, resume, retry
from .keyframes import write_keyframe
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
from .writing import NewCheckpoint, NewEvent

__all__ = [
    "NewCheckpoint",
    "NewEvent",
    "add_event",
    "adopt_version",
    "announce_version",
    "announce_worker",
    "cancel",
    "claim_duty",
    "commit_step",
    "edit",
    "finish_activity",
    "forget_duty",
    "fork",
    "hand_back",
    "heartbeat_worker",
    "leave",
    "park_crash_loops",
    "pause",
    "put_artifact",
    "record",
    "record_activity",
    "record_compensation",
    "report_progress",
    "resume",
    "retire_worker",
    "retry",
    "roll_back",
    "start",
    "start_activity",
    "stranded_threads",
    "wake",
    "wake_sleepers",
    "write_keyframe",
]
