"""Read-only lists and pages of the admin site, made for tables that hold millions of rows.

The site itself stands on the top floor: who may read what, and how a value becomes HTML, is asked
of it (`ListSite`). Lists go along indexes and page by keyset, see `paging`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NoReturn, Protocol, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q, QuerySet
from django.forms import Media
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst

from .filters import Narrow
from .paging import COUNT_CAP, ROWS, WINDOW, BadCursor, Walk, read_page

# The beginning of an id as people copy it: eight digits or more, with or without hyphens.
_BEGUN = re.compile(r"[0-9a-f]{8,31}")
NOTHING = Q(pk__in=[])
TITLES = {"says": "what happened", "request_title": "approval"}  # of columns that no table has


class ListSite(Protocol):
    """The site, as these lists need it: who reads, what they may see, values as HTML."""

    def scope(self, request: HttpRequest) -> UUID | None:
        """The workspace whose rows a person may read; None for all."""

    def may_administer(self, request: HttpRequest) -> bool:
        """Answer True if a person may change users, roles and workspaces."""

    def actors_named(self, name: str) -> list[str]:
        """List the names under which logs know the user of that name."""

    def prepare(self, rows: Sequence[Any], actors: Iterable[str], threads: Iterable[UUID]) -> None:
        """Look up names of people and titles of threads for all rows of a page together."""

    def cell(self, row: Any, name: str) -> Any:
        """A column's value in a list, short."""

    def full(self, row: Any, name: str) -> Any:
        """A column's value on the page of its row, all of it."""

    def account(self, row: Any) -> Any:
        """Which participant created the account behind a decision, where that needs a look."""

    def sentence(self, row: Any) -> Any:
        """Describe an event in one sentence."""

    def marked(self, row: Any, value: Any) -> Any:
        """The first value of a row in a list, with a mark where its record is damaged."""

    def damage(self, row: Any) -> str:
        """Describe the damage of the record that a row is part of; empty where none is known."""

    def more_of(self, request: HttpRequest, row: Any) -> list[tuple[str, list[tuple[str, str]]]]:
        """(headline, (label, text) pairs) of what other floors know of a row; mostly nothing."""


class Logged:
    """For rows that are edited: the workspace's own log is the record of it, not Django's."""

    def log_addition(self, *_: Any, **__: Any) -> Any:
        """The event is the record."""

    log_change = log_deletions = log_addition

    def save_related(self, *_: Any, **__: Any) -> Any:
        """Nothing beside the row is saved."""

    def history_view(self, *_: Any, **__: Any) -> HttpResponse:
        """Redirect to the list of events."""
        return HttpResponseRedirect(reverse("admin:checkpoints_workspaceevent_changelist"))


class KeysetList(ChangeList):
    """A list that reads one page along an index; only its own filters and search narrow it."""

    def get_queryset(self, request: HttpRequest, *_: Any, **__: Any) -> QuerySet[Any]:
        records = cast(Records, self.model_admin)
        specs, self.has_filters, unknown, _more, self.has_active_filters = self.get_filters(request)
        if unknown:
            raise IncorrectLookupParameters
        self.filter_specs = specs
        equal: dict[str, Any] = {}
        condition = Q()
        for spec in cast(list[Narrow], specs):
            equal |= spec.equal()
            condition &= spec.condition()
        equal = records.in_scope(request, equal)
        begun, result = Q(), dict[str, Any]()
        if self.query:
            result, by_text, begun = records.search(request, self.query.strip(), equal)
            equal |= result
            condition &= by_text
        self.walk = records.walk(equal, begun=bool(begun))
        self.clear_all_filters_qs = "?"
        rows = records.model._default_manager.all()
        # What an index finds need not be looked for along the walk.
        along = {name: equal[name] for name in self.walk.equal} | result
        self.every = rows.filter(begun, **along)
        wanted: QuerySet[Any] = rows.filter(begun & condition, **equal)
        if records.joins:
            wanted = wanted.select_related(*records.joins)
        return wanted.only(*records.read_columns(self.walk))

    def get_results(self, request: HttpRequest) -> None:
        records = cast(Records, self.model_admin)
        cursor = request.GET.get(PAGE_VAR, "")
        try:
            page = read_page(
                self.every,
                self.queryset,
                self.walk,
                cursor,
                rows=records.list_per_page,
                window=records.window,
            )
        except BadCursor as error:
            raise IncorrectLookupParameters from error
        records.prepare(page.rows)
        self.row_page, self.first_page = page, not cursor
        self.count_cap, self.window = COUNT_CAP, records.window
        self.result_list = page.rows
        self.result_count, self.full_result_count = page.count, None
        self.show_full_result_count = self.show_admin_actions = False
        self.can_show_all = self.multi_page = False

    def get_ordering_field_columns(self) -> dict[int, Any]:
        return {}  # no column sorts: a list goes along its index

    def url_for_result(self, result: Any) -> str:
        return cast(Records, self.model_admin).url_of(result)


class Records(admin.ModelAdmin):  # type: ignore[type-arg]
    """Looks and never writes; the pages that do are named in `refusal`."""

    columns: tuple[str, ...] = ()
    walks: tuple[Walk, ...] = (Walk(("id",)),)
    key: tuple[str, ...] = ("id",)
    workspace_column = "workspace_id"  # empty where rows belong to no workspace
    filters: tuple[type[Narrow], ...] = ()
    search_ids: tuple[str, ...] = ("id",)
    search_exact: tuple[str, ...] = ()
    search_text: tuple[str, ...] = ()
    begun: str = "id"  # the column whose ids may be searched by their beginning; empty for none
    actors: tuple[str, ...] = ()
    thread_column = ""
    record = ""  # what leads to the thread or workspace whose record a row is part of
    joins: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # what else `columns` are made of
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (headline, columns); others come last
    never_shown: tuple[str, ...] = ()
    pages: tuple[tuple[str, str], ...] = ()  # (text, name of the address) of where rows are changed
    refusal = "Records are kept as they are: nothing is added, changed or deleted here."
    search_help_text = "An id or its beginning"
    window = WINDOW

    list_per_page = ROWS
    search_fields = ("pk",)
    actions = None
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    change_list_template = "records/list.html"

    @property
    def site(self) -> ListSite:
        """The site, as the part of it that this floor needs."""
        return cast(ListSite, self.admin_site)

    # --- what the list is made of ----------------------------------------------------------------
    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return KeysetList

    def get_list_display(self, request: HttpRequest) -> tuple[Callable[[Any], Any], ...]:
        return tuple(_Column(self, name) for name in self.columns)

    def get_list_filter(self, request: HttpRequest) -> tuple[type[Narrow], ...]:
        return self.filters

    def get_sortable_by(self, request: HttpRequest) -> tuple[str, ...]:
        return ()

    def in_scope(self, request: HttpRequest, equal: dict[str, Any]) -> dict[str, Any]:
        """The asked values and the person's workspace; 404 for somebody else's."""
        scope = self.site.scope(request) if self.workspace_column else None
        if scope is None:
            return equal
        if equal.get(self.workspace_column, scope) != scope:
            raise Http404
        return equal | {self.workspace_column: scope}

    def walk(self, equal: dict[str, Any], *, begun: bool) -> Walk:
        """The first walk whose equal columns are all asked for."""
        if begun:
            return next(w for w in self.walks if w.order[0] == self.begun and not w.equal)
        return next(w for w in self.walks if set(w.equal) <= set(equal))

    def read_columns(self, walk: Walk) -> set[str]:
        """The columns that a list needs; others may be megabytes."""
        known = {field.name: field for field in self.opts.concrete_fields}
        known |= {field.attname: field for field in self.opts.concrete_fields}
        wanted = (*self.columns, *self.needs, *self.key, *self.actors, *walk.order)
        own = {known[name].name for name in (*wanted, self.thread_column) if name in known}
        return own | {name for name in self.needs if "__" in name}

    def search(
        self, request: HttpRequest, text: str, equal: dict[str, Any]
    ) -> tuple[dict[str, Any], Q, Q]:
        """({column: value}, a condition, a range of ids) for what stands in the search box."""
        digits = text.lower().replace("-", "")
        if self.search_ids and re.fullmatch(r"[0-9a-f]{32}", digits):
            ident = UUID(digits)
            scope = {n: v for n, v in equal.items() if n == self.workspace_column}
            for column in self.search_ids:
                if self.model._default_manager.filter(**scope, **{column: ident}).exists():
                    return {column: ident}, Q(), Q()
            return {}, Q(**{self.search_ids[0]: ident}), Q()
        if self.begun and _BEGUN.fullmatch(digits):
            first, last = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
            between = {f"{self.begun}__gte": first, f"{self.begun}__lte": last}
            return {}, Q(), Q(**between)
        if "\0" in text:
            return {}, NOTHING, Q()
        condition = Q()
        for column in self.search_exact:
            condition |= Q(**{column: text})
        for column in self.search_text:
            condition |= Q(**{f"{column}__icontains": text})
        for actor in self.site.actors_named(text) if self.actors else ():
            for column in self.actors:
                condition |= Q(**{column: actor}) | Q(**{f"{column}__startswith": f"{actor}/"})
        return {}, condition or NOTHING, Q()

    def prepare(self, rows: Sequence[Any]) -> None:
        """Have names and titles looked up for these rows."""
        actors = {actor for row in rows for actor in self.actors_of(row)}
        threads = {getattr(row, self.thread_column) for row in rows if self.thread_column}
        for row in rows:
            row.part_of = (
                attrgetter(path)(row) if (path := self.record or self.thread_column) else None
            )
        self.site.prepare(rows, actors, threads - {None})

    def actors_of(self, row: Any) -> list[str]:
        """The actors that a row names."""
        return [str(getattr(row, name)) for name in self.actors]

    # --- one row ---------------------------------------------------------------------------------
    def url_of(self, row: Any) -> str:
        """The page of a row; a key of several columns is written with dots."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        return reverse(name, args=[quote(".".join(str(getattr(row, n)) for n in self.key))])

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        values = unquote(object_id).split(".")
        if len(self.key) == 1:
            values = [unquote(object_id)]
        if len(values) != len(self.key):
            return None
        rows = self.model._default_manager.filter(**self.in_scope(request, {}))
        try:
            return rows.filter(**dict(zip(self.key, values, strict=True))).first()
        except (ValueError, ValidationError, OverflowError):
            return None

    def related(self, row: Any) -> list[tuple[str, str]]:
        """(text, address) of what belongs to a row."""
        return [(text, reverse(name)) for text, name in self.pages]

    def acts(self, row: Any) -> list[tuple[str, str]]:
        """(text, address) of what can be done to a row, each by POST; hardly ever anything."""
        return []

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Everything that is known of one row."""
        self.only_look(request)
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        self.prepare([row])
        columns = [field.attname for field in self.opts.concrete_fields]
        names = [name for name in columns if name not in self.never_shown]
        grouped = {name for _, group in self.groups for name in group}
        rest = tuple(n for n in names if n not in grouped)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{capfirst(str(self.opts.verbose_name))} {self.name_of(row)}",
            "opts": self.opts,
            "list_url": f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist",
            "damage": self.site.damage(row),
            "related": self.related(row),
            "acts": self.acts(row) if self.site.may_administer(request) else [],
            "groups": [
                *self._values(row, self.groups),
                *self.site.more_of(request, row),
                *self._values(row, (("", rest),) if rest else ()),
            ],
        }
        return TemplateResponse(request, "records/detail.html", context)

    def _values(
        self, row: Any, groups: Iterable[tuple[str, tuple[str, ...]]]
    ) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        for headline, group in groups:
            yield headline, [(self.called(n), self.value_of(row, n)) for n in group]

    def name_of(self, row: Any) -> str:
        """The row's name in the headline of its page."""
        return ".".join(str(getattr(row, n))[-8:] for n in self.key)

    def value_of(self, row: Any, name: str) -> Any:
        """A column's full value, for the page of the row."""
        return self.site.full(row, name)

    def called(self, name: str) -> str:
        """The title of a column."""
        return TITLES.get(name, name.removesuffix("_id").replace("_", " "))

    # --- and nothing else ------------------------------------------------------------------------
    @property
    def media(self) -> Media:
        return Media()  # nothing here needs a script

    def only_look(self, request: HttpRequest) -> None:
        """Refuse whatever would change something, in words."""
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            self.refuse()

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise PermissionDenied(self.refusal)

    add_view = delete_view = history_view = refuse

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        self.only_look(request)
        return super().changelist_view(request, extra_context)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False


class _Column:
    """A column of a list, as the admin calls it for each row."""

    def __init__(self, records: Records, name: str) -> None:
        self.__name__ = name
        self.short_description = records.called(name)
        columns = {field.attname for field in records.opts.concrete_fields}
        self._marks = records.site.marked if name == records.columns[0] else None
        self._value: Callable[[Any], Any] = (
            partial(records.site.cell, name=name) if name in columns else getattr(records, name)
        )

    def __call__(self, row: Any) -> Any:
        value = self._value(row)
        return value if self._marks is None else self._marks(row, value)
