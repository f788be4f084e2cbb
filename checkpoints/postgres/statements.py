"""How the one statement reaches PostgreSQL: prepared once per connection, a plain libpq call each.

So do the few reads that stand between a decision and the next line. A step sends some thirty
values. Django's cursor and psycopg's look at each of them, at the text and at their own caches
again for every statement, which takes longer than the server's part beyond the raw INSERT. Who
watches statements (a log, a wrapper) gets the ordinary cursor, and so do a transaction and a pooler
that cannot keep prepared statements.
"""

from __future__ import annotations

import itertools
import select
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, Never
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import DataError, OperationalError, errors
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus

from ..limits import answer_seconds
from .socket_idle import is_quiet

type Formed = tuple[list[bytes | None], list[int]]
type Query = tuple[str, Sequence[Any]]
"""A statement with %s parameters, each with its cast, and their values."""

_TEXT, _BINARY = 0, 1
# The server's code for a statement that is not prepared (any more): nothing was done.
FORGOTTEN = b"26000"


_FORMATS: dict[type, int] = {
    str: _TEXT,
    int: _TEXT,
    bytes: _BINARY,
    UUID: _BINARY,
    NoneType: _TEXT,
    bool: _TEXT,
    float: _TEXT,
}


@dataclass(slots=True)
class Link:
    """One connection of psycopg as a thread uses it, with what has been prepared on it."""

    psycopg: Any
    reader: Any  # a Transformer
    names: dict[str, bytes]


class _ThreadLink(threading.local):
    """The connection that this thread last used, and what it knows."""

    database: BaseDatabaseWrapper | None = None
    link: Link | None = None


_saved = _ThreadLink()
# A pool hands one connection to many threads, one after the other: what is prepared on it stays.
_prepared_on: WeakKeyDictionary[Any, dict[str, bytes]] = WeakKeyDictionary()
_meeting = threading.Lock()
_numbers = itertools.count(1)


def send(
    text: str, values: Mapping[str, Any], database: BaseDatabaseWrapper | None = None
) -> tuple[Any, ...] | None:
    """Perform a statement with %(named)s parameters; its one row, or None. Django's errors.

    `database` is the connection, where it was looked up already.
    """
    # Which connection is this thread's own can change: beside a running event loop it is another.
    database = database or connections[DEFAULT_DB_ALIAS]
    link = link_of(database)
    if link is not None:
        order, numbered = by_name(text)
        with database.wrap_database_errors:
            formed = form([values[name] for name in order])
            if formed is not None:
                result = perform_on(link, text, numbered, formed)
                if not result.ntuples:
                    return None
                link.reader.set_pgresult(result)
                outcome: tuple[Any, ...] = link.reader.load_row(0, tuple)
                return outcome
    with database.cursor() as cursor:
        cursor.execute(text, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def send_and_fetch(
    text: str, values: Mapping[str, Any], *request: Query
) -> tuple[tuple[Any, ...] | None, list[list[tuple[Any, ...]]]]:
    """`send`, and in the same round trip and transaction what is asked once that is done.

    A question that fails takes the statement back with it.
    """
    database = connections[DEFAULT_DB_ALIAS]
    link = link_of(database)
    if link is not None:
        order, numbered = by_name(text)
        with database.wrap_database_errors:
            own, more = form([values[name] for name in order]), _ready(request)
            if own is not None and more is not None:
                done, *result = _together(link, [(text, numbered, own), *more])
                return (done[0] if done else None), result
    with transaction.atomic():
        row = send(text, values)
        return row, [by_cursor(database, value, sent) for value, sent in request]


def fetch(*request: Query) -> list[list[tuple[Any, ...]]]:
    """All rows of each statement, asked in one round trip; Django's errors.

    For texts that are the same at each call: every one stays prepared on its connection.
    """
    database = connections[DEFAULT_DB_ALIAS]
    link = link_of(database)
    if link is not None:
        with database.wrap_database_errors:
            ready = _ready(request)
            if ready is not None and len(ready) == 1:
                return [_rows(link, perform_on(link, *ready[0]))]
            if ready is not None:
                return _together(link, ready)
    return [by_cursor(database, text, values) for text, values in request]


def _ready(requests: Sequence[Query]) -> list[tuple[str, bytes, Formed]] | None:
    """Questions as they travel; None where the ordinary cursor has to ask one of them."""
    formed = [(text, by_place(text), form(values)) for text, values in requests]
    ready = [(text, numbered, sent) for text, numbered, sent in formed if sent is not None]
    return ready if len(ready) == len(requests) else None


def by_cursor(
    database: BaseDatabaseWrapper, text: str, values: Sequence[Any]
) -> list[tuple[Any, ...]]:
    """Execute a statement through a Django cursor; all rows."""
    with database.cursor() as cursor:
        cursor.execute(text, values)
        return list(cursor.fetchall())


def _rows(link: Link, result: Any) -> list[tuple[Any, ...]]:
    link.reader.set_pgresult(result)
    return list(link.reader.load_rows(0, result.ntuples, tuple))


def link_of(database: Any) -> Link | None:
    """The connection for a plain call, alive; None where the ordinary cursor has to do it."""
    if database.health_check_enabled and not database.health_check_done:
        due: Any = database.connection
        if due is not None and due.pgconn.status == ConnStatus.OK:
            database.health_check_done = is_quiet(due.pgconn.socket)
        database.close_if_health_check_failed()
    if database.connection is None:
        database.ensure_connection()
    inner: Any = database.connection
    if (
        database.queries_logged
        or database.execute_wrappers
        or inner.prepare_threshold is None
        # Psycopg begins transactions, and forgets all that was prepared when one was undone.
        or not inner.autocommit
    ):
        return None
    saved = _saved.link
    if saved is None or _saved.database is not database or saved.psycopg is not inner:
        with _meeting:
            names = _prepared_on.setdefault(inner, {})
        with database.cursor() as cursor:
            saved = Link(inner, Transformer(cursor.cursor), names)
        _saved.database, _saved.link = database, saved
    return saved


def form(values: Sequence[Any]) -> Formed | None:
    """The values as they travel, and in which format each; None: the ordinary cursor knows how.

    One expression instead of a function per type: a step sends some thirty values.
    """
    try:
        formats = [_FORMATS[type(value)] for value in values]
    except KeyError:
        return None
    sent = [
        (value.encode() if "\0" not in value else _refuse_nul())
        if type(value) is str
        else value
        if type(value) is bytes
        else value.int.to_bytes(16)
        if type(value) is UUID
        else None
        if value is None
        else b"%d" % value
        if type(value) is int
        else (b"t" if value else b"f")
        if type(value) is bool
        else repr(value).encode()
        for value in values
    ]
    return sent, formats


def _refuse_nul() -> Never:
    # libpq takes a text up to its first NUL and would drop the rest without a word.
    raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")


def perform_on(link: Link, text: str, numbered: bytes, formed: Formed) -> Any:
    """The result of a statement that succeeded."""
    server = link.psycopg.pgconn
    ask = server.send_query_prepared
    result = _answer(link, ask, name_on(link, text, numbered), *formed)
    if result.error_field(DiagnosticField.SQLSTATE) == FORGOTTEN:
        link.names.clear()
        result = _answer(link, ask, name_on(link, text, numbered), *formed)
    if result.status != ExecStatus.TUPLES_OK:
        # Whatever is wrong with it (a changed table makes the server refuse it for good): anew.
        link.names.pop(text, None)
        check(link, result)
    return result


def _answer(link: Link, ask: Callable[..., None], *what: Any) -> Any:
    """The one result of what is asked; libpq's own calls would wait for it without bound."""
    server = link.psycopg.pgconn
    try:
        ask(*what)
        while server.flush():
            wait(server, select.POLLOUT)
        result = None
        while True:
            while server.is_busy():
                wait(server, select.POLLIN)
                server.consume_input()
            more = server.get_result()
            if more is None or server.status == ConnStatus.BAD:
                break
            result = more
    except BaseException:
        link.psycopg.close()  # a late answer would be taken for that to another question
        raise
    if result is None or server.status == ConnStatus.BAD:
        raise OperationalError(server.get_error_message() or "the connection is lost")
    return result


def _together(
    link: Link, requests: Sequence[tuple[str, bytes, Formed]]
) -> list[list[tuple[Any, ...]]]:
    """The rows of statements that are sent together, all of them or none: one transaction."""
    results = _in_one_go(link, requests)
    if any(result.status != ExecStatus.TUPLES_OK for result in results):
        # None is done. What the server refuses to know any more is prepared anew, once.
        for text, _, _ in requests:
            link.names.pop(text, None)
        results = _in_one_go(link, requests)
        for result in results:
            check(link, result)
    return [_rows(link, result) for result in results]


def _in_one_go(link: Link, requests: Sequence[tuple[str, bytes, Formed]]) -> list[Any]:
    """The results of statements in a pipeline of libpq; after one that fails the rest are void."""
    server = link.psycopg.pgconn
    named = [(name_on(link, text, numbered), *formed) for text, numbered, formed in requests]
    try:
        server.enter_pipeline_mode()
        for one in named:
            server.send_query_prepared(*one)
        server.pipeline_sync()
        results = list(_answers(server))
        server.exit_pipeline_mode()
    except BaseException:
        link.psycopg.close()  # what is still to come would be taken for the answer to another one
        raise
    return results


def _answers(server: Any) -> Iterator[Any]:
    """The results of a pipeline up to its end; other threads continue meanwhile."""
    while server.flush():
        wait(server, select.POLLOUT)
    while True:
        while server.is_busy():
            wait(server, select.POLLIN)
            server.consume_input()
        result = server.get_result()
        if server.status == ConnStatus.BAD:
            raise OperationalError(server.get_error_message() or "the connection is lost")
        if result is None:  # the end of one statement's answer
            continue
        if result.status == ExecStatus.PIPELINE_SYNC:
            return
        yield result


def wait(server: Any, what: int) -> None:
    """Wait until the server's socket is ready for `what`; OperationalError after the time limit."""
    poller = select.poll()
    poller.register(server.socket, what)
    if not poller.poll(answer_seconds() * 1000):
        raise OperationalError(f"no answer from the database within {answer_seconds():g} s")


def name_on(link: Link, text: str, numbered: bytes) -> bytes:
    """The name of the statement on this connection, prepared now if it is not yet."""
    name = link.names.get(text)
    if name is None:
        name = b"gp_%d" % next(_numbers)
        check(link, _answer(link, link.psycopg.pgconn.send_prepare, name, numbered))
        link.names[text] = name
    return name


def check(link: Link, result: Any) -> None:
    """Raise what the server reported: a lost connection, or the error of the statement."""
    server = link.psycopg.pgconn
    if server.status == ConnStatus.BAD:
        raise OperationalError(server.get_error_message() or "the connection is lost")
    if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
        raise errors.error_from_result(result)


@lru_cache(maxsize=512)
def by_name(text: str) -> tuple[tuple[str, ...], bytes]:
    """(the names in the order of their numbers, the text with $1, $2 ... in their place)."""
    order: dict[str, int] = {}
    pieces = text.replace("%%", "%").split("%(")
    out = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition(")s")
        out.append(f"${order.setdefault(name, len(order) + 1)}{rest}")
    return tuple(order), "".join(out).encode()


@lru_cache(maxsize=64)
def by_place(text: str) -> bytes:
    """The text with $1, $2 ... in the place of each %s."""
    first, *rest = text.replace("%%", "%").split("%s")
    return "".join([first, *(f"${n}{piece}" for n, piece in enumerate(rest, 1))]).encode()
