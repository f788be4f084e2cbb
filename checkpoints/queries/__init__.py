"""The only reader for upper floors: frozen dataclasses from short, indexed statements.

Lists page by keyset written as a row comparison, never by OFFSET.
"""

from ..selections import ANYWHERE, Selection, TreeFilter
from .activities import (
    UnsettledEffect,
    activities,
    activities_after,
    activities_until,
    activity,
    activity_under,
    effects_after,
    effects_before,
    has_faulty_keys,
    next_step_asked,
    step_activities,
    unpriced_calls,
    unsettled_effects,
    unsettled_query,
)
from .anatomy.around import calls_around, config_at, lease_before, packages_of, thoughts_before
from .anatomy.items import SentRow, added_items, sent_items
from .anatomy.outputs import (
    CALLS_READ,
    EntryRow,
    OutputRow,
    RecordedRow,
    entered_before,
    newest_before,
    outputs_before,
    recorded_at,
)
from .anatomy.places import ValuePlace, places_at
from .code_questions import asking_alike, code_questions
from .conversations.numbered import (
    idle_numbered,
    newest_numbered,
    threads_in_doubt,
    threads_past_lease,
)
from .erasures.rules import any_active as any_retention_rule
from .event_log import (
    COUNTED,
    SEARCHED,
    changes_of,
    event_kinds,
    event_of_checkpoint,
    events,
    events_after,
    has_stored,
    not_taken,
    pause_reason,
    recent_events,
    recorded_thoughts,
    steps_since_outside,
    waiting_inputs,
    waiting_signals,
)
from .hot_streams import HotStreamRow, hot_stream
from .installation.backlog import (
    ExternalWork,
    Unworked,
    clock_steps,
    duties_held,
    duty,
    expired_leases,
    external_work,
    folders_due,
    late_folders,
    late_sleepers,
    late_wakes,
    queues,
    rows_set_aside,
    status_facts,
    unworked,
    version_threads,
)
from .installation.board import BoardLook, board_look
from .installation.breakers import (
    BreakerThreads,
    Touched,
    breaker,
    breaker_progress,
    breakers,
    touched,
)
from .installation.export import (
    activity_rows,
    agent_version_row,
    agent_versions_of,
    artifact_row,
    checkpoint_row,
    checkpoint_rows,
    cursor_rows,
    event_rows,
    exported_rows,
    imports,
    imports_of,
    inputs_waiting,
    thread_row,
)
from .installation.faults import (
    Lease,
    LostSteps,
    failures,
    held_off,
    held_off_longest,
    lease,
    leases_of,
    losses,
    lost_steps,
)
from .installation.fleet import (
    Member,
    agent,
    agent_version,
    agent_versions,
    agents,
    artifact,
    code_of_version,
    default_workspace,
    hot_agents,
    known_files,
    may_lose_seconds,
    member,
    memberships,
    same_code,
    workers,
)
from .installation.hot_lag import AgentLag, agent_lags, lag_alarm_seconds, late_threads
from .installation.live_code import WORKER_ALIVE_SECONDS, serving, takeable
from .installation.model_configurations import config_of, deployed_config
from .installation.queue_positions import queue_position
from .installation.server import DURABILITY, GUARDS, clock, refuses, server, triggers
from .installation.stuck import StuckThread, stuck_counts, stuck_threads
from .installation.suspended import suspended
from .installation.workspaces import (
    creators_of,
    login_begun,
    only_member_of,
    people_of,
    roles_in,
    second_factor_rules,
    workspace_events,
)
from .overview.budgets import (
    BudgetRow,
    BudgetStanding,
    ReachedBudget,
    budget,
    budget_standings,
    budgeted_workspaces,
    budgets,
    has_stop_budget,
)
from .overview.figures import FigureRow, LoadRow, figures, load
from .participants import hands_on
from .past import (
    accepted_from,
    branch_ranges,
    checkpoint,
    checkpoint_by_number,
    checkpoints,
    checkpoints_from,
    deltas_from,
    diff,
    edited_since,
    lineage,
    newest_of_branch,
    newest_sound,
    state_at,
    steps_before,
    upgraded_from,
    values_set,
)
from .proof import (
    damaged_from,
    damages,
    head,
    heads,
    integrity,
    ownerless_pages,
    threads_to_verify,
    verification,
    verifications,
    workspace_of_rows,
    workspace_verification,
    workspaces_damaged_from,
)
from .remembered import (
    HITS_RANKED,
    MemorySelection,
    Reach,
    Viewer,
    expired_memories,
    former_texts,
    memories,
    memories_named,
    memories_of_threads,
    memory,
    memory_item,
    memory_item_namespaces,
    memory_items,
    places,
    recall,
    remembered_after,
    search_memories,
    texts_at,
)
from .repeated_effects import Range, at_place, branches_to_head, settled
from .reuse import PURE, RECORDS_OF_A_STEP, reusable, touched_after
from .savings import fleet_saved, saved
from .search.bounded import SHOWN_MAX, bounded_counts
from .search.counts import COUNT_CAP, LOOK, children_beside, counts
from .search.language import FILTERS, InvalidQuery, Query, Term
from .search.language import parse as parse_query
from .search.state_values import checked_query
from .search.stuck import StuckCounts
from .storage import storage
from .threads import (
    DEPTH_MAX,
    LIST_LOOK,
    MOVING,
    STANDSTILL_SECONDS,
    families_of,
    forks_of,
    ids_beginning,
    ids_named,
    in_workspace,
    lanes,
    thread,
    thread_mark,
    thread_marks,
    thread_named,
    threads,
    titles,
    titles_in,
)
from .tree.below import named_by, next_below, threads_below
from .tree.children import (
    ChildRow,
    below,
    child_rows,
    parents,
    place_of,
    started_after,
    states_at,
    tree_costs,
)
from .tree.families import FIRST, Family, FanOut, Relative, awaited, family, family_mark
from .undo import checkpoint_before, effects_left, effects_of, undo_failures, undone_last
from .vectors import (
    ChangedRow,
    Progress,
    StoredRow,
    WaitingText,
    changed_vectors,
    oldest_open_transaction,
    unsent_count,
    unsent_vectors,
    vector_bytes,
    vector_page,
    vector_progress,
    vector_revisions,
    vectors_named,
    waiting_texts,
)
