"""The output of `up --fleet`: links for the demo's people, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.operate.demo import demo

DOES = {
    "operator": "watches, starts, forks, rolls back",
    "manager": "approves",
    "manager2": "approves too: hand over, deputies, two of three",
    "manager3": "approves too",
    "auditor": "reads the records",
    "admin": "makes rules and budgets",
}
LOOK = (
    (
        "/",
        "the board: threads that need attention first, one stuck, an open incident, one running",
    ),
    ("/approvals/", "as manager: a report, a payment, a mail, a payment again, a rollback"),
    ("/incidents/", "three payments that failed for the same reason are one incident"),
    ("/overview/", "what the fleet did, and /overview/budgets/"),
    ("/admin/search/", "as auditor: who decided, about how much"),
)


def links(base: str) -> Iterator[tuple[str, str]]:
    """A row for each of the demo's people: a link that signs them in once."""
    for name in demo.PEOPLE:
        yield f"As {name}", f"{base}{demo.login_path(name)}   ({DOES[name]})"


def look_at(base: str) -> Iterator[tuple[str, str]]:
    """A row for each page that the fleet makes worth a look."""
    for number, (path, text) in enumerate(LOOK):
        yield "" if number else "Look at", f"{base}{path}   {text}"
    yield "", "docs/howto/tour.md walks it in five minutes"
