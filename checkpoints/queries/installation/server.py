"""The PostgreSQL server itself: version, settings, role, guards of the log tables, clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ...postgres.named_rows import fetch_named
from ..rows import rows

# Triggers by table: what keeps rows as they were written, and what writes news and marks. The
# floors above add their own.
GUARDS: Final[dict[str, tuple[str, ...]]] = {
    "gp_event": ("gp_event_row", "gp_event_erasure", "gp_event_table"),
    "gp_checkpoint": ("gp_checkpoint_row", "gp_checkpoint_erasure", "gp_checkpoint_table"),
    "gp_content": ("gp_content_row", "gp_content_erasure", "gp_content_table"),
    "gp_agent_version": ("gp_agent_version_row", "gp_agent_version_table"),
    "gp_agent_announcement": ("gp_agent_announcement_row", "gp_agent_announcement_table"),
    "gp_thread": (
        *("gp_thread_kept", "gp_thread_table", "gp_thread_transition"),
        *("gp_thread_news", "gp_child_ended", "gp_closed_base", "gp_figure_changed"),
    ),
    "gp_workspace": ("gp_workspace_kept", "gp_workspace_table"),
    "gp_workspace_event": ("gp_workspace_event_row", "gp_workspace_event_table"),
    "gp_erasure": ("gp_erasure_kept", "gp_erasure_table"),
    "gp_erased": ("gp_erased_row", "gp_erased_table"),
    "gp_anchor": ("gp_anchor_row", "gp_anchor_table"),
    "gp_anchor_stamp": ("gp_anchor_stamp_row", "gp_anchor_stamp_table"),
    "gp_hold": ("gp_hold_kept", "gp_hold_table"),
    "gp_memory": ("gp_memory_kept", "gp_memory_table"),
}
# The body of gp_refuse, in one line.
REFUSAL: Final = (
    "BEGIN RAISE EXCEPTION '% on % is refused: the log is append-only', TG_OP, TG_TABLE_NAME "
    "USING ERRCODE = 'insufficient_privilege'; END"
)
DURABILITY: Final = ("fsync", "full_page_writes", "synchronous_commit")


@dataclass(frozen=True, slots=True)
class ServerRow:
    """The server and this connection to it. `version` is 180006 for 18.6."""

    version: int
    role: str
    superuser: bool
    encrypted: bool
    socket: bool
    replica_role: bool
    now: datetime
    started_at: datetime
    settings: dict[str, str]

    @property
    def version_label(self) -> str:
        """18.6"""
        return f"{self.version // 10_000}.{self.version % 10_000}"


def server() -> ServerRow:
    """The server that answers this connection."""
    settings = dict(
        rows("SELECT name, setting FROM pg_settings WHERE name = ANY(%s::text[])", ([*DURABILITY],))
    )
    [row] = fetch_named(
        "SELECT current_setting('server_version_num')::integer AS version, current_user AS role, "
        "(SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser, "
        "coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted, "
        "inet_server_addr() IS NULL AS socket, "
        "current_setting('session_replication_role') = 'replica' AS replica_role, "
        "clock_timestamp() AS now, pg_postmaster_start_time() AS started_at"
    )
    return ServerRow(**row._asdict(), settings=settings)


def clock() -> float:
    """The database's clock, in seconds since 1970."""
    return float(rows("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0])


def refuses() -> bool:
    """True while the function behind the guards does nothing but refuse."""
    [(body,)] = rows("SELECT max(prosrc) FROM pg_proc WHERE oid = to_regproc('gp_refuse')")
    return body is not None and " ".join(body.split()) == REFUSAL


def triggers() -> dict[str, dict[str, bool]]:
    """{table: {trigger: whether it is switched on}} of the tables of this schema."""
    results: dict[str, dict[str, bool]] = {}
    for table, name, on in rows(
        "SELECT c.relname, t.tgname, t.tgenabled IN ('O', 'A') FROM pg_trigger t "
        "JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal "
        "AND c.relnamespace = current_schema()::regnamespace ORDER BY 1, 2"
    ):
        results.setdefault(table, {})[name] = on
    return results
