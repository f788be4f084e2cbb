"""The regions of the pages: one context function each, which feeds page, fragment and push.

A region is a partial of a template with the same name as the id of its element. What it shows
depends on the page's reads and on roles, never on the person or the request, so one rendering
serves every socket of a rights class and is byte for byte what the page holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.template.loader import render_to_string
from django.utils.module_loading import import_string

from checkpoints.errors import NotFound
from dashboard.wire.topics import KINDS, Topic

from .served import Roles

log = structlog.get_logger("gatepost.regions")


class Page(Protocol):
    """The reads of a page; `seq` numbers the look, `mark` differs when there is more to see."""

    topic: str

    @property
    def seq(self) -> int: ...

    @property
    def mark(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page: its template, what it needs to know.

    `by_roles` says that it differs with the reader's roles; a `personal` one differs with the
    person and is fetched by their page, never pushed. `key` gives a value that is the same
    only while the region is, for those that are dear to render.
    """

    template: str
    context: Callable[[Any, Roles], dict[str, Any]]
    by_roles: bool = False
    key: Callable[[Any], Hashable] | None = None
    personal: bool = False


@dataclass(frozen=True, slots=True)
class LiveTopic:
    """A kind of topic: its regions, and its canonical page (no filter, the newest checkpoint).

    `resolve` finds a topic in its workspace, with the thread it belongs to, and raises NotFound.
    `by_clock` says that its looks are numbered by a clock: what two of them show is alike where
    their marks are.
    `marks` reads the marks of several in one statement; without it each page is asked for its own.
    """

    regions: Mapping[str, Region]
    page: Callable[[Topic], Page]
    resolve: Callable[[Topic], Topic] | None = None
    marks: Callable[[Sequence[Topic]], Mapping[Topic, Any]] | None = None
    by_clock: bool = False


@cache
def live_topics() -> Mapping[str, LiveTopic]:
    """{kind: topic}, which the settings name as they name the URLs: pages are imported late."""
    topics: Mapping[str, LiveTopic] = import_string(settings.LIVE_TOPICS)
    return topics


@cache
def regions() -> Mapping[str, Region]:
    """{name: region} of all kinds of topics."""
    return {name: one for topic in live_topics().values() for name, one in topic.regions.items()}


@cache
def topic_of(name: str) -> str:
    """The kind of topic that a region belongs to; empty where there is no such region."""
    return next((kind for kind, topic in live_topics().items() if name in topic.regions), "")


@cache
def of_topic(kind: str) -> frozenset[str]:
    """The regions that follow topics of this kind and can be pushed."""
    topic = live_topics().get(kind)
    every = topic.regions.items() if topic else ()
    return frozenset(name for name, region in every if not region.personal)


def context(page: Page, template: str, roles: Roles) -> dict[str, Any]:
    """The context of the whole page: the contexts of all its regions in one flat dict."""
    results: dict[str, Any] = {}
    for region in regions().values():
        if region.template == template:
            results |= region.context(page, roles)
    return results


def render(page: Page, name: str, roles: Roles) -> str:
    """One region as HTML."""
    region = regions()[name]
    return render_to_string(f"{region.template}#{name}", region.context(page, roles))


Memo = dict[str, tuple[Hashable, str]]


def render_for(
    page: Page, wanted: Mapping[Roles, frozenset[str]], memo: Memo
) -> dict[Roles, dict[str, str]]:
    """Regions for several sets of roles, each rendered once; `memo` keeps dear ones between looks.

    Only for pages without a filter, whose looks follow each other. A region that cannot be rendered
    is left out: the others are as good as without it.
    """
    shared: dict[str, str | None] = {}
    results: dict[Roles, dict[str, str]] = {}
    for roles, names in wanted.items():
        results[roles] = {}
        for name in sorted(names):
            if regions()[name].by_roles:
                html = _attempted(page, name, roles, memo)
            else:
                if name not in shared:
                    shared[name] = _attempted(page, name, roles, memo)
                html = shared[name]
            if html is not None:
                results[roles][name] = html
    return results


def _attempted(page: Page, name: str, roles: Roles, memo: Memo) -> str | None:
    try:
        return _remembered(page, name, roles, memo)
    except (DatabaseError, InterfaceError):
        raise  # nothing at all can be read
    except Exception:
        log.exception("region.failed", region=name, topic=topic_name(page))
        return None


def _remembered(page: Page, name: str, roles: Roles, memo: Memo) -> str:
    key = regions()[name].key
    if key is None:
        return render(page, name, roles)
    now = key(page)
    known = memo.get(name)
    if known is None or known[0] != now:
        known = (now, render(page, name, roles))
        if not getattr(page, "passing", False):
            memo[name] = known
    return known[1]


def resolve(topic: Topic) -> Topic:
    """The topic as its workspace has it, with the thread it belongs to; raises NotFound."""
    resolve = live_topics()[topic.kind].resolve
    return topic if resolve is None else resolve(topic)


def topic_name(page: Page) -> str:
    """The name of the topic that a page follows."""
    ref = getattr(page, "id", None)
    return page.topic if ref is None else f"{page.topic}:{ref}"


def page_of(topic: Topic) -> Page:
    """The canonical page of a topic: no filter, the newest checkpoint."""
    if KINDS[topic.kind] and topic.ref is None:
        raise NotFound(f"There is no topic {topic.name}.")
    return live_topics()[topic.kind].page(topic)


def marks(topics: Iterable[Topic]) -> Mapping[Topic, Any]:
    """The mark of each topic; one statement for all threads, one for each of the others."""
    results: dict[Topic, Any] = {}
    together: dict[Callable[..., Mapping[Topic, Any]], list[Topic]] = defaultdict(list)
    for topic in topics:
        if read := live_topics()[topic.kind].marks:
            together[read].append(topic)
        elif not KINDS[topic.kind] or topic.ref is not None:
            results[topic] = page_of(topic).mark
    for read, many in together.items():
        results.update(read(many))
    return results
