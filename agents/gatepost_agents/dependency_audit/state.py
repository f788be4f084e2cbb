"""The states: of the audit of one package, and of the audit that leads over all of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gatepost import Append, Searchable, State

Ref = dict[str, Any]
Row = dict[str, Any]
Kind = Literal["permissive", "weak copyleft", "copyleft", "network copyleft"]
REFUSED: tuple[Kind, ...] = ("copyleft", "network copyleft")


def _input(title: str, description: str, **extra: Any) -> Any:
    shape = {name: extra.pop(name) for name in ("min_length", "ge", "le") if name in extra}
    return Field(title=title, description=description, json_schema_extra=extra or None, **shape)


def _result(title: str) -> Any:
    return Field(title=title, json_schema_extra={"readOnly": True})


class PackageAudit(State):
    """One package: what is asked of it, what it says of itself, what speaks against it."""

    name: Annotated[
        str,
        _input("Package", "Its name on the index.", minLength=1),
        Searchable(),
    ] = ""
    version: Annotated[str, _input("Version", "As pinned. Default: the installed version.")] = ""
    pinned: Annotated[bool, _input("Pinned", "Whether the lock file names a version.")] = True
    source: Annotated[str, _input("Source", "A URL that replaces the index.")] = ""
    refused: Annotated[
        list[Kind], _input("Refused licences", "Kinds of licences that you refuse.")
    ] = [*REFUSED]
    years: Annotated[
        float, _input("Old after years", "By the newest sign in its metadata.", ge=0.5, le=50)
    ] = 4.0

    facts: Annotated[dict[str, Any], _result("What it says of itself")] = {}
    licence: Annotated[dict[str, str], _result("Licence")] = {}
    age: Annotated[dict[str, Any], _result("Age")] = {}
    files: Annotated[dict[str, Any], _result("Files")] = {}
    findings: Annotated[list[dict[str, str]], _result("Findings")] = []


class DependencyAudit(State):
    """All packages of an environment or a lock file."""

    file: Annotated[
        Ref | None,
        _input(
            "Your lock file",
            "requirements.txt, pylock.toml, uv.lock, poetry.lock, Pipfile.lock or what pip freeze "
            "prints. Default: what is installed on the worker.",
            **{"x-gatepost": "artifact", "x-title": "Packages of {}"},
        ),
    ] = None
    ignore: Annotated[list[str], _input("Ignore", "Packages to leave out.")] = []
    refused: Annotated[
        list[Kind], _input("Refused licences", "Kinds of licences that you refuse.")
    ] = [*REFUSED]
    years: Annotated[
        float, _input("Old after years", "By the newest sign in its metadata.", ge=0.5, le=50)
    ] = 4.0
    at_most: Annotated[
        int,
        _input("At a time", "Maximum number of packages audited at the same time.", ge=1, le=64),
    ] = 8

    source: Annotated[str, _result("What is audited")] = ""
    packages: Annotated[list[Row], _result("Packages")] = []
    unread: Annotated[list[str], _result("Lines not read")] = []
    rows: Annotated[list[Row], _result("Audited")] = []
    findings: Annotated[list[Row], _result("Findings")] = []
    failures: Annotated[list[Row], _result("Not audited")] = []
    summary: Annotated[str, _result("Summary")] = ""
    report: Annotated[dict[str, Any], _result("Report")] = {}
    log: Annotated[list[str], Append(), _result("Log")] = []
    published: Annotated[dict[str, Any], _result("Published")] = {}
    outcome: Annotated[str, _result("Outcome")] = ""
