"""What can be wrong with a person's files or settings: one sentence each, with what to do."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 10  # of the faults of one file


def quoted(text: str, limit: int = 60) -> str:
    """A text from a file as it may stand in any sentence: on one line, marked, short."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    cut = plain if len(plain) <= limit else plain[: limit - 3] + "..."
    return "`" + (cut.replace("`", "'") or " ") + "`"


class DataProblem(ValueError):
    """The file or the settings cannot be worked with; `str()` is a sentence for the person."""

    plain = True  # The engine shows the sentence as it is.


class UnreadableFile(DataProblem):
    """The file is no table that this agent can read."""


class UnusableSetting(DataProblem):
    """A setting says what cannot be done with these files."""


class MissingColumn(DataProblem):
    """A file has no column, or more than one, for what is needed."""

    def __init__(
        self, file: str, field: str, setting: str, why: str, header: Sequence[str], near: str = ""
    ) -> None:
        # A name that only might be meant is not proposed: another column would be paid.
        example = quoted(near)[1:-1] if near else "name of the column"
        shown = ", ".join(map(quoted, header[:20])) + (" ..." if len(header) > 20 else "")
        super().__init__(
            f"The file {quoted(file)} {why} {field}; its columns are {shown}. Name the right one "
            f'in `columns`, as in {{"{setting}": "{example}"}}, and retry.'
        )


class BrokenLine(DataProblem):
    """Lines that cannot be read where the settings say to stop for them, all in one sentence.

    `lines` are (number, field, why). Of very many the first are named and the others counted.
    An amount can be corrected in the settings, any other field only in the file.
    """

    def __init__(self, file: str, lines: Sequence[tuple[str, str, str]]) -> None:
        (number, _, why), *others = lines
        if others:
            each = all_of([f"line {line}: {_small(reason)};" for line, _, reason in lines])
            problem = f"{len(lines):,} lines of {quoted(file)} cannot be read: {each.rstrip(';')}"
        else:
            problem = f"Line {number} of {quoted(file)} cannot be read: {_small(why)}"
        amounts = [line for line, field, _ in lines if field == "amount"]
        rest = [line for line, field, _ in lines if field != "amount"]
        whose = (
            "its amount" if len(lines) == 1 else "their amounts",
            "it" if len(rest) == 1 else "them",
        )
        if amounts and rest:
            whose = (f"the amount of {_lines(amounts)}", _lines(rest))
        ways = []
        if amounts:
            ways.append(f'{whose[0]} in `corrected`, as in {{"{amounts[0]}": "12.50"}}')
        if rest:
            ways.append(f"{whose[1]} in the file, and give the corrected one in `file`")
        super().__init__(
            f"{problem}. Correct {', and '.join(ways)}, or let such lines be set aside "
            "(`on_broken`), and retry."
        )


def _lines(numbers: Sequence[str]) -> str:
    more = len(numbers) - NAMED
    shown = ", ".join(numbers[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return f"line{'s'[: len(numbers) - 1]} {shown}"


def _small(reason: str) -> str:
    return reason[:1].lower() + reason[1:]


def all_of(sentences: Sequence[str]) -> str:
    """The sentences of a list behind each other; of very many the first, and how many more."""
    more = len(sentences) - NAMED
    return " ".join(sentences[:NAMED]) + (f" And {more:,} more." if more > 0 else "")
