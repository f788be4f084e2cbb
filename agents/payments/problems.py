"""What can be wrong with a person's files or settings: one sentence each, with what to do."""

from __future__ import annotations

from collections.abc import Sequence


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
        self, file: str, field: str, setting: str, why: str, header: Sequence[str]
    ) -> None:
        shown = ", ".join(map(quoted, header[:20])) + (" ..." if len(header) > 20 else "")
        super().__init__(
            f"The file {quoted(file)} {why} {field}; its columns are {shown}. Name the right one "
            f'in `columns`, as in {{"{setting}": "{quoted(header[0])[1:-1]}"}}, and retry.'
        )


class BrokenLine(DataProblem):
    """A line that cannot be read where the settings say to stop for one."""
