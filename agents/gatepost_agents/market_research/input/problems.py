"""What can be wrong with a person's file or settings, each as one sentence that says what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


def quoted(text: str, limit: int = 60) -> str:
    """A name or a value from the table as it may stand in any sentence: on one line, marked, short.

    What it holds cannot end the mark, so it stays text in a Markdown report as well.
    """
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    cut = plain if len(plain) <= limit else plain[: limit - 3] + "..."
    return "`" + (cut.replace("`", "'") or " ") + "`"


class DataProblem(ValueError):
    """The file or the settings cannot be worked with; `str()` is a sentence for the person."""

    plain = True  # The engine shows the sentence as it is.


class UnreadableFile(DataProblem):
    """The file is no table this agent can read (binary, damaged, empty, too large)."""


class UnusableSetting(DataProblem):
    """A setting names something that this table cannot give."""


class NothingLeft(DataProblem):
    """Cleaning would leave no row or no measure."""


class UnknownColumn(UnusableSetting):
    """A setting names a column that the table does not have."""

    def __init__(self, column: str, setting: str, columns: Iterable[str]) -> None:
        self.column, self.setting = column, setting
        known = list(columns)
        close = get_close_matches(column, known, n=1)
        hint = f" Did you mean {quoted(close[0])}?" if close else ""
        shown = ", ".join(map(quoted, known[:20])) + (" ..." if len(known) > 20 else "")
        super().__init__(
            f"`{setting}` names the column {quoted(column)}, which this table does not have.{hint} "
            f"Its columns are {shown}."
        )


class BrokenColumn(DataProblem):
    """A column that must hold numbers holds other text in more rows than can be put down to slips.

    `row` counts data rows from 1, the header not counted; `share` is a fraction of the rows that
    hold a value; `settings` are the names of the settings that make the column a number, none when
    it is only the one column that could be measured.
    """

    def __init__(
        self,
        column: str,
        row: int,
        value: str,
        share: float,
        settings: Iterable[str] = ("measure",),
    ) -> None:
        self.column, self.row, self.value, self.share = column, row, value, share
        named = " and ".join(f"`{name}`" for name in settings)
        cure = (
            f"Take it out of {named}, or name it in `ignore`, and retry."
            if named
            else "No other column holds numbers to measure, so fix the file and upload it again."
        )
        super().__init__(
            f"The column {quoted(column)} should hold numbers, but {share:.1%} of its values are "
            f"other text; the first is {quoted(value)} in row {row:,}. {cure}"
        )
