"""What narrows a list of threads, as SQL on `gp_thread th`: one rule for page, API and selections.

A term of the query language becomes a condition that an index answers, or one on rows of the
workspace that an index has in the order of the list: no list is sorted, no table read as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ...agent_versions import OURS
from ...state import deltas
from ...states import Status
from .language import Term, amount_of, parse, seconds_of
from .stuck import STUCK_IDS

type Condition = tuple[str, list[Any]]


@dataclass(frozen=True, slots=True)
class TreeFilter:
    """A place in family trees: whose children, whose tree (with its first), how far below it.

    `top`: threads that no other thread started, and children only where they are in attention.
    `held`: children that begin when others end, or all but these.
    """

    parent: UUID | None = None
    root: UUID | None = None
    depth: int | None = None
    top: bool = False
    held: bool | None = None

    def __bool__(self) -> bool:
        return self.parent is not None or self.root is not None or self.depth is not None


ANYWHERE: Final = TreeFilter()
# As the index gp_thread_top has it.
TOP: Final = "(th.parent IS NULL OR th.status = 'attention')"
# Few versions beside many threads: read once.
_OF_FRAMEWORK = (
    "SELECT v.id FROM gp_agent_version v WHERE CASE WHEN v.graph -> 'external' IS NULL "
    f"THEN %s::text = '{OURS}' ELSE v.graph -> 'external' ->> 'framework' = %s::text END"
)
# Only children are held, and an index knows those.
_HELD = "(th.status = 'waiting' AND th.waiting_on ->> 'kind' = 'limit' AND th.parent IS NOT NULL)"
# Few, and known by an index: never a reason to look at every thread.
_DAMAGED = "th.id = ANY(ARRAY(SELECT k.thread_id FROM gp_verification k WHERE NOT k.intact))"
_FOR_OTHERS = "coalesce(th.waiting_on ->> 'kind' IN ('children', 'limit'), false)"
# Read once, so that an index can be asked for it.
_AGO = "(SELECT clock_timestamp() - make_interval(secs => %s::float8))"
# The index leaves out threads without labels.
_LABELLED = "(th.labels <> '{}'::jsonb AND th.labels @> jsonb_build_object(%s::text, %s::text))"
_OPEN = [str(s) for s in Status if s not in (Status.SUCCEEDED, Status.CANCELLED)]


def filters(
    workspace: UUID,
    *,
    agent: str = "",
    framework: str = "",
    q: str = "",
    damaged: bool = False,
    label: tuple[str, str] | None = None,
    tree: TreeFilter = ANYWHERE,
) -> tuple[list[str], list[Any]]:
    """Conditions on th.* and their parameters.

    For an agent's name, a framework (OURS: agents of ours), a query, a damaged record, a label, a
    place in a family tree. Raises InvalidQuery for a query that is not understood.
    """
    deltas.check(agent, "agent")
    deltas.check(framework, "framework")
    where, params = _in_tree(tree)
    if framework:
        where.append(f"th.agent_version_id = ANY(ARRAY({_OF_FRAMEWORK}))")
        params += [framework, framework]
    terms = parse(q).terms
    if agent:
        terms = (Term("agent", (agent,)), *terms)
    if damaged:
        terms = (*terms, Term("has", ("damage",)))
    if label:
        deltas.check(list(label), "label")
        where.append(_LABELLED)
        params += label
    for term in terms:
        text, values = _CONDITIONS[term.name](term.values, workspace)
        # A condition on a column without a value is neither true nor false.
        where.append(f"NOT coalesce({text}, false)" if term.negated else text)
        params += values
    return where, params


def _in_tree(tree: TreeFilter) -> tuple[list[str], list[Any]]:
    """Conditions on th.* for a place in a family tree."""
    where: list[str] = []
    params: list[Any] = []
    if tree.parent is not None:
        where.append("th.parent = %s::uuid")
        params.append(tree.parent)
    if tree.root is not None:
        where.append("(th.root = %s::uuid OR th.id = %s::uuid)")
        params += [tree.root, tree.root]
    if tree.depth is not None:
        where.append("th.depth = %s::smallint")
        params.append(tree.depth)
        if tree.depth and tree.parent is None:
            # An index knows all children; those of one depth are among them.
            where.append("th.parent IS NOT NULL")
    if tree.top:
        where.append(TOP)
    if tree.held is not None:
        where.append(_HELD if tree.held else f"NOT coalesce({_HELD}, false)")
    return where, params


def _any(conditions: Sequence[Condition]) -> Condition:
    texts = [text for text, _ in conditions]
    params = [value for _, values in conditions for value in values]
    return (texts[0] if len(texts) == 1 else f"({' OR '.join(texts)})"), params


def _status(values: Sequence[str], workspace: UUID) -> Condition:
    return "th.status = ANY(%s::text[])", [list(values)]


def _agent(values: Sequence[str], workspace: UUID) -> Condition:
    if len(values) == 1:  # an index has the threads of one agent in order
        return "th.agent = %s::text", list(values)
    return "th.agent = ANY(%s::text[])", [list(values)]


def _node(values: Sequence[str], workspace: UUID) -> Condition:
    return (
        "(th.status = ANY(%s::text[]) AND th.next_nodes ?| %s::text[])",
        [_OPEN, list(values)],
    )


def _stuck(values: Sequence[str], workspace: UUID) -> Condition:
    return f"th.id = ANY(ARRAY({STUCK_IDS} AND k.node = ANY(%s::text[])))", [
        workspace,
        workspace,
        list(values),
    ]


def _age(values: Sequence[str], workspace: UUID) -> Condition:
    def one(value: str) -> Condition:
        sign, seconds = seconds_of(value)
        if sign == ">":
            return f"th.created_at < {_AGO}", [seconds]
        # A status is never older than its thread, and an index knows how old it is.
        return f"(th.status_since > {_AGO} AND th.created_at > {_AGO})", [seconds, seconds]

    return _any([one(value) for value in values])


def _idle(values: Sequence[str], workspace: UUID) -> Condition:
    def one(value: str) -> Condition:
        sign, seconds = seconds_of(value)
        if sign == "<":
            return f"greatest(th.last_at, th.status_since) > {_AGO}", [seconds]
        return f"(th.status_since < {_AGO} AND th.last_at < {_AGO})", [seconds, seconds]

    return _any([one(value) for value in values])


def _cost(values: Sequence[str], workspace: UUID) -> Condition:
    amounts = [amount_of(value) for value in values]
    return _any([(f"th.cost {sign} %s::numeric", [amount]) for sign, amount in amounts])


def _label(values: Sequence[str], workspace: UUID) -> Condition:
    def one(value: str) -> Condition:
        key, equals, text = value.partition("=")
        if equals:
            return _LABELLED, [key, text]
        return "(th.labels <> '{}'::jsonb AND th.labels ? %s::text)", [key]

    return _any([one(value) for value in values])


def _has(values: Sequence[str], workspace: UUID) -> Condition:
    known: dict[str, Condition] = {
        "stuck": (f"th.id = ANY(ARRAY({STUCK_IDS}))", [workspace, workspace]),
        "error": ("th.status = ANY(ARRAY['failed', 'attention'])", []),
        "approval": (f"(th.status = 'waiting' AND NOT {_FOR_OTHERS})", []),
        "fork": ("th.forked_from IS NOT NULL", []),
        "parent": ("th.parent IS NOT NULL", []),
        "damage": (_DAMAGED, []),
    }
    return _any([known[value] for value in values])


def _text(values: Sequence[str], workspace: UUID) -> Condition:
    (text,) = values
    escaped = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return (
        "(strpos(lower(th.title), lower(%s::text)) > 0 OR th.id::text LIKE %s::text)",
        [text, f"%{escaped}%"],
    )


_CONDITIONS: Final[Mapping[str, Callable[[Sequence[str], UUID], Condition]]] = {
    "status": _status,
    "agent": _agent,
    "node": _node,
    "stuck": _stuck,
    "age": _age,
    "idle": _idle,
    "cost": _cost,
    "label": _label,
    "has": _has,
    "": _text,
}
