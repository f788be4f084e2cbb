"""A long answer while it is still being made: each row is taken as it arrives.

The server makes the next row while this process works on the last, and neither ever holds the
whole answer: memory of a megabyte that is taken and given back each time costs more than the read.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import OperationalError
from psycopg.pq import DiagnosticField, ExecStatus

from . import statements
from .row_texts import Take, take_rows


def stream(text: str, values: Sequence[Any], take: Take) -> None:
    """Perform a statement with %s parameters, each with its cast, for `take`; Django's errors.

    What `take` raises comes out once the rest of the answer is out of the way.
    """
    database = connections[DEFAULT_DB_ALIAS]
    link = statements.link_of(database)
    formed = None if link is None else statements.form(values)
    if link is None or formed is None:
        take_rows(statements.by_cursor(database, text, values), take)
        return
    with database.wrap_database_errors:
        failed = _streamed(link, text, formed, take)
        if failed and failed.error_field(DiagnosticField.SQLSTATE) == statements.FORGOTTEN:
            link.names.clear()
            failed = _streamed(link, text, formed, take)
        if failed:
            link.names.pop(text, None)
            statements.check(link, failed)


def _streamed(link: statements.Link, text: str, formed: statements.Formed, take: Take) -> Any:
    """Stream the rows to `take`; returns the server's failure or None. The connection is idle."""
    server = link.psycopg.pgconn
    failed: Any = None
    complete = False
    raised: Exception | None = None
    poller = select.poll()
    name = statements.name_on(link, text, statements.by_place(text))
    try:
        poller.register(server.socket, select.POLLIN)
        server.send_query_prepared(name, *formed)
        server.set_single_row_mode()
        while (result := _next(server, poller)) is not None:
            if result.status == ExecStatus.TUPLES_OK:
                complete = True
            elif result.status != ExecStatus.SINGLE_TUPLE:
                failed = result
            elif raised is None:
                try:
                    take(*[result.get_value(0, column) for column in range(result.nfields)])
                except Exception as error:
                    raised = error
    except BaseException:
        link.psycopg.close()  # what is still to come would be taken for the answer to another one
        raise
    if raised is not None:
        raise raised
    if not complete and not failed:
        raise OperationalError(server.get_error_message() or "the connection is lost")
    return failed


def _next(server: Any, poller: select.poll) -> Any:
    """The next result; to wait in libpq itself would keep this process's other threads waiting."""
    while server.is_busy():
        poller.poll()
        server.consume_input()
    return server.get_result()
