"""What narrows a list of threads, as SQL on `gp_thread th`: one rule for page, API and selections.

A term of the query language becomes a condition that an index answers, or one on rows of the
workspace that an index has in the order of the list: no table is read as a whole. `few` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from ...selections import Selection, TreeFilter, conditions
from ...state import deltas
from ...states import Status
from .frameworks import WRITTEN_IN, agents_written_in
from .language import Term, amount_of, day_of, parse, seconds_of
from .starters import people_named
from .state_values import state_condition
from .stuck import STUCK_IDS
from .words import id_range, split, word_query

type Condition = tuple[str, list[Any]]


# As the index gp_thread_top has it.
TOP: Final = "(th.parent IS NULL OR th.status = 'attention')"
# Only children are held, and an index knows those.
_HELD = "(th.status = 'waiting' AND th.waiting_on ->> 'kind' = 'limit' AND th.parent IS NOT NULL)"
# Few, and known by an index: never a reason to look at every thread.
_DAMAGED = "th.id = ANY(ARRAY(SELECT k.thread_id FROM gp_verification k WHERE NOT k.intact))"
_FOR_OTHERS = "coalesce(th.waiting_on ->> 'kind' IN ('children', 'limit'), false)"
# Few versions beside many threads: read once.
_OF_VERSIONS = (
    f" AND th.agent_version_id = ANY(ARRAY(SELECT v.id FROM gp_agent_version v WHERE {WRITTEN_IN}))"
)
# Read once, so that an index can be asked for it.
_AGO = "(SELECT clock_timestamp() - make_interval(secs => %s::float8))"
# The index leaves out threads without labels.
_WITH_LABELS = "th.labels <> '{}'::jsonb AND "
_LABELLED = f"({_WITH_LABELS}th.labels @> jsonb_build_object(%s::text, %s::text))"
_FAILING = "th.status = ANY(ARRAY['failed', 'attention'])"
# As the index gp_thread_terms has them.
_TEXTS = "gp_thread_texts(th.title, th.agent, th.labels, th.status, th.status_reason)"
_TERMS = (
    "gp_thread_terms"
    "(th.title, th.id, th.agent, th.labels, th.status, th.status_reason, th.started_by)"
)
_PAIR = "label="  # no name of the language: a label by its name and its value
_FRAMEWORK = "framework="  # nor this: agents written in it
# Values of has: whose threads an index knows.
_INDEXED_VALUES = {"fork", "parent", "stuck", "damage"}
_INDEXED_FIELDS = {"parent", "root", "name"}
_OPEN = [str(s) for s in Status if s not in (Status.SUCCEEDED, Status.CANCELLED)]


@dataclass(slots=True)
class Conditions:
    """Conditions on th.* with their parameters: all of a selection but its statuses.

    `ordered` are those that an index has in the order of lists. `is_walked`: the others are true or
    not of one thread after the other, and no index finds those of which they are.
    """

    where: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)
    ordered: list[str] = field(default_factory=list)
    ordered_params: list[Any] = field(default_factory=list)
    has_index: bool = False
    has_others: bool = False

    @property
    def is_walked(self) -> bool:
        """True if a list without a limit could look at every thread."""
        return self.has_others and not self.has_index

    def add(self, text: str, values: Sequence[Any] = ()) -> None:
        """Take one more."""
        self.where.append(text)
        self.params += values

    def add_ordered(self, text: str, values: Sequence[Any] = ()) -> None:
        """Take one more that an index has in the order of lists."""
        self.ordered.append(text)
        self.ordered_params += values


def filters(
    workspace: UUID, selection: Selection, *, common: Collection[Term] = ()
) -> tuple[list[str], list[Any]]:
    """Conditions on th.* and their parameters, for all of a selection but its statuses.

    No index is used for terms that are `common`. Raises InvalidQuery for a query that is not
    understood.
    """
    made = conditions_of(workspace, selection, common=common)
    return made.where, made.params


def conditions_of(
    workspace: UUID, selection: Selection, *, common: Collection[Term] = ()
) -> Conditions:
    """The same with what an index can do for a list."""
    made = Conditions()
    _add_tree(made, selection.tree)
    for name, value, sql in (*conditions(selection.tree), *conditions(selection)):
        if isinstance(value, str):
            deltas.check(value, name)
        if sql:
            made.add(sql, [value] * sql.count("%s"))
            made.has_index |= name in _INDEXED_FIELDS or (name == "depth" and value > 0)
            made.has_others = True
    terms = parse(selection.q).terms
    if selection.agent:
        terms = (Term("agent", (selection.agent,)), *terms)
    if selection.damaged:
        terms = (*terms, Term("has", ("damage",)))
    for term in (*terms, *terms_of_fields(selection)):
        _add_term(made, term, workspace, is_common=term in common)
    return made


def _add_tree(made: Conditions, tree: TreeFilter) -> None:
    """Conditions for a place in a family tree, beside those of its fields."""
    if tree.depth and tree.parent is None:
        # An index knows all children; those of one depth are among them.
        made.add("th.parent IS NOT NULL")
    if tree.top:
        made.add(TOP)
        made.add_ordered(TOP)
    if tree.held is not None:
        made.add(_HELD if tree.held else f"NOT coalesce({_HELD}, false)")
        made.has_index |= tree.held


def _add_term(made: Conditions, term: Term, workspace: UUID, *, is_common: bool) -> None:
    signed = _signed_in_order if is_common else _signed
    text, values = _any([signed(one, workspace) for one in term.alternatives])
    made.add(walked(text) if is_common else text, values)
    if is_common and term.name == "error" and not term.others:
        made.add(_FAILING)  # else the lanes of all other statuses are walked
    is_one = len(term.values) == 1 and not term.negated and not term.others
    if is_one and term.name in ("agent", "status"):
        made.add_ordered(text, values)
    elif not is_common and is_indexed(term):
        made.has_index = True
    elif term.others or term.name != "status":
        made.has_others = True
    if is_one and (bound := _oldest_status(term)):
        made.add_ordered(*bound)


def _oldest_status(term: Term) -> Condition | None:
    """The status of threads of a term is younger than this: None where it can have any age."""
    (value,) = term.values
    if term.name == "age" and (ago := seconds_of(value))[0] == "<":
        return f"th.status_since > {_AGO}", [ago[1]]
    if term.name == "since":
        return "th.status_since >= %s::timestamptz", [day_of(value)]
    return None


def terms_of_fields(selection: Selection) -> Iterator[Term]:
    """The terms of fields whose threads an index has, though in no order: label and framework."""
    if selection.label:
        deltas.check(list(selection.label), "label")
        yield Term(_PAIR, selection.label)
    if selection.framework:
        deltas.check(selection.framework, "framework")
        yield Term(_FRAMEWORK, (selection.framework,))


def walked(condition: str) -> str:
    """Write a condition for rows that another index finds.

    Of a CASE the planner believes that half of all rows have it: it walks on in the order of the
    list, and never reads the table as a whole to sort what is left of it.
    """
    return f"CASE WHEN {condition} THEN true ELSE false END"


def is_indexed(term: Term) -> bool:
    """Return whether an index has the threads of a term, though in no order of a list."""
    return all(map(_is_indexed, term.alternatives))


def _is_indexed(term: Term) -> bool:
    if term.negated:
        return False
    return (
        term.name in ("label", _PAIR, _FRAMEWORK, "by")
        or bool(term.path)
        or (term.name in ("", "error") and all(map(split, term.values)))
        or term.name == "stuck"
        or (term.name == "has" and set(term.values) <= _INDEXED_VALUES)
    )


def indexed(term: Term, workspace: UUID, *, bare: bool = False) -> Condition:
    """Write the condition of such a term that its index answers.

    `bare` is for the planner, which knows how many rows have a word, and not its beginning; a
    label, and not that those with labels are a part of all.
    """
    return _any([_indexed(one, workspace, bare=bare) for one in term.alternatives])


def _indexed(term: Term, workspace: UUID, *, bare: bool) -> Condition:
    if term.name == "":
        return _begins(term.values[0], whole=bare)
    if term.name == "error":
        return _any([_has_words(value, whole=bare) for value in term.values])
    if term.name == _FRAMEWORK and bare:
        return "th.agent = ANY(%s::text[])", [agents_written_in(term.values[0])]
    text, params = _condition(term, workspace)
    return (text.replace(_WITH_LABELS, "") if bare else text), params


def _signed_in_order(term: Term, workspace: UUID) -> Condition:
    """The same for rows that another index finds: the words of titles alone are tried first."""
    text, params = _signed(term, workspace)
    if term.name or term.negated or not split(term.values[0]):
        return text, params
    (value,) = term.values
    title = (
        "(strpos(lower(th.title), lower(%s::text)) > 0 "
        "AND gp_thread_words(th.title, th.id) @@ lower(%s::text)::tsquery)"
    )
    return f"({title} OR {text})", [value, word_query(value), *params]


def _signed(term: Term, workspace: UUID) -> Condition:
    text, params = _condition(term, workspace)
    # A condition on a column without a value is neither true nor false.
    return (f"NOT coalesce({text}, false)" if term.negated else text), params


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


def _framework(values: Sequence[str], workspace: UUID) -> Condition:
    """Threads of agents written in it, which an index has; then by their versions."""
    (framework,) = values
    names = agents_written_in(framework)
    return f"(th.agent = ANY(%s::text[]){_OF_VERSIONS})", [names, framework, framework]


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


def _since(values: Sequence[str], workspace: UUID) -> Condition:
    # A status is never older than its thread, and an index knows how old it is.
    one = "(th.status_since >= %s::timestamptz AND th.created_at >= %s::timestamptz)"
    return _any([(one, [day_of(value), day_of(value)]) for value in values])


def _before(values: Sequence[str], workspace: UUID) -> Condition:
    return _any([("th.created_at < %s::timestamptz", [day_of(value)]) for value in values])


def _by(values: Sequence[str], workspace: UUID) -> Condition:
    """Threads that these people started, by the word that the index has for each of them."""
    words = [f"'by {person}'" for value in values for person in people_named(value)]
    return f"{_TERMS} @@ %s::tsquery", [" | ".join(words) or "'by nobody'"]


def _error(values: Sequence[str], workspace: UUID) -> Condition:
    """Threads that failed or need a person, with a text in the error's first 500 characters."""

    def one(value: str) -> Condition:
        text = "strpos(lower(left(th.status_reason, 500)), lower(%s::text)) > 0"
        if not split(value):
            return text, [value]
        words, params = _has_words(value)
        return f"({text} AND {words})", [value, *params]

    text, params = _any([one(value) for value in values])
    return f"({_FAILING} AND {text})", params


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
        "error": (_FAILING, []),
        "approval": (f"(th.status = 'waiting' AND NOT {_FOR_OTHERS})", []),
        "fork": ("th.forked_from IS NOT NULL", []),
        "parent": ("th.parent IS NOT NULL", []),
        "damage": (_DAMAGED, []),
    }
    return _any([known[value] for value in values])


def _text(values: Sequence[str], workspace: UUID) -> Condition:
    """Threads with a text at the beginning of a word, ids that begin or end with it.

    It is looked for in titles, agents, values of labels and errors. A text without a word, such as
    %, is compared with each of them.
    """
    (text,) = values
    escaped = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    condition = f"(strpos(lower({_TEXTS}), lower(%s::text)) > 0 OR th.id::text LIKE %s::text)"
    params = [text, f"%{escaped}%"]
    if not split(text):
        return condition, params
    begins, values = _begins(text)
    return f"({condition} AND {begins})", [*params, *values]


def _begins(text: str, *, whole: bool = False) -> Condition:
    """Threads with all words of a text, of which the last may continue; ids that begin with it."""
    condition, params = _has_words(text, whole=whole)
    if ids := id_range(text):
        return f"({condition} OR th.id BETWEEN %s::uuid AND %s::uuid)", [*params, *ids]
    return condition, params


def _has_words(text: str, *, whole: bool = False) -> Condition:
    return f"{_TERMS} @@ lower(%s::text)::tsquery", [word_query(text, whole=whole)]


_CONDITIONS: Final[Mapping[str, Callable[[Sequence[str], UUID], Condition]]] = {
    "status": _status,
    "agent": _agent,
    "node": _node,
    "stuck": _stuck,
    "age": _age,
    "idle": _idle,
    "since": _since,
    "before": _before,
    "by": _by,
    "error": _error,
    "cost": _cost,
    "label": _label,
    _FRAMEWORK: _framework,
    _PAIR: lambda values, workspace: (_LABELLED, list(values)),
    "has": _has,
    "": _text,
}
