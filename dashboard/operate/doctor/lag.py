"""Check for lag: migrations, the sweep, queues, leases, timers, deadlines, disk, clocks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from approvals import queries as gates
from checkpoints import queries
from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.states import Status
from dashboard.operate import migration_history
from dashboard.wording.text import size, span
from gatepost_command import COMMAND

from .findings import Finding, Seen, note, ok, warning, wrong

MEGABYTE = 1_000_000
DISK_WARNING, DISK_WRONG = 2_000 * MEGABYTE, 500 * MEGABYTE
QUEUE_WARNING, QUEUE_WRONG = 60.0, 600.0
CLOCK_WARNING, CLOCK_WRONG = 1.0, 10.0
CLOCK_STEP_REPORTED = 86_400.0
# Twice round the sweep, and time for a slot to be free.
LATE = 30.0
# The worker that left a thread had its time, and so had the next who looked.
FOLDER_LATE = 90.0
ROWS_NAMED = 5


def migrations(seen: Seen) -> Iterator[Finding]:
    """Tables and code are of the same age."""
    if absent := migration_history.missing_former(connection):
        seen.has.add("tables")
        named = migration_history.describe_missing(absent)
        yield wrong("migrations", named, migration_history.describe_way())
        return
    loader = MigrationLoader(connection)
    applied = loader.applied_migrations
    missing = sorted(".".join(key) for key in loader.graph.nodes if key not in applied)
    ours = {label for label, _ in loader.disk_migrations}
    known = {*loader.disk_migrations}
    for migration in loader.disk_migrations.values():
        known.update(migration.replaces)
    unknown = [".".join(key) for key in applied if key[0] in ours and key not in known]
    if not missing or "gp_duty" in connection.introspection.table_names():
        seen.has.add("tables")
    if missing:
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" * (len(missing) > 3))
        yield wrong("migrations", f"missing: {shown}", f"Call `{COMMAND} migrate`.")
    if unknown:
        yield wrong(
            "migrations",
            f"the database knows {', '.join(unknown[:3])}, this code does not",
            "Install the newer code here: the tables have moved on.",
        )
    if not (missing or unknown):
        yield ok("migrations", "all applied")


def records(seen: Seen) -> Iterator[Finding]:
    """Nothing in the record was altered, as far as verifications have found."""
    result = queries.damages(limit=5)
    integrity = queries.integrity()
    for one in result:
        yield wrong(
            "records",
            f"{one.of} {one.id} is damaged: {one.what}",
            f"Found {one.found_at:%Y-%m-%d %H:%M:%S} UTC. Keep the database as it is, call "
            f"`{COMMAND} verify` and compare with your anchor and backup.",
        )
    if integrity.damaged > len(result):
        yield wrong("records", f"{integrity.damaged:,} in all", f"Call `{COMMAND} verify`.")
    if integrity.completed_at is None:
        yield note("records", "not verified as a whole yet", f"Call `{COMMAND} verify`.")
    elif not result:
        ago = (datetime.now(UTC) - integrity.completed_at).total_seconds()
        yield ok("records", f"{integrity.n_verified:,} events verified {span(ago)} ago")


def sweep(seen: Seen) -> Iterator[Finding]:
    """One worker makes lost messages harmless."""
    duty = queries.duty("sweep")
    if duty is None:
        if seen.workers:
            yield warning("sweep", "no sweep yet", "Try again in a few seconds.")
        else:
            yield note("sweep", "no sweep yet", "A worker begins with it when it starts.")
    elif duty.overdue_seconds > LATE:
        yield wrong(
            "sweep",
            f"not for {span(duty.overdue_seconds)}; last by {duty.owner}",
            "Start a worker; if one works, its log says why it does not sweep.",
        )
    else:
        yield ok("sweep", f"by {duty.owner}")


def queue_age(seen: Seen) -> Iterator[Finding]:
    """Judge how long queued threads wait for a slot."""
    result = [row for row in queries.queues() if row.queue != EXTERNAL_QUEUE]
    for row in result:
        shown = f"{row.threads} threads, the first for {span(row.oldest_seconds)}"
        do = "More slots: `up --workers N`, or more workers; `doctor THREAD` explains one."
        name = f"queue {row.queue} waits"
        if row.oldest_seconds > QUEUE_WRONG:
            yield wrong(name, shown, do)
        elif row.oldest_seconds > QUEUE_WARNING:
            yield warning(name, shown, do)
        else:
            yield ok(name, shown)
    if not result:
        yield ok("queues wait", "no thread is queued")


def leases(seen: Seen) -> Iterator[Finding]:
    """Threads of lost workers continue elsewhere."""
    late = queries.expired_leases(seconds=LATE)
    if late.count:
        yield wrong(
            "expired leases",
            f"{late.count}, the first for {span(late.seconds)}: nobody took over",
            "Start a worker that has their agents; `threads list --status running` shows them.",
        )
    else:
        yield ok("expired leases", "none")


def timers(seen: Seen) -> Iterator[Finding]:
    """Sleepers wake, news arrives."""
    asleep, wakes = queries.late_sleepers(seconds=LATE), queries.late_wakes(seconds=LATE)
    if asleep.count:
        yield wrong(
            "sleeping threads",
            f"{asleep.count} past their time, the first by {span(asleep.seconds)}",
            "Start a worker: its sweep wakes them.",
        )
    if wakes.count:
        yield wrong(
            "news for threads",
            f"{wakes.count} undelivered, the first for {span(wakes.seconds)}",
            "Start a worker: its sweep delivers them.",
        )
    if not (asleep.count or wakes.count):
        yield ok("timers and news", "none is late")


def rows_set_aside(seen: Seen) -> Iterator[Finding]:
    """No due row fails again and again; one that does keeps no other waiting."""
    result = queries.rows_set_aside(limit=ROWS_NAMED + 1)
    for row in result[:ROWS_NAMED]:
        where = f"thread {row.thread}" if row.thread else "no thread"
        times = "once" if row.attempts == 1 else f"{row.attempts} times"
        yield warning(
            f"sweep: {row.part}",
            f"{row.row} of {where} failed {times} in {span(row.seconds)}: {row.error}",
            "The worker's log (`sweep.row_set_aside`) has the traceback; it is tried again by "
            "itself, and all other rows continue.",
        )
    if len(result) > ROWS_NAMED:
        yield warning("sweep", "more rows are set aside", "See the table gp_set_aside.")
    if not result:
        yield ok("rows set aside", "none")


def folders(seen: Seen) -> Iterator[Finding]:
    """The folder of a thread on `file` follows its newest checkpoint."""
    late = queries.late_folders(seconds=FOLDER_LATE)
    if late.count:
        many = "1 folder waits" if late.count == 1 else f"{late.count} folders wait"
        yield warning(
            "folders of threads",
            f"{many} to be written, the first for {span(late.seconds)}",
            "Make the storage of files reachable and writable and let a worker run; its log "
            "(`folder.waits`) says what stands in the way.",
        )
    else:
        yield ok("folders of threads", "none waits to be written")


def deadlines(seen: Seen) -> Iterator[Finding]:
    """Requests past their deadline expire."""
    count = gates.overdue(seconds=LATE)
    if count:
        yield wrong(
            "overdue requests",
            f"{count} past their deadline",
            "Start a worker: its sweep ends them.",
        )
    else:
        yield ok("overdue requests", "none")


def attention(seen: Seen) -> Iterator[Finding]:
    """Threads that wait for a person because something is not right."""
    counted = queries.version_threads().values()
    number = sum(by_status.get(Status.ATTENTION, 0) for by_status in counted)
    if number:
        shown = "1 thread" if number == 1 else f"{number} threads"
        yield note("attention", shown, "Look: `threads list --stuck`, then `doctor THREAD`.")
    else:
        yield ok("attention", "no thread")


def disk(seen: Seen) -> Iterator[Finding]:
    """Room for what is to come."""
    folders = {"data folder": seen.data}
    if not seen.own_database:
        folders["database folder"] = settings.PLACES.postgres
    payload = set()
    for name, folder in folders.items():
        try:
            usage, device = shutil.disk_usage(folder), folder.stat().st_dev
        except OSError:
            continue
        if device in payload:
            continue
        payload.add(device)
        shown = f"{size(usage.free)} of {size(usage.total)} free"
        do = f"Make room on the disk of {folder}: PostgreSQL stops when it is full."
        if usage.free < DISK_WRONG:
            yield wrong(f"disk of the {name}", shown, do)
        elif usage.free < DISK_WARNING:
            yield warning(f"disk of the {name}", shown, do)
        else:
            yield ok(f"disk of the {name}", shown)


def clock(seen: Seen) -> Iterator[Finding]:
    """Only the database's clock counts, but links and logs of this host show its own."""
    steps = queries.clock_steps(seconds=CLOCK_STEP_REPORTED)[:1] if "tables" in seen.has else []
    if not steps and (ahead := seen.server_start_ahead) > 0:
        yield warning(
            "clock of the database",
            f"went back by {span(ahead)} or more since PostgreSQL started; no worker noticed when",
            "Set it by NTP that slews, and start a worker: it puts leases and sleepers right.",
        )
    for step in steps:
        yield warning(
            "clock of the database",
            f"went back by {span(step.by)}, {span(step.ago)} ago",
            "Set it by NTP that slews. Leases and signs of life were put right; threads that "
            "slept and deadlines that ran before then end that much later.",
        )
    off = abs(seen.clock_off)
    shown = f"{span(off)} {'ahead of' if seen.clock_off > 0 else 'behind'} the database's"
    do = "Set the clocks by NTP."
    if off > CLOCK_WRONG:
        yield wrong("clock of this host", shown, do)
    elif off > CLOCK_WARNING:
        yield warning("clock of this host", shown, do)
    else:
        yield ok("clock of this host", shown)
