"""Statistics as between a load and the next ANALYZE, and the rows that are read under them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.unit.checkpoints.builders import rows


def forget_statistics() -> None:
    """Let the planner take each of our tables for a nearly empty one, in this transaction."""
    rows("UPDATE pg_class SET reltuples = 0, relpages = 5000 WHERE relname ~ '^gp_'")


def rows_read(tables: Sequence[str]) -> dict[str, int]:
    """{table: rows that this transaction has fetched of it}."""
    return dict(
        rows(
            "SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) "
            "FROM pg_stat_xact_user_tables WHERE relname = ANY(%s)",
            ([*tables],),
        )
    )
