"""The start of the PostgreSQL server, as the waits of the fleet read it."""

from __future__ import annotations

from typing import Final

# SQL: the server has been up for at least %s seconds. A start that lies in the future was long
# ago: the clock stepped back since. Without that nobody would take over a thread until the clock
# has caught up.
UP_FOR: Final = (
    "pg_postmaster_start_time() NOT BETWEEN "
    "clock_timestamp() - make_interval(secs => %s) AND clock_timestamp()"
)
