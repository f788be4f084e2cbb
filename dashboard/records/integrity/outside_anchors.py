"""Comparing the record with a copy of its anchors that somebody else keeps.

The copy is JSON Lines: whole anchors, as a file destination has them, or lines with hashes alone,
as mails and webhooks carry them. Lines that are no JSON were
left by a crash: the anchor stands in a later line.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from approvals.anchors import time_stamps
from approvals.anchors.time_stamps import BadStamp
from checkpoints.anchors import destinations, made
from checkpoints.anchors.form import FIRST, FORM, Anchor, hash_of, heads_hash
from dashboard.errors import Invalid

from .anchors import Deviation, deviation_of
from .outgoing_anchors import sign

LINE_MAX: Final = 64 * 1024 * 1024
OPTION: Final = "--anchors"
AT_ONCE: Final = 100


@dataclass(slots=True)
class Compared:
    """Content of a copy: how many anchors, from when to when, and how many have time stamps."""

    anchors: int = 0
    stamped: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    newest: int = 0


def compare(path: Path, seen: Compared) -> list[Deviation]:
    """All places where the record does not continue the copy, each with its first break.

    1. Each line has to hold by itself and to continue the lines before it.
    2. Each anchor of this installation has to be the one of the line.
    3. Up to the newest line they have to be one chain: so hashes alone fix what they hold.
    4. Each log has to continue the newest head that an anchor noted of it.

    Raises Invalid for a copy that was altered itself, with the first line that does not hold.
    """
    results = [*_lines_against_ours(path, seen)]
    if not results:
        results += _broken_chain(seen.newest)
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for head in _heads(path, seen.newest):
        key = head["of"], head["id"]
        if key not in newest or newest[key]["seq"] < head["seq"]:
            newest[key] = head
    broken = {key for key, head in newest.items() if deviation_of(head) is not None}
    first: dict[tuple[str, str], Deviation] = {}
    for head in _heads(path, seen.newest) if broken else ():
        key = head["of"], head["id"]
        if key not in broken or (key in first and first[key].seq <= head["seq"]):
            continue
        if (deviation := deviation_of(head)) is not None:
            first[key] = deviation
    return results + list(first.values())


def _lines_against_ours(path: Path, seen: Compared) -> Iterator[Deviation]:
    before: Mapping[str, Any] | None = None
    hashes: dict[int, str] = {}
    for number, line in _lines(path):
        if (problem := _problem(line, before, hashes)) is not None:
            raise Invalid(OPTION, f"line {number} of {path.name} {problem}")
        if line["number"] in hashes:
            continue  # sent twice: the first sender did not hear that it arrived
        before, hashes[line["number"]] = line, line["hash"]
        seen.anchors += 1
        seen.newest = max(seen.newest, line["number"])
        seen.last_at = datetime.fromtimestamp(line["at"] / 1_000_000, UTC)
        seen.first_at = seen.first_at or seen.last_at
        ours = made.anchor_of(line["number"])
        if (what := _differs(line, ours)) is not None:
            yield Deviation("anchor", UUID(int=line["number"]), line["number"], what)
        elif ours is not None:
            yield from _stamps(ours, seen)


def _broken_chain(newest: int) -> Iterator[Deviation]:
    """The first anchor of this installation, up to a number, that does not continue the others."""
    before = FIRST
    for number, ours in enumerate(_ours(newest), 1):
        what = ""
        if ours.number != number:
            what = f"Anchor {number} is gone from this installation."
        elif ours.previous != before:
            what = f"Anchor {number} does not continue the one before it."
        elif not ours.holds:
            what = f"Anchor {number} was altered: its heads have another hash."
        if what:
            yield Deviation("anchor", UUID(int=number), number, what)
            return
        before = ours.hash


def _ours(newest: int) -> Iterator[Anchor]:
    number = 0
    while page := made.anchors_after(number, limit=AT_ONCE):
        for ours in page:
            if ours.number > newest:
                return
            yield ours
        number = page[-1].number


def _heads(path: Path, newest: int) -> Iterator[Mapping[str, Any]]:
    """All heads, of the copy and of our own anchors up to its newest."""
    for _, line in _lines(path):
        yield from line.get("heads", ())
    for ours in _ours(newest):
        yield from ours.heads


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(LINE_MAX):
                number += 1
                if not raw.strip():
                    continue
                if not _is_json(raw):
                    continue  # a crash left it half-written; the anchor comes again
                yield number, _anchor_line(path, number, raw)
    except OSError as error:
        raise Invalid(OPTION, f"{path} cannot be read: {error.strerror}") from error


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def _anchor_line(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
        if isinstance(value, dict) and value.get("type") == "anchor.made":
            value = value["data"]  # the body of a webhook, as it came
        if value["form"] != FORM:
            raise ValueError(FORM)
        int(value["number"]), int(value["at"])
        for name in ("previous", "heads_hash", "hash", "signature"):
            bytes.fromhex(value[name])
    except (ValueError, KeyError, TypeError):
        raise Invalid(
            OPTION, f"line {number} of {path.name} is not an anchor of Gatepost"
        ) from None
    result: dict[str, Any] = value
    return result


def _problem(
    line: Mapping[str, Any], before: Mapping[str, Any] | None, hashes: Mapping[int, str]
) -> str | None:
    """Name what is wrong with a line by itself, or with its place behind the line before."""
    digest = hash_of(line["number"], line["at"], line["previous"], line["heads_hash"])
    if digest != line["hash"]:
        return "was altered: its hash is another one"
    if "heads" in line and heads_hash(line["heads"]) != line["heads_hash"]:
        return "was altered: its heads have another hash"
    if not hmac.compare_digest(sign(line["hash"]), line["signature"]):
        return (
            "was written by somebody else, or with another key; GATEPOST_ANCHOR_KEY must be the "
            "one it was written with"
        )
    if line["number"] == 1 and line["previous"] != FIRST:
        return "is the first anchor and names one before it"
    if before is None:
        return None
    if hashes.get(line["number"], line["hash"]) != line["hash"]:
        return f"is another anchor with the number {line['number']}"
    if line["number"] < before["number"] and line["number"] not in hashes:
        return f"has the number {line['number']} behind {before['number']}"
    if line["number"] == before["number"] + 1 and line["previous"] != before["hash"]:
        return "does not continue the line before it"
    return None


def _differs(line: Mapping[str, Any], ours: Anchor | None) -> str | None:
    number = line["number"]
    if ours is None:
        return f"Anchor {number} is gone from this installation."
    if ours.hash != line["hash"]:
        return f"Anchor {number} of this installation is another one."
    if not ours.holds:
        return f"Anchor {number} of this installation was altered: its heads have another hash."
    return None


def _stamps(ours: Anchor, seen: Compared) -> Iterator[Deviation]:
    """Time stamps of an anchor whose authority's certificate is named in GATEPOST_ANCHORS."""
    known = {one.name: one.ca for one in settings.GATEPOST_ANCHORS if one.ca}
    for name, token in destinations.stamps(ours.number).items() if known else ():
        if name not in known:
            continue
        try:
            time_stamps.check(token, ours.hash, ca=known[name])
            seen.stamped += 1
        except BadStamp as error:
            what = f"The {name} of anchor {ours.number} does not hold: {error}"
            yield Deviation("anchor", UUID(int=ours.number), ours.number, what)
