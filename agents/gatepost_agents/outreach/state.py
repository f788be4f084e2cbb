"""The states of the researcher and of the writer; channels of one name are handed over."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gatepost import Append, State, Sum

Ref = dict[str, Any]
Row = dict[str, Any]
ADDRESS = r"^([A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+)?$"


def _input(title: str, description: str, **extra: Any) -> Any:
    shape = {name: extra.pop(name) for name in ("pattern", "ge", "le") if name in extra}
    return Field(title=title, description=description, json_schema_extra=extra or None, **shape)


def _result(title: str) -> Any:
    return Field(title=title, json_schema_extra={"readOnly": True})


class Outreach(State):
    """Whom somebody looks for, what is offered, and who was found."""

    looking_for: Annotated[
        str,
        _input(
            "Looking for",
            "Such as “bakeries in Hamburg that deliver”.",
            minLength=1,
            **{"x-title": True},
        ),
    ] = ""
    offer: Annotated[
        str, _input("Your offer", "One sentence. It appears in each mail.", minLength=1)
    ] = ""
    sender: Annotated[str, _input("Your name", "Below each mail.")] = ""
    reply_to: Annotated[str, _input("Your mail address", "Where answers go.", pattern=ADDRESS)] = ""
    file: Annotated[
        Ref | None,
        _input(
            "Your companies",
            "CSV with a header: company, mail, contact, industry, city, country, about, website "
            "(read if a policy lets this agent). Default: a sample of made-up companies.",
            **{"x-gatepost": "artifact"},
        ),
    ] = None
    most: Annotated[
        int, _input("At most", "Maximum number of companies, best first.", ge=1, le=20)
    ] = 3
    never: Annotated[list[str], _input("Never write to", "Companies by their name.")] = []
    columns: Annotated[
        dict[str, str],
        _input("Columns", 'Where names are not understood, as in {"mail": "Adresse"}.'),
    ] = {}

    source: Annotated[dict[str, Any], _result("What was read")] = {}
    leads: Annotated[list[Row], _result("Companies")] = []
    set_aside: Annotated[list[Row], _result("Set aside")] = []
    pages: Annotated[list[Row], _result("Web pages")] = []
    log: Annotated[list[str], Append(), _result("Log")] = []
    outcome: Annotated[str, _result("Outcome")] = ""


class Letters(State):
    """What the writer takes over, the drafts, and what people said to each."""

    offer: Annotated[str, _input("Your offer", "One sentence. It appears in each mail.")] = ""
    sender: Annotated[str, _input("Your name", "Below each mail.")] = ""
    reply_to: Annotated[str, _input("Your mail address", "Where answers go.", pattern=ADDRESS)] = ""
    leads: Annotated[list[Row], _input("Companies", "As the researcher found them.")] = []

    source: Annotated[dict[str, Any], _result("What was read")] = {}
    drafts: Annotated[list[Row], _result("Drafts")] = []
    at: Annotated[int, Sum(), _result("Decided")] = 0
    sent: Annotated[list[Row], Append(), _result("Sent")] = []
    declined: Annotated[list[Row], Append(), _result("Not sent")] = []
    log: Annotated[list[str], Append(), _result("Log")] = []
    outcome: Annotated[str, _result("Outcome")] = ""
