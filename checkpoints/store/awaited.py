"""A step's commit that was sent, and whose answer is awaited while the next step is prepared.

It is the very statement of `commit_step`, in a transaction of its own, on the connection of the
worker's thread. Until its answer is read nothing else can be sent there. At most one is under way:
whoever has sent it reads its answer (`AwaitedStep.settle`) before anything of the next step is
seen by anybody. Where that takes long the ear (`ear`) reads it, so that pages learn in time of
what is committed already.
"""

from __future__ import annotations

import select
import threading
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import Error, OperationalError
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus

from .. import payloads
from ..records import Work
from . import sending
from .announcing import announce
from .ear import listen, unlisten
from .statement import EVENTS_AT_ONCE
from .steps import PreparedStep, prepare_step, settle_step
from .writing import NewCheckpoint, perform, shaped


class Answer:
    """The answer to one statement that was sent; whoever comes first reads it, once.

    Its row is announced to the floors above by the thread that reads it.
    """

    def __init__(self, step: PreparedStep, database: Any, link: Any, text: str) -> None:
        self._step = step
        self._database = database
        self._link = link
        self._text = text
        self._server = link.psycopg.pgconn
        self._result: Any = None
        self._read = False
        self._row: tuple[Any, ...] | None = None
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def send(self, numbered: bytes, formed: sending.Formed) -> None:
        """Send it; what goes wrong on the way is told with the answer."""
        self._again = numbered, formed
        try:
            name = sending.name_on(self._link, self._text, numbered)
            self._server.send_query_prepared(name, *formed)
            while self._server.flush():
                sending.wait(self._server, select.POLLOUT)
        except Error as error:
            self._fail(error)
        except BaseException:
            self._give_up()
            raise

    def hear(self) -> None:
        """Read the answer if it has come; from any thread."""
        with self._lock:
            if not self._read:
                self._listen(0)

    def wait(self) -> tuple[Any, ...] | None:
        """The row, or None when the guard did not hold. Django's errors."""
        with self._lock:
            try:
                while not self._read:
                    self._listen(None)
            except BaseException:
                self._give_up()
                raise
        if self._error is not None:
            with self._database.wrap_database_errors:
                raise self._error
        return self._row

    def _listen(self, milliseconds: int | None) -> None:
        try:
            ear = select.poll()
            ear.register(self._server.socket, select.POLLIN)
            if not ear.poll(milliseconds):
                return
            self._server.consume_input()
            while not self._server.is_busy():
                result = self._server.get_result()
                if self._server.status == ConnStatus.BAD:
                    raise OperationalError(
                        self._server.get_error_message() or "the connection is lost"
                    )
                if result is None:
                    self._understand(self._result)
                    return
                self._result = result
        except Exception as error:  # whatever it is: it must not be waited for any more
            self._fail(error)

    def _understand(self, result: Any) -> None:
        link = self._link
        if result.error_field(DiagnosticField.SQLSTATE) == sending.FORGOTTEN:
            link.names.clear()  # nothing was done
            result = sending.perform_on(link, self._text, *self._again)
        if result.status != ExecStatus.TUPLES_OK:
            link.names.pop(self._text, None)
            sending.check(link, result)
        if result.ntuples:
            link.reader.set_pgresult(result)
            row: tuple[Any, ...] = link.reader.load_row(0, tuple)
            self._row = row
            announce(self._step.move.thread, row[0], row[1])
        self._read = True

    def _fail(self, error: Exception) -> None:
        self._error, self._read = error, True

    def _give_up(self) -> None:
        """Whatever interrupts this: nobody shall take the answer for that to something else."""
        self._link.psycopg.close()
        self._read = True


class AwaitedStep:
    """A commit under way; `settle` must come before anything that follows from it is seen."""

    def __init__(self, work: Work, step: PreparedStep, answer: Answer) -> None:
        self._work = work
        self._step = step
        self._answer = answer
        listen(answer)

    def settle(self) -> None:
        """Wait for the answer and let `work` stand on the new head; raises as `commit_step`."""
        try:
            settle_step(self._work, self._step, self._answer.wait)
        finally:
            unlisten(self._answer)


class ReadyStep:
    """A step in the form in which it travels: all that can be done before it is sent.

    `formed` is None for a step that has to be committed in the ordinary way.
    """

    def __init__(self, step: PreparedStep) -> None:
        self.step = step
        self.formed: sending.Formed | None = None
        if len(step.move.events) > EVENTS_AT_ONCE:
            return  # it takes several statements
        self.text, values = shaped(step.move)
        order, self.numbered = sending.by_name(self.text)
        self.formed = sending.form([values[name] for name in order])

    @property
    def weight(self) -> int:
        """Of its delta, for keyframes."""
        return self.step.weight


def prepare(work: Work, checkpoint: NewCheckpoint, **more: Any) -> ReadyStep:
    """As `prepare_step`, for an agent whose contents lie in the database; asks nothing there."""
    inside = payloads.of_kind(payloads.DATABASE)
    return ReadyStep(prepare_step(work, checkpoint, contents=inside, **more))


def commit_prepared(work: Work, ready: ReadyStep) -> None:
    """Commit it in the ordinary way."""
    settle_step(work, ready.step, lambda: perform(ready.step.move))


def send(work: Work, ready: ReadyStep) -> AwaitedStep | None:
    """Send a commit without waiting for its answer.

    None: nothing was sent, since a transaction is open, somebody watches statements, or the server
    cannot keep prepared ones. The step keeps the thread running and leaves nobody to be called.
    """
    database = connections[DEFAULT_DB_ALIAS]
    link = sending.link_of(database)
    if link is None or ready.formed is None:
        return None
    answer = Answer(ready.step, database, link, ready.text)
    answer.send(ready.numbered, ready.formed)
    return AwaitedStep(work, ready.step, answer)
