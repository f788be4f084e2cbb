"""What narrows a list of threads, as SQL on `gp_thread th`: one rule for page, API and selections.

A term of the query language becomes a condition that an index answers, or one on rows of the
workspace that an index has in the order of the list: no table is read as a whole. `few` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from ...agent_versions import OURS
from ...state import deltas
from ...states import Status
from .language import Term, amount_of, parse, seconds_of
from .selections import Selection, TreeFilter
from .state_values import state_condition
from .stuck import STUCK_IDS
from .words import id_range, split, word_query

type Condition = tuple[str, list[Any]]


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
_WITH_LABELS = "th.labels <> '{}'::jsonb AND "
_LABELLED = f"({_WITH_LABELS}th.labels @> jsonb_build_object(%s::text, %s::text))"
_PAIR = "label="  # no name of the language: a label by its name and its value
_FAMILY = {"fork", "parent"}
_OPEN = [str(s) for s in Status if s not in (Status.SUCCEEDED, Status.CANCELLED)]


def filters(
    workspace: UUID, selection: Selection, *, common: Collection[Term] = ()
) -> tuple[list[str], list[Any]]:
    """Conditions on th.* and their parameters, for all of a selection but its statuses.

    No index is used for terms that are `common`. Raises InvalidQuery for a query that is not
    understood.
    """
    for name in ("agent", "framework", "name"):
        deltas.check(getattr(selection, name), name)
    where, params = _in_tree(selection.tree)
    if selection.name:
        where.append("th.name = %s::varchar")
        params.append(selection.name)
    if selection.framework:
        where.append(f"th.agent_version_id = ANY(ARRAY({_OF_FRAMEWORK}))")
        params += [selection.framework, selection.framework]
    terms = parse(selection.q).terms
    if selection.agent:
        terms = (Term("agent", (selection.agent,)), *terms)
    if selection.damaged:
        terms = (*terms, Term("has", ("damage",)))
    if selection.label:
        terms = (*terms, label_term(selection.label))
    for term in terms:
        text, values = _condition(term, workspace)
        # A condition on a column without a value is neither true nor false.
        where.append(f"NOT coalesce({text}, false)" if term.negated else text)
        if term in common:
            where[-1] = walked(where[-1])
        params += values
    return where, params


def label_term(label: tuple[str, str]) -> Term:
    """The term of a label, whatever signs its name has."""
    deltas.check(list(label), "label")
    return Term(_PAIR, label)


def walked(condition: str) -> str:
    """Write a condition for rows that another index finds.

    Of a CASE the planner believes that half of all rows have it: it walks on in the order of the
    list, and never reads the table as a whole to sort what is left of it.
    """
    return f"CASE WHEN {condition} THEN true ELSE false END"


def is_indexed(term: Term) -> bool:
    """Tell whether an index has the threads of a term, though in no order of a list."""
    if term.negated:
        return False
    return (
        term.name in ("label", _PAIR)
        or bool(term.path)
        or (term.name == "" and bool(split(term.values[0])))
        or (term.name == "has" and set(term.values) <= _FAMILY)
    )


def indexed(term: Term, workspace: UUID, *, bare: bool = False) -> Condition:
    """Write the condition of such a term that its index answers.

    `bare` is for the planner, which knows how many rows have a word, and not its beginning; a
    label, and not that those with labels are a part of all.
    """
    if term.name == "":
        return _begins(term.values[0], whole=bare)
    text, params = _condition(term, workspace)
    return (text.replace(_WITH_LABELS, "") if bare else text), params


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


def _condition(term: Term, workspace: UUID) -> Condition:
    if term.path:
        return state_condition(term.path, term.values)
    return _CONDITIONS[term.name](term.values, workspace)


def _any(conditions: Sequence[Condition]) -> Condition:
    texts = [text for text, _ in conditions]
    params = [value for _, values in conditions for value in values]
    return (texts[0] if len(texts) == 1 else f"({' OR '.join(texts)})"), params


def _status(values: Sequence[str], workspace: UUID) -> Condition:
    if len(values) == 1:  # an index has the threads of one status in order
        return "th.status = %s::text", list(values)
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
        return f"({_WITH_LABELS}th.labels ? %s::text)", [key]

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
    """Titles with a text at the beginning of a word, ids that begin or end with it.

    A text without a word, such as %, is compared with each title.
    """
    (text,) = values
    escaped = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    condition = "(strpos(lower(th.title), lower(%s::text)) > 0 OR th.id::text LIKE %s::text)"
    params = [text, f"%{escaped}%"]
    if not split(text):
        return condition, params
    begins, values = _begins(text)
    return f"({condition} AND {begins})", [*params, *values]


def _begins(text: str, *, whole: bool = False) -> Condition:
    """Titles with all words of a text, of which the last may go on; ids that begin with it."""
    condition = "gp_thread_words(th.title, th.id) @@ lower(%s::text)::tsquery"
    params: list[Any] = [word_query(text, whole=whole)]
    if ids := id_range(text):
        return f"({condition} OR th.id BETWEEN %s::uuid AND %s::uuid)", [*params, *ids]
    return condition, params


_CONDITIONS: Final[Mapping[str, Callable[[Sequence[str], UUID], Condition]]] = {
    "status": _status,
    "agent": _agent,
    "node": _node,
    "stuck": _stuck,
    "age": _age,
    "idle": _idle,
    "cost": _cost,
    "label": _label,
    _PAIR: lambda values, workspace: (_LABELLED, list(values)),
    "has": _has,
    "": _text,
}
