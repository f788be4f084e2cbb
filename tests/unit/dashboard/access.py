"""What waits for a second admin, confirmed as whoever runs the installation does it."""

from __future__ import annotations

from dashboard.people.accounts.access_changes import confirm_access_change, list_access_changes
from tests.support.cast import Cast


def confirm_waiting(cast: Cast) -> int:
    """Confirm each change of access that waits in the default workspace; how many."""
    admin = cast.actor("admin")
    waiting = [row for row in list_access_changes(admin) if row.state == "waiting"]
    for row in reversed(waiting):
        confirm_access_change(admin, row.id)
    return len(waiting)
