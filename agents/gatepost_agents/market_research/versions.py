"""The forms that the state of this agent has had, and the way from each to the next; pure.

1: as first published.
2: `ignore_columns` is called `ignore`, as the form has always shown it.
3: `totals` counts the rows read, kept and dropped; before, one had to know where in `summary`.

A step is never changed again once its version was published: states of it may lie anywhere.
"""

from typing import Any

from gatepost import Upgrades

upgrades = Upgrades()


@upgrades.step(1)
def ignore(state: dict[str, Any]) -> dict[str, Any]:
    """The channel's new name."""
    return {"ignore" if name == "ignore_columns" else name: state[name] for name in state}


@upgrades.step(2)
def totals(state: dict[str, Any]) -> dict[str, Any]:
    """Add the counts of cleaning; empty before the table is clean."""
    summary = state.get("summary") or {}
    if not summary:
        return {**state, "totals": {}}
    rows, rows_out = summary["rows_in"], summary["rows_out"]
    return {**state, "totals": {"rows": rows, "kept": rows_out, "dropped": rows - rows_out}}
