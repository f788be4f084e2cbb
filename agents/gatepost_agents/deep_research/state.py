"""The state: what a person asks, what was read, and the notes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gatepost import Append, State, Sum

Ref = dict[str, Any]
Note = dict[str, Any]


def _input(title: str, description: str, **extra: Any) -> Any:
    shape = {
        name: extra.pop(name) for name in ("min_length", "max_length", "ge", "le") if name in extra
    }
    return Field(title=title, description=description, json_schema_extra=extra or None, **shape)


def _result(title: str) -> Any:
    return Field(title=title, json_schema_extra={"readOnly": True})


class DeepResearch(State):
    """A question, what is read for it, and what was noted."""

    question: Annotated[
        str,
        _input(
            "Question", "Such as “How does Celery retry a task?”", minLength=1, **{"x-title": True}
        ),
    ] = ""
    packages: Annotated[
        list[str],
        _input("Packages", "Installed packages to read. Optional: by default the agent chooses."),
    ] = []
    file: Annotated[
        Ref | None,
        _input(
            "Your own text",
            "Text, Markdown or source, or a zip of these. It is used instead of the packages.",
            **{"x-gatepost": "artifact"},
        ),
    ] = None
    pages: Annotated[
        list[str],
        _input(
            "Web pages",
            "Addresses to read as well, each if a policy lets this agent read its host.",
            max_length=20,
        ),
    ] = []
    at_most: Annotated[
        int, _input("Sources to read", "The most promising first.", ge=1, le=10_000)
    ] = 500

    terms: Annotated[list[str], _result("Words looked for")] = []
    plan: Annotated[dict[str, Any], _result("Plan")] = {}
    read: Annotated[int, Sum(), _result("Sources read")] = 0
    notes: Annotated[list[Note], Append(), _result("Notes")] = []
    counts: Annotated[dict[str, int], _result("Sources that hold a word")] = {}
    skipped: Annotated[list[str], Append(), _result("Not read")] = []
    web: Annotated[list[dict[str, Any]], _result("Web pages read")] = []
    not_browsed: Annotated[list[str], _result("Web pages not read")] = []
    citations: Annotated[list[Note], _result("Citations")] = []
    answer: Annotated[dict[str, Any], _result("Answer")] = {}
    report: Annotated[dict[str, Any], _result("Report")] = {}
    log: Annotated[list[str], Append(), _result("Log")] = []
    published: Annotated[dict[str, Any], _result("Published")] = {}
    outcome: Annotated[str, _result("Outcome")] = ""
