"""The only writer of threads and their history; import the verbs from here."""

from ..postgres.guarded_rows import forget_rows_set_aside
from ..state.model_configuration import joined_config
from .activities import (
    finish_activity,
    record_activities,
    record_activity,
    report_progress,
    start_activity,
)
from .buffered_steps import CHANNELS_OF, encode_step, waiting_channels
from .buffered_steps import bytes_max as buffered_bytes_max
from .clock_steps import bring_back_sleepers, note_clock_step
from .code import accept, pin, unpin
from .control import cancel, move_up, pause, paused_by_person, rename, resume, retry, skip
from .cursors import keep_cursor
from .drains import check_drained, drain, drain_due, write_steps
from .edits import edit
from .encrypted.keys import opened, reading_cipher, sealing_cipher
from .encrypted.values import sealed
from .erasure.carrying_out import carry_on as carry_on_erasures
from .erasure.carrying_out import carry_out as carry_out_erasure
from .erasure.holds import lift_hold, set_hold
from .erasure.requests import decide as decide_erasure
from .erasure.requests import refuse as refuse_erasure
from .erasure.requests import request as request_erasure
from .folder_duties import claim_folder, folder_kept, owe_folder, postpone_folder
from .forks import fork
from .history_index import index_history, rebuild_index
from .hot_streams import forget_stream, note_stream, report_buffered
from .inputs import send_input
from .installation.agents import (
    announce_version,
    announce_worker,
    heartbeat_worker,
    note_refused_messages,
    retire_worker,
)
from .installation.artifacts import forget_file, place_file, put_artifact
from .installation.breakers import mark_stopped
from .installation.breakers import release as release_breaker
from .installation.breakers import trip as trip_breaker
from .installation.faults import hold_off, lose_step
from .installation.imports import (
    import_agent_version,
    import_artifact,
    import_checkpoint,
    import_thread,
    keep_head,
    note_import,
)
from .installation.memories import EXPIRED as MEMORY_EXPIRED
from .installation.memories import correct as correct_memory
from .installation.memories import forget as forget_memories
from .installation.memories import forget_expired as forget_expired_memories
from .installation.memories import forget_thread as forget_memories_of_thread
from .installation.memories import refuse_gone, remember
from .installation.record_begin import begin_record
from .installation.record_questions import record_question
from .installation.reencryption import reencrypt, stored_secrets
from .installation.span_exports import begin_export, move_export
from .installation.stuck import StuckTurns, learn_node_times, note_stuck
from .installation.sweep import (
    SILENT,
    claim_duty,
    end_duty,
    forget_duty,
    is_anything_due,
    park_crash_loops,
    shorten_leases,
    silent_why,
    stranded_threads,
    wake_sleepers,
    wake_sleepers_in,
)
from .installation.vectors import mark_stored, save_vectors, set_text_aside
from .installation.verifications import Noted, note_complete, note_verification
from .installation.watched import keep_keys, locked_keys, record_watched
from .installation.workspaces import (
    create_play_workspace,
    create_workspace,
    ensure_workspace,
    grant,
    lock_places,
    lock_workspaces,
    log_export,
    log_login,
    log_refused_role,
    log_setting,
    log_user,
    rename_workspace,
    require_second_factor,
    withdraw,
)
from .keyframes import (
    drop_keyframe,
    keep_state,
    known_digests,
    remember_digests,
    write_keyframe,
)
from .overview.budget_bands import band_data, reach_bands
from .overview.figures import Turn, fold_due
from .rollbacks import (
    cancel_and_undo,
    fail_and_undo,
    record_compensation,
    roll_back,
    take_back,
)
from .settled_streams import settle_former, settle_stream
from .signals import send_signal
from .starts import start
from .statement.locks import LOCK_THREAD, join_thread, lock_free, lock_thread
from .statement.moves import NewCheckpoint, NewEvent, next_checkpoint, rollback_checkpoint
from .steps import adopt_version, commit_step, hand_back, leave, record, refresh
from .tree.counterfactuals import EXCHANGEABLE, fork_with_output
from .tree.ends import await_children, bring_children, deliver, deliver_due, waits_until
from .tree.hand_offs import HandOff, commit_and_hand_off, reach_successor
from .tree.messages import deliver_messages, send_message
from .tree.new_threads import AT_ONCE as CHILDREN_AT_ONCE
from .tree.new_threads import NewChild, derived_id, spawn
from .tree.reach import (
    STOOD,
    cancel_child,
    forget_reach,
    reach_children,
    reached,
    take_pause,
)
from .turns import Totals, leave_turn
from .unknown_effects import effect_as_written, note_unknown, settle
from .utterances import UTTERANCE, record_due, record_utterances
from .wakes import add_event, wake
