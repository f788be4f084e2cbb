"""The statement that needs each index: a page or a function of the product sends it.

A unique index is needed for its constraint; all others are named here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from approvals import gates, records
from approvals.figures import figures
from approvals.inbox import boxes, reviewers
from approvals.incidents.sweep import sweep_incidents
from approvals.notify import due_deliveries, endpoints, fan_out, stuck_threads
from approvals.notify import queries as notify
from approvals.policies import preview
from approvals.records import requests, threads
from approvals.records.questions import Question
from benchmarks.inbox import SPREAD, multiply
from checkpoints import leases, queries, store
from checkpoints.models import Budget
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.queries.history import asked, passages
from checkpoints.queries.overview import figures as overview
from checkpoints.records import Work
from checkpoints.store.erasure import carrying_out, files
from checkpoints.store.history_index import ERASED_PART
from checkpoints.store.tree import ends
from dashboard.identity.sign_ins import records as sign_ins
from dashboard.kit.api import idempotency
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import make_agent, one, rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.board.overview.fleets import fill

THREADS, REQUESTS, DELIVERIES, CHILDREN, MEMORIES = 2_000, 5_000, 2_000, 1_000, 5_000
OWNER = "worker:1:boot"
NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Filled:
    """A workspace with thousands of threads, calls, requests, decisions, deliveries, memories."""

    cast: Cast
    thread: UUID
    request: UUID
    open: UUID  # another request
    endpoint: UUID
    work: Work
    root: Any

    @property
    def workspace(self) -> UUID:
        return self.cast.workspace


def filled(cast: Cast) -> Filled:
    """Fill the tables whose statements are planned by how much there is."""
    thread = fill(cast, threads=THREADS)
    wanted = endpoints.Wanted(name="Team", target="https://example.org/1")
    endpoint, _ = endpoints.make(cast.workspace, "webhook", wanted, actor="user:1")
    rows(
        "INSERT INTO gp_delivery (id, workspace_id, endpoint_id, news_id, kind, recipient, "
        "webhook_id, attempts, code, error, skipped, next_at, done_at, failed_at, claim, "
        "claimed_until) SELECT gen_random_uuid(), %s::uuid, %s::uuid, gen_random_uuid(), "
        "'approval.requested', 'r' || n %% 50, 'w' || n, 1, NULL, CASE n %% 97 WHEN 0 THEN 'gone' "
        "ELSE '' END, '', now(), CASE WHEN n %% 20 > 0 THEN now() - n * interval '1 minute' END, "
        "CASE WHEN n %% 100 = 0 THEN now() END, "
        "CASE WHEN n %% 500 = 20 THEN gen_random_uuid() END, "
        "CASE WHEN n %% 500 = 20 THEN now() END FROM generate_series(1, %s) n",
        (cast.workspace, endpoint, DELIVERIES),
    )
    rows(
        "INSERT INTO gp_child (child_id, workspace_id, parent, fan_out, ordinal, hold, awaited) "
        "SELECT gen_random_uuid(), %s::uuid, md5((n %% 10)::text)::uuid, "
        "md5((n %% 20)::text)::uuid, n, CASE WHEN n %% 2 = 0 THEN 'held' ELSE '' END, "
        "CASE WHEN n %% 3 = 0 THEN 1 END FROM generate_series(1, %s) n",
        (cast.workspace, CHILDREN),
    )
    # Past triggers: only what the planner sees matters here.
    rows("SET LOCAL session_replication_role = replica")
    rows(
        "UPDATE gp_approval SET status = 'pending', outcome = '', due_seats = '{*}' WHERE id = "
        "(SELECT id FROM gp_approval WHERE thread_id <> %s LIMIT 1)",
        (thread,),
    )
    waiting = one("SELECT id FROM gp_approval WHERE status = 'pending'")
    seats = {
        "due_seats": "ARRAY[CASE WHEN mod(n, 500) = 0 THEN 'user:ada' ELSE 'team:finance' END]"
    }
    multiply(connection.connection, "gp_approval", waiting, SPREAD | seats, REQUESTS)
    rows(
        "INSERT INTO gp_stuck (thread_id, workspace_id, agent, node, rule, since, reason, "
        "status_since) SELECT id, workspace_id, agent, 'publish', 'node', now(), '', status_since "
        "FROM gp_thread"
    )
    rows(
        "INSERT INTO gp_incident_thread (incident_id, subject_id, workspace_id, kind, reason, "
        "since, left_at) SELECT md5((n %% 10)::text)::uuid, gen_random_uuid(), %s::uuid, "
        "'thread.failed', '', now(), CASE WHEN n %% 50 > 0 THEN now() END "
        "FROM generate_series(1, %s) n",
        (cast.workspace, CHILDREN),
    )
    rows(
        "INSERT INTO gp_memory (id, workspace_id, scope, owner, kind, text, metadata, salt, "
        "outside, source, author, thread_id, expires_at) SELECT gen_random_uuid(), %s::uuid, "
        "'agent', 'agent-' || n %% 50, 'fact', 'remembered' || n, CASE WHEN n %% 3 = 0 THEN "
        "jsonb_build_object('$item', jsonb_build_object('namespace', 'm', 'key', n::text)) "
        "ELSE '{}' END, '', false, 'person', "
        "'user:1', CASE WHEN n %% 5 = 0 THEN gen_random_uuid() END, "
        "CASE WHEN n %% 50 = 0 THEN now() END FROM generate_series(1, %s) n",
        (cast.workspace, MEMORIES),
    )
    rows(
        "INSERT INTO gp_memory_vector (memory_id, workspace_id, model, xid, stored_in) "
        "SELECT id, workspace_id, CASE WHEN expires_at IS NULL THEN 'a' ELSE '' END, "
        "row_number() OVER (), CASE WHEN thread_id IS NULL THEN 'a' ELSE '' END FROM gp_memory"
    )
    _add_retries(thread)
    rows("SET LOCAL session_replication_role = DEFAULT")
    rows("ANALYZE gp_event, gp_delivery, gp_child, gp_approval, gp_stuck, gp_incident_thread")
    rows("ANALYZE gp_memory")
    rows("ANALYZE gp_memory_vector")
    make_agent("searching", channels={"order": {"reducer": "last_value", "searchable": True}})
    Budget.objects.create(
        workspace_id=cast.workspace, scope="workspace", max_tokens=1, at_full="stop"
    )
    root = get_user_model().objects.create_superuser("root", password="root")
    browser = Client()
    browser.force_login(root, "dashboard.identity.backends.Passwords")
    return Filled(
        cast,
        thread,
        one("SELECT id FROM gp_approval WHERE thread_id = %s", (thread,)),
        waiting,
        endpoint,
        scene.lease(scene.start(cast.workspace, scene.make_agent("agent-0"))),
        browser,
    )


def _add_retries(thread: UUID) -> None:
    """Events of a kind that the overview adds up: without some its plan is any of two."""
    columns = one(
        "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute "
        "WHERE attrelid = 'gp_event'::regclass AND attnum > 0 AND NOT attisdropped "
        "AND attgenerated = '' AND attname NOT IN ('seq', 'kind', 'at')"
    )
    rows(
        f"INSERT INTO gp_event (seq, kind, at, {columns}) SELECT e.seq + 1000000 + n, "
        f"'thread.retried', now() - n * interval '1 hour', {columns} "
        "FROM (SELECT * FROM gp_event WHERE thread_id = %s::uuid LIMIT 1) e, "
        "generate_series(1, %s) n",
        (thread, CHILDREN),
    )


type Statement = Callable[[Filled], object]


def like(**values: Any) -> Any:
    """A row of which a function reads these columns."""
    return SimpleNamespace(**values)


def page(address: str, who: str = "operator") -> Statement:
    """A page or a call of the API by somebody; `address` may name a field of Filled."""

    def load(there: Filled) -> None:
        client = there.root if who == "root" else there.cast.client(who)
        answer = client.get(address.format(there=there))
        assert answer.status_code == 200, (address, answer.content[:300])

    return load


def record(**fields: Any) -> Statement:
    """A search of the record."""
    return lambda there: records.answer(Question(there.workspace, **fields))


def inbox(box: str, sort: str = "risk", person: str = "") -> Statement:
    """A box of the inbox in an order, of everybody or of one person."""
    who = boxes.Person(f"user:{person}", person) if person else None
    return lambda there: boxes.page(boxes.Wanted(there.workspace, box, sort, who))


def no_values(send: Callable[..., object], *args: Any, **named: Any) -> Statement:
    """A function that the sweep or the sender calls."""
    return lambda _: send(*args, **named)


def held_child(there: Filled) -> None:
    """Let a child begin for one that has ended."""
    ended = one("SELECT child_id FROM gp_child WHERE hold = '' LIMIT 1")
    rows(
        "INSERT INTO gp_wake (thread_id, kind, ref) VALUES (%s, 'freed', %s)", (there.thread, ended)
    )
    ends._release_next(there.thread, OWNER)


BOARD = page("/?status=waiting")
OVERVIEW = page("/overview/?period=7d")
ENDPOINTS = page("/api/v1/endpoints/", "admin")
REQUEST = page("/approvals/{there.request}/", "manager")
INCIDENTS = no_values(sweep_incidents)
STUCK = no_values(stuck_threads.announce_stuck_threads)


def calls_of_a_day(there: Filled) -> None:
    """The calls of a day alone: another statement of the overview reads the same index."""
    now = datetime.now(UTC)
    params = {"workspace": there.workspace, "low": now - timedelta(days=1), "high": now}
    fetch_named(overview.SQL.calls, params)


STATEMENTS: Mapping[str, Statement] = {
    # Threads: lists, the sweep, slots that look for work.
    "gp_thread_agent": page("/?agent=agent-1&status=failed"),
    "gp_thread_agent_version_id_e1807815": page("/?framework=LangGraph"),
    "gp_thread_board": BOARD,
    "gp_thread_children": BOARD,
    "gp_thread_created": OVERVIEW,
    "gp_thread_erasure": lambda _: carrying_out._threads_left(NOBODY),
    "gp_thread_forks": page("/threads/{there.thread}/"),
    "gp_thread_labels": page("/?q=label:team=team-1"),
    "gp_thread_queue": no_values(store.stranded_threads, queued_for_seconds=2),
    "gp_thread_searchable": page("/?q=state.order:7"),
    "gp_thread_since": page("/?children=1"),
    "gp_thread_terms": page("/?q=nobody"),
    "gp_thread_top": page("/"),
    "gp_thread_tree": page("/?root={there.thread}"),
    "gp_thread_moved_up": lambda _: leases.next_queued("gatepost", after=UUID(int=1)),
    "gp_thread_turn": lambda _: leases.next_queued("gatepost", after=UUID(int=1)),
    "gp_thread_wake": no_values(store.wake_sleepers, owner=OWNER),
    "gp_wake_due": no_values(store.deliver_due, actor=OWNER),
    "gp_child_awaited": lambda there: store.await_children(there.work, [[uuid4()]]),
    "gp_child_held": held_child,
    "gp_stuck_node": page("/?q=has:stuck"),
    "gp_verification_damaged": BOARD,
    # What happened once.
    "gp_activity_effects": lambda there: preview.against_the_past(there.workspace, "tool == 'x'"),
    "gp_activity_open": lambda there: store.cancel(there.thread, actor="user:1"),
    "gp_activity_payee": lambda there: threads.threads_naming("acme", workspace=there.workspace),
    "gp_activity_usage": calls_of_a_day,
    "gp_activity_unpriced": lambda there: queries.unpriced_calls(like(id=there.thread, tokens=1)),
    # Memory.
    "gp_memory_expiry": no_values(store.forget_expired_memories, actor=OWNER),
    "gp_memory_item": lambda there: queries.memory_item(
        "m", "k", workspace=there.workspace, scope="agent", owner="agent-1"
    ),
    "gp_memory_newest": page("/memories/"),
    "gp_memory_owner": lambda there: queries.memories_of_threads(
        [there.thread], workspace=there.workspace
    ),
    "gp_memory_search": page("/memories/?q=nobody"),
    "gp_memory_thread": lambda there: queries.remembered_after(there.thread, branch=0, step=1),
    "gp_memory_vector_feed": lambda there: queries.changed_vectors(
        there.workspace, "a", since=10**9
    ),
    "gp_memory_vector_model": lambda _: queries.waiting_texts("a", limit=32),
    "gp_memory_vector_store": lambda _: queries.unsent_vectors("a", "a", limit=500),
    # The index of the history, and questions about it.
    "gp_indexed_event_words": lambda there: passages.find(
        ["nobody"], passages.Scope(there.workspace), limit=10
    ),
    "gp_record_question_newest": lambda there: asked.newest_questions(
        there.workspace, by="", limit=10
    ),
    "gp_record_question_threads": lambda there: rows(ERASED_PART.erase, (there.thread,)),
    # The log.
    "gp_event_decisions": record(kinds=("approval.decided",)),
    "gp_event_failed_undo": lambda there: queries.undo_failures(there.thread),
    "gp_event_feed": page("/admin/checkpoints/event/", "root"),
    "gp_event_notable": record(),
    "gp_event_rare": BOARD,
    "gp_event_resumed": OVERVIEW,
    "gp_event_turns": OVERVIEW,
    "gp_event_verdicts": record(decision="reject"),
    "gp_workspace_event_login": lambda _: queries.login_begun(NOBODY, 1),
    # Requests and decisions.
    "gp_approval_alike": lambda there: boxes.page(boxes.Wanted(there.workspace, alike=there.open)),
    "gp_approval_all": lambda there: preview.against_the_past(there.workspace, "tool == 'x'"),
    "gp_approval_by_due": inbox("open", "deadline"),
    "gp_approval_by_risk": inbox("open", "risk"),
    "gp_approval_by_turn": inbox("mine", "risk", "ada"),
    "gp_approval_done": inbox("done"),
    "gp_approval_due": no_values(gates.expire_due),
    "gp_approval_held": no_values(gates.settle_due),
    "gp_approval_open": inbox("open", "age"),
    "gp_approval_payee": lambda there: threads.threads_naming("acme", workspace=there.workspace),
    "gp_approval_reminds": no_values(gates.remind_due),
    "gp_approval_uncounted": no_values(gates.tally_due),
    "gp_decision_approval_id_e48aef5c": REQUEST,
    "gp_decision_payee": lambda there: threads.threads_naming("acme", workspace=there.workspace),
    "gp_decision_person": lambda there: reviewers.habit(there.workspace, "user:99"),
    "gp_decision_recent": page("/approvals/?box=mine", "manager"),
    "gp_decision_verdicts": no_values(figures),
    "gp_deputy_acts": page("/approvals/?box=mine", "manager"),
    "gp_policy_order": page("/api/v1/policies/", "admin"),
    # Notifications.
    "gp_delivery_claim": lambda _: due_deliveries.note_done(like(id=NOBODY, deliveries=())),
    "gp_delivery_error": ENDPOINTS,
    "gp_delivery_failed": ENDPOINTS,
    "gp_delivery_newest": lambda there: notify.deliveries(
        there.endpoint, workspace=there.workspace
    ),
    "gp_delivery_open": no_values(due_deliveries.claim),
    "gp_delivery_place": page("/admin/approvals/delivery/?workspace_id={there.workspace}", "root"),
    "gp_delivery_sent": lambda there: due_deliveries._held(there.endpoint, "r1", [], minutes=5),
    "gp_outbox_open": no_values(fan_out.spread),
    "gp_outbox_thread": STUCK,
    "outbox_incident": no_values(due_deliveries.claim),
    "outbox_of_request": lambda there: requests.notices_of(
        there.request, workspace=there.workspace
    ),
    "gp_push_device_person": page("/subscriptions/"),
    # Incidents.
    "gp_incident_affected": INCIDENTS,
    "gp_incident_list": page("/incidents/"),
    "gp_incident_newest": INCIDENTS,
    "gp_incident_since": INCIDENTS,
    "gp_incident_subject": INCIDENTS,
    "gp_subscription_place": INCIDENTS,
    # Breakers, budgets, holds, erasures.
    "gp_breaker_newest": BOARD,
    "gp_breaker_open": INCIDENTS,
    "gp_erased_erasure": lambda there: carrying_out._finish(
        like(id=NOBODY, workspace=there.workspace)
    ),
    "gp_erasure_file_erasure": lambda _: files.count_removed(NOBODY),
    "gp_erasure_newest": page("/erasures/", "admin"),
    "gp_erasure_open": no_values(store.carry_on_erasures),
    "gp_hold_newest": page("/api/v1/holds/", "admin"),
    # People, workers, calls.
    "gp_access_change_waits": page("/api/v1/access-changes/", "admin"),
    "gp_idempotency_age": no_values(idempotency.sweep),
    "gp_membership_user_id_f5efddb7": BOARD,
    "gp_sign_in_session_key_9fe9dd32": lambda _: sign_ins.seen(like(session_key=uuid4().hex)),
    "gp_sign_in_user_id_9d1414d9": page("/account/sign-ins/"),
    "gp_passkey_user_id_df14de3c": lambda _: get_user_model().objects.create_user("gone").delete(),
    "gp_subscription_endpoint_id_03ccd907": page("/subscriptions/"),
    "gp_subscription_escalate_to_id_17342d76": page("/subscriptions/"),
    "gp_token_user_id_5bdd51ed": page("/api/v1/tokens/", "admin"),
    "gp_worker_started": page("/admin/checkpoints/worker/", "root"),
}
