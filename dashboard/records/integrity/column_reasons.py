"""By what each column is proved or derived, or why verification does not cover it.

{table: {column: words}}; `*` stands for all columns of a table. Columns of tables on record (see
`checkpoints.log.recorded`) are proved without an entry here.
"""

from __future__ import annotations

from typing import Final

from approvals.columns import APPROVAL, DECISION
from checkpoints.tables.columns import (
    ACTIVITY,
    AGENT_VERSION,
    CHECKPOINT,
    CONTENT,
    EVENT,
    THREAD,
)

_CHAIN = "the chain of the log"
_SEALED = "an event names the row with its hash or seal"
_FOLDED = "folded from the thread's log"
_ROLES = "folded from the roles that the workspace's log grants and withdraws"
_ID = "uuid5 over what the version says"
_FAILED = "passwords that were tried of late, to slow who guesses; opens nothing"
_NOW = "how work stands at this moment; no history, decides nothing that was decided"


def _all(names: str, why: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), why)


PROVED: Final[dict[str, dict[str, str]]] = {
    "gp_workspace": _all("chain_id last_seq last_hash", _CHAIN),
    "gp_workspace_event": dict.fromkeys(EVENT.without("thread_id"), _CHAIN),
    "gp_membership": _all("workspace_id user_id role", _ROLES),
    "gp_agent_version": dict.fromkeys(AGENT_VERSION.proved, _ID),
    "gp_memory": _all("text metadata salt", "the log of the workspace has a hash of them"),
    "gp_thread": dict.fromkeys(THREAD.proved, _FOLDED)
    | _all("workspace_id chain_id last_seq last_hash", _CHAIN),
    "gp_event": dict.fromkeys(EVENT.proved, _CHAIN),
    "gp_checkpoint": dict.fromkeys(CHECKPOINT.proved, _SEALED),
    "gp_content": dict.fromkeys(CONTENT.proved, _SEALED),
    "gp_activity": dict.fromkeys(ACTIVITY.proved, _SEALED),
    "gp_approval": dict.fromkeys(
        APPROVAL.proved, "folded from the thread's log, which names the request with a seal"
    ),
    "gp_decision": dict.fromkeys(DECISION.proved, _SEALED),
    "gp_carried_out": _all("approval_id outcome said", "folded from the thread's log"),
}
DERIVED: Final[dict[str, dict[str, str]]] = {
    "gp_thread": {
        "erasure": "of an erasure that the log of the workspace records; any other mark is damage",
        "automatic_title": "the title, where the log says that nobody gave it; compared with it",
        "searchable": "values of the state at the head; compared with it",
    },
    "gp_keyframe": {"*": "a cache of states; compared with the deltas, and may be deleted"},
    "gp_indexed_event": {"*": "words of the log by their hashes, made anew from it by a command"},
    "gp_memory_vector": {"*": "made anew from the texts of memories, by an embedding model"},
    "gp_artifact": _all("sha256 size", "the bytes of the file are hashed again"),
    "auth_group": {"name": "the teams of each user, by their names, are on record"},
    "auth_user_groups": {"*": "the teams of each user, by their names, are on record"},
    "gp_verification": {
        "*": "what was found last, for the badge; each verification computes all of it anew"
    },
    "gp_workspace_verification": {
        "*": "what was found last, for the badge; each verification computes all of it anew"
    },
}
NOT_COVERED: Final[dict[str, dict[str, str]]] = {
    "gp_workspace": {
        "prev_hash": "a copy for the trigger, of the last statement only",
        "last_at": "a copy of the last event's time",
    },
    "gp_membership": {"id": "nothing names it"},
    "gp_agent_version": {
        "label": "for people; no part of what the id is made of",
        "description": "for people; no part of what the id is made of",
        "queue": "where a new thread waits for workers; each thread's own is proved",
        "code": "what a page shows of a change; which code may continue follows from the "
        "fingerprint, and an event says that it did without asking",
        "created_at": "for the order of lists",
        "imported_into": "which workspace knows it before a worker announces it",
    },
    "gp_agent_announcement": {"*": "for people; the version it names is proved by its id"},
    "gp_thread": {
        "id": "what the rows of a thread name; another one leaves them behind, which is found",
        "status_since": "for the order of lists",
        "status_reason": "for people; the event says it too",
        "wake_at": "when it continues by itself: a clock between workers; no history",
        "wake_seq": "a counter between workers",
        "moved_up_at": "its place in the queue while it is queued; the event says who moved it up",
        "wish": "what was asked of the worker at this moment; the event of the request stays",
        "wish_by": "who asked it; the event of the request says it too",
        "version": "a counter for people who decide on what they saw",
        "prev_hash": "a copy for the trigger, of the last statement only",
        "last_at": "a copy of the last event's time",
        "lease_owner": "who works on it now",
        "lease_token": "who works on it now; a worker that lost it cannot commit",
        "lease_until": "who works on it now",
        "fence": "a counter for people",
        "crash_count": "how often it was taken over since the last step; no history",
        "tokens_saved": "a sum for people; nothing is decided by it",
        "created_at": "for the order of lists",
    },
    "gp_activity": {"progress": "how far a call is, for the page; no history"},
    "gp_artifact": {
        "id": "nothing names it",
        "workspace_id": "a state that names the file finds it in its own workspace only",
        "name": "of the first upload; event and state have the name of each use",
        "media_type": "of the first upload; event and state have that of each use",
        "path": "where the bytes lie; they are hashed wherever that is",
        "created_at": "for the order of lists",
    },
    "gp_channel_key": {
        "*": "what it opens is authenticated with it: another key opens nothing, and where one is "
        "missing, a reading says so"
    },
    "gp_child": {"*": "how children stand, for their parent; the logs of both say it"},
    "gp_wake": {"*": "news on its way to a thread; the sweep brings what is lost"},
    "gp_worker": {"*": _NOW},
    "gp_backoff": {"*": _NOW},
    "gp_memory": {"key": "of the call that remembered it: repeated, it finds the row"},
    "gp_memory_text": {"*": "a text that was corrected; the log had its hash while it stood"},
    "gp_decided_day": {"*": "a cache of figures, made anew from the decisions that they count"},
    "gp_decided_until": {"*": "up to which day that cache goes, and may be deleted with it"},
    "gp_figure": {"*": "a cache of figures, made anew from the rows that they count"},
    "gp_figure_change": {"*": "which of them are made anew next; what is lost is found later"},
    "gp_folded_unit": {"*": "which hours and days the cache holds, and may be deleted"},
    "gp_index_position": {"*": "how far the index of the history is, and may be deleted with it"},
    "gp_record_question": {"*": "the event of the question has a hash over what was answered"},
    "gp_node_time": {"*": "a cache of usual times, learned from the log, and may be deleted"},
    "gp_stuck": {"*": "a cache of notes by the sweep, which are made anew, and may be deleted"},
    "gp_duty": {"*": _NOW},
    "gp_hot_stream": {"*": "what the hot store may hold; a loss that follows from it is an event"},
    "gp_incident": _all(
        "agent kind fingerprint reason labels threads affected opened_at last_at",
        "made and counted by the sweep from threads in trouble; what people set is proved",
    ),
    "gp_incident_thread": {"*": "made by the sweep from threads that are in trouble"},
    "gp_incident_notice": {"*": "what was sent of an incident; whom is proved as a subscription"},
    "gp_set_aside": {"*": _NOW},
    "gp_erasure_file": {"*": _NOW},
    "gp_watched": {"*": "where late spans go; their outcome is proved in the thread's log"},
    "gp_anchor": {"*": "compared with copies elsewhere by `verify --anchors`, not with itself"},
    "gp_anchor_stamp": {"*": "signed by the authority; `verify --anchors` checks it"},
    "gp_anchor_destination": {"*": "how far anchors went out; the copies elsewhere show it"},
    "gp_span_export": {"*": "how far spans were exported, for workers and figures; no history"},
    "gp_clock_step": {"*": "what was noticed about clocks, for `doctor`"},
    "gp_carried_out": _all("workspace_id at", "the event of the operation says both"),
    "gp_spend_reservation": {"*": "what calls under way may cost; their real cost is proved"},
    "gp_hook": {
        "refused_at": "counted before a delivery is recorded, once a minute",
        "refused": "counted before a delivery is recorded, once a minute",
    },
    "gp_hook_delivery": {"*": "what was answered; the decision itself is in the thread's log"},
    "gp_delivery": {"*": "what was sent to whom; whom is proved with the endpoint"},
    "gp_approval_look": {"*": "when a person opened a request, for figures; decides nothing"},
    "gp_outbox": {"*": "news that is still to be sent; what it announces is proved in the log"},
    "gp_sign_in": {
        "*": "for its person, with address and device, which have to be forgotten; that it began "
        "and ended is in the workspace's log"
    },
    "gp_second_factor": {
        "last_period": "moves with each code of the app, and only refuses used ones"
    },
    "gp_passkey": {
        "sign_count": "moves with each use, and only refuses copies",
        "last_challenge": "moves with each use, and only refuses what was used",
        "last_used_at": "each use writes it",
    },
    "gp_token": {"last_used_at": "noted once a minute while it is in use"},
    "gp_idempotency_key": {"*": "answers for calls that are repeated within a day"},
    "django_session": {
        "*": "a login counts only with the event of its beginning in the log of a workspace"
    },
    "axes_accessattempt": {"*": _FAILED},
    "axes_accessattemptexpiration": {"*": _FAILED},
    "axes_accessfailurelog": {"*": _FAILED},
    "axes_accesslog": {"*": _FAILED},
    "django_migrations": {
        "*": "which migrations ran; `doctor` looks at what they make: the triggers and the role"
    },
    "django_admin_log": {"*": "Django's own log of the admin site; ours is the workspace's"},
    "django_content_type": {"*": "Django's names of models; no right of ours reads them"},
    "auth_permission": {"*": "Django's own permissions; no right of ours reads them"},
    "auth_group_permissions": {"*": "Django's own permissions; no right of ours reads them"},
    "auth_user_user_permissions": {"*": "Django's own permissions; no right of ours reads them"},
    "auth_group": {"id": "teams are on record by their names"},
    "auth_user": {
        "last_login": "each sign-in writes it",
        "first_name": "what a person is called, which may have to be erased",
        "last_name": "what a person is called, which may have to be erased",
        "date_joined": "for the order of lists",
    },
}
