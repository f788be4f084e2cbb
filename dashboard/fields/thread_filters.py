"""What narrows the list of threads: on the board, in calls, commands, breakers and saved views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from checkpoints.limits import AGENT_MAX, NAME_MAX
from checkpoints.queries import DEPTH_MAX, Selection, TreeFilter
from checkpoints.states import Status
from dashboard.fields import filters
from dashboard.fields.filters import CALL, COMMAND, FLAG, ID, PAGE, PAIR, QUERY, TOOL, Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFilter(Filter):
    """A filter of threads; its condition is the field of its name in `checkpoints.selections`.

    Its label begins its chip on the board. `phrase` continues “No thread”, {} is the value.
    `stopped` continues “all threads” for a breaker; without it no breaker selects by the filter.
    """

    phrase: str = ""
    stopped: str = ""


THREADS: Final = (
    ThreadFilter(
        name="status",
        kind=filters.some([*map(str, Status)], Status),
        help="One status or several, by commas.",
    ),
    ThreadFilter(
        name="agent",
        kind=filters.text(AGENT_MAX),
        help="Only threads of this agent.",
        phrase="with agent {}",
        stopped="of {}",
    ),
    ThreadFilter(
        name="framework",
        kind=filters.text(AGENT_MAX),
        help="Only agents written in this, as they say; `Gatepost`: those of this installation.",
        phrase="written in {}",
        stopped="written in {}",
    ),
    ThreadFilter(
        name="name",
        kind=filters.text(NAME_MAX),
        help="Only the thread of exactly this name; names are unique per agent.",
        endpoints=(CALL, COMMAND, TOOL),
    ),
    ThreadFilter(
        name="label",
        kind=PAIR,
        help="Only threads with this label.",
        endpoints=(CALL, COMMAND, TOOL),
    ),
    ThreadFilter(
        name="q",
        kind=QUERY,
        help="A query as on the board: `status:failed agent:payments age:>2h tea`.",
    ),
    ThreadFilter(
        name="stuck",
        kind=FLAG,
        help="Only threads that are stuck or need attention: `q=has:stuck`.",
        endpoints=(CALL, COMMAND, TOOL),
    ),
    ThreadFilter(
        name="parent",
        kind=ID,
        help="Only children of this thread.",
        label="Children of",
        phrase="among the children of “{}”",
        stopped="started by {}",
    ),
    ThreadFilter(
        name="root",
        kind=ID,
        help="Only the family tree of this thread, itself included.",
        label="Family tree of",
        phrase="in the family tree of “{}”",
        stopped="in the family tree of {}",
    ),
    ThreadFilter(
        name="depth",
        kind=filters.number(DEPTH_MAX),
        help="Only threads at this depth of their family tree; 0: no other thread started them.",
        label="Depth",
        phrase="at depth {}",
        stopped="at depth {}",
    ),
    ThreadFilter(
        name="damaged",
        kind=FLAG,
        help="Only threads with a damaged record.",
        label="Damaged records",
        phrase="has a damaged record",
        stopped="with a damaged record",
    ),
    ThreadFilter(
        name="children",
        kind=FLAG,
        help="Children too, which the board leaves out.",
        endpoints=(PAGE,),
        label="With children",
        phrase="(with children)",
    ),
    ThreadFilter(
        name="held",
        kind=FLAG,
        help="Only children that begin when others end.",
        endpoints=(PAGE,),
        label="Held children",
        phrase="(held children)",
    ),
)
_IN_TREE: Final = ("parent", "root", "depth")


def selection_of(values: Mapping[str, Any]) -> Selection:
    """The conditions of these values; which children a board leaves out is the board's."""
    chosen = {name: value for name, value in values.items() if name not in ("children", "held")}
    statuses = chosen.pop("status", ())
    if chosen.pop("stuck", False):
        chosen["q"] = f"{chosen.get('q', '')} has:stuck"
    tree = TreeFilter(**{name: chosen.pop(name) for name in _IN_TREE if name in chosen})
    return Selection(statuses=statuses, tree=tree, **chosen)


def selection_words(selection: Mapping[str, Any]) -> str:
    """Which threads a breaker stops, as it stands in a sentence: “all threads of payments”."""
    if not selection:
        return "all threads of the workspace"
    words = ["all threads"]
    for one in THREADS:
        if one.stopped and one.name in selection:
            value = str(selection[one.name])
            words.append(one.stopped.format(value[:8] if one.kind is ID else value))
        elif one.name == "label" and (labels := selection.get("labels")):
            words.append("labelled " + ", ".join(f"{k}:{v}" for k, v in labels.items()))
        elif one.name == "q" and "q" in selection:
            words.append(f"with “{selection['q']}” in their title or id")
    return " ".join(words)
