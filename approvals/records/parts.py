"""Parts of an export: up to n answers to a question, oldest first, all of one moment."""

from __future__ import annotations

from collections.abc import Iterator

from .cursors import BEFORE, Cursor, read_cursor, write_cursor
from .questions import Question, RecordRow, moment_now, oldest_first, position_of


class Part:
    """The first `limit` answers behind a cursor, read a statement at a time.

    The first part fixes the moment, and its cursor takes it along: all parts together are the
    events that stood in the record then. Raises InvalidValue for a cursor of another question.
    `next_cursor` is known once `pages` has ended, and "" behind the last part.
    """

    def __init__(self, question: Question, *, cursor: str, limit: int) -> None:
        begin = read_cursor(question.walk, cursor) if cursor else Cursor(BEFORE, "")
        self._question = question
        self._begin = begin.position
        # A cursor of the first exports brings none.
        self._moment = begin.moment or moment_now()
        self._limit = limit
        self.next_cursor = ""

    def pages(self) -> Iterator[list[RecordRow]]:
        """The rows of each statement; [] where none fits, for others want to continue meanwhile."""
        left, last = self._limit, self._begin
        for rows in oldest_first(self._question, self._begin, moment=self._moment):
            if len(rows) > left:
                last = position_of(rows[left - 1]) if left else last
                self.next_cursor = write_cursor(self._question.walk, last, self._moment)
                yield rows[:left]
                return
            left -= len(rows)
            last = position_of(rows[-1]) if rows else last
            yield rows
