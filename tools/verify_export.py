#!/usr/bin/env python3
"""Verify an export of Gatepost offline: this one file, the standard library, no Gatepost.

    python verify_export.py EXPORT.zip [EXPORT.zip ...] [--anchor FILE ...] [--manifest SHA256]

It computes every hash again and names what is broken: the row, the field, the gap, the head. The
exit status is 0 when all is sound, 1 when something is broken, 2 when it was called wrongly. What
is checked, and what no export can prove, stands in docs/proof.md; write your own from it.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

ANCHOR = "gatepost-anchor-1"
ROWS = {"jsonl": "events.jsonl", "csv": "events.csv", "otlp": "events.otlp.jsonl"}
OTHERS = ("requests.jsonl", "chain.jsonl", "anchors.jsonl", "export.json")
COLUMNS_1 = [
    "at",
    "thread",
    "title",
    "agent",
    "seq",
    "kind",
    "v",
    "actor",
    "by",
    "decision",
    "request",
    "amount",
    "payee",
    "risk",
    "tool",
    "node",
    "step",
    "checkpoint",
    "approval",
    "data",
    "chain",
    "salt",
    "data_hash",
    "prev_hash",
    "hash",
]
_PAYEE = COLUMNS_1.index("payee")
COLUMNS_2 = [*COLUMNS_1[:_PAYEE], "currency", *COLUMNS_1[_PAYEE:], "integrity", "damage"]
FORMATS = {"gatepost-export-1": COLUMNS_1, "gatepost-export-2": COLUMNS_2}
AMOUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
WHOLE = ("seq", "v", "step", "checkpoint")
LINE_MAX = 64 * 1024 * 1024
PROBLEMS_MAX = 200
# The record at the end of a zip file without a comment; a transfer that broke off has none.
END_BYTES = 22
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BAD = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)


# What stands in the place of an event's data after an erasure; its salt is empty.
ERASED = {"$erased": True}


@dataclass
class Report:
    """The checks made and what is broken, each problem as (where, what)."""

    manifest: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    next_cursor: str = ""
    erased: int = 0
    damaged: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)

    def broken(self, where: str, what: str) -> None:
        """Note a problem."""
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append((where, what))


# --- canonical JSON (RFC 8785) --------------------------------------------------------------------


_PLAIN = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> bytes:
    """The one way in which a JSON value is written before it is hashed."""
    return "".join(_pieces(value)).encode()


def parse(text: bytes | str) -> Any:
    """The value of canonical JSON; raises ValueError for any other form of it.

    One form means one reading: no BOM, no name twice, no blank, no number beyond a double.
    """
    written = text if isinstance(text, str) else text.decode("utf-8")
    fractions: list[str] = []

    def fraction(digits: str) -> float:
        fractions.append(digits)
        return float(digits)

    value = json.loads(written, parse_int=_whole, parse_float=fraction, parse_constant=_refuse)
    # Ten times as fast, and the same form where there is neither a fraction nor a sorted name
    # beyond ASCII.
    plain = not fractions and written.isascii() and _PLAIN.encode(value) == written
    if not plain and canonical(value) != written.encode():
        raise ValueError("not canonical")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


def _whole(digits: str) -> int | float:
    return int(digits) if abs(int(digits)) <= 2**53 else float(digits)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for i, key in enumerate(sorted(value, key=lambda k: k.encode("utf-16-be"))):
            yield ("," if i else "") + json.dumps(key, ensure_ascii=False) + ":"
            yield from _pieces(value[key])
        yield "}"
    elif isinstance(value, list):
        yield "["
        for i, item in enumerate(value):
            yield "," if i else ""
            yield from _pieces(item)
        yield "]"
    elif isinstance(value, float):
        yield _number(value)
    else:
        yield json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """A number as ECMAScript writes it."""
    if value == 0:
        return "0"
    sign, figures, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits, minus = "".join(map(str, figures)), "-" if sign else ""
    point = len(digits) + int(exponent)
    if len(digits) <= point <= 21:
        return minus + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


# --- hashes ---------------------------------------------------------------------------------------


def link_hash(chain: str, link: Mapping[str, Any]) -> str:
    """The hash of an event; `at` in whole microseconds since 1970."""
    parts = [chain, link["seq"], link["kind"], link["v"], link["actor"], link["at"]]
    text = "|".join(["gatepost-event-1", *map(str, parts), link["data_hash"], link["prev_hash"]])
    return sha256(text.encode()).hexdigest()


def proposal_hash(request: Mapping[str, Any]) -> str:
    """Check what every decision on a request binds to."""
    named = ("workspace", "thread", "position", "tool", "args", "agent_version", "policy")
    bound = {name: request[name] for name in (*named, "deadline")}
    if request["origin"]:
        bound["origin"] = request["origin"]
    return sha256(b"gatepost-proposal-1" + canonical(bound)).hexdigest()


def decision_hash(approval: str, decision: Mapping[str, Any]) -> str:
    """Check what the event of a decision names."""
    named = ("reviewer", "verdict", "proposal_hash", "comment", "args")
    bound = {"approval": approval, **{name: decision[name] for name in named}}
    if decision["what_next"]:
        bound["what_next"] = decision["what_next"]
    return sha256(bytes.fromhex(decision["salt"]) + canonical(bound)).hexdigest()


# --- one export -----------------------------------------------------------------------------------


class Export:
    """The checks of one file, in the order of docs/proof.md."""

    def __init__(self, packed: zipfile.ZipFile, anchors: Iterable[str], report: Report) -> None:
        self.packed, self.report = packed, report
        self.outside = list(anchors)
        self.requests: dict[str, dict[str, Any]] = {}
        self.used: set[str] = set()
        self.anchored: dict[str, list[tuple[str, int, str, str]]] = {}
        self.links: dict[tuple[str, int], dict[str, Any]] = {}
        self.logs: dict[str, dict[str, Any]] = {}  # those that say what was verified of them
        self.imported: dict[str, int] = {}  # the event of each log that says where it came from
        self.counts = dict.fromkeys(("rows", "requests", "logs", "links", "anchors"), 0)

    def check(self) -> None:
        """Everything."""
        if not self.check_members():
            return
        if "export.json" not in self.names:
            self.report.broken("MANIFEST", "export.json is missing")
            return
        facts = self.one("export.json")
        if not isinstance(facts, dict) or facts.get("format") not in FORMATS:
            self.report.broken("export.json", f"its format is none of {', '.join(FORMATS)}")
            return
        self.columns = FORMATS[facts["format"]]
        rows = ROWS.get(str(facts.get("form")))
        expected = sorted([*OTHERS, str(rows)])
        if self.names != expected:
            self.report.broken("MANIFEST", f"the members are not {', '.join(expected)}")
            return
        self.read_anchors()
        self.check_requests()
        self.check_chain()
        self.check_rows(str(rows))
        for request in sorted(self.requests.keys() - self.used):
            self.report.broken(f"requests.jsonl, request {request}", "no row is about it")
        for name, n in self.counts.items():
            if not isinstance(facts.get("counts"), dict) or facts["counts"].get(name) != n:
                self.report.broken("export.json, counts", f"{name}: there are {n}")
        if self.columns == COLUMNS_2:
            self.check_summary(facts.get("integrity"))
        self.report.counts = self.counts
        self.report.next_cursor = str(facts.get("next", ""))

    def check_summary(self, integrity: Any) -> None:
        """What export.json says of the verification is what the logs say."""
        logs = self.logs.values()
        expected = {
            "threads": len(logs),
            "events": sum(log["verified"] for log in logs),
            "damaged": sum(log["damaged_from"] is not None for log in logs),
        }
        for name, n in expected.items():
            if not isinstance(integrity, dict) or integrity.get(name) != n:
                self.report.broken("export.json, integrity", f"{name}: the logs have {n}")

    def check_members(self) -> bool:
        """MANIFEST names all members with the hash of their bytes."""
        infos = self.packed.infolist()
        self.names = sorted(info.filename for info in infos if info.filename != "MANIFEST")
        if len({info.filename for info in infos}) != len(infos):
            self.report.broken("the file", "a name occurs twice")
            return False
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            self.report.broken("the file", "a member is compressed")
            return False
        if "MANIFEST" not in self.packed.namelist():
            self.report.broken("MANIFEST", "is missing")
            return False
        raw = self.packed.read("MANIFEST")
        self.report.manifest = sha256(raw).hexdigest()
        named: dict[str, str] = {}
        for line in raw.decode("utf-8", "replace").removesuffix("\n").split("\n"):
            if not re.fullmatch(r"[0-9a-f]{64}  [a-z.]+", line) or not raw.endswith(b"\n"):
                self.report.broken("MANIFEST", f"cannot be read: {line[:80]!r}")
                return False
            if line[66:] in named:
                self.report.broken("MANIFEST", f"{line[66:]} occurs twice")
                return False
            named[line[66:]] = line[:64]
        for name in sorted(named.keys() ^ set(self.names)):
            what = "is missing in the file" if name in named else "is not named in MANIFEST"
            self.report.broken(name, what)
        for name in sorted(named.keys() & set(self.names)):
            digest = sha256()
            with self.packed.open(name) as member:
                while chunk := member.read(1024 * 1024):
                    digest.update(chunk)
            if digest.hexdigest() != named[name]:
                self.report.broken(name, "its bytes are not those that MANIFEST names")
        return named.keys() == set(self.names)

    def one(self, name: str) -> Any:
        """A member that is one JSON value."""
        values = [value for _, value in self.lines(name)]
        return values[0] if len(values) == 1 else None

    def lines(self, name: str) -> Iterator[tuple[str, Any]]:
        """(where, value) of each line of a member that can be read."""
        with self.packed.open(name) as member:
            n = 0
            while line := member.readline(LINE_MAX):
                n += 1
                where = f"{name}, line {n}"
                try:
                    value = parse(line.removesuffix(b"\n"))
                    if not line.endswith(b"\n"):
                        raise ValueError("cut off")
                except BAD:
                    self.report.broken(where, "cannot be read")
                    continue
                yield where, value

    # --- anchors, requests ------------------------------------------------------------------------
    def read_anchors(self) -> None:
        """Those in the file, and those that were kept elsewhere."""
        for where, line in self.lines("anchors.jsonl"):
            self.counts["anchors"] += 1
            self._note_anchor(where, line if isinstance(line, dict) else {})
        for path in self.outside:
            with open(path, encoding="utf-8") as file:
                if json.loads(file.readline()).get("form") != ANCHOR:
                    raise ValueError(f"{path} is not an anchor of Gatepost")
                for n, text in enumerate(file, 2):
                    line = json.loads(text)
                    if line.get("of") == "thread":
                        self._note_anchor(f"{path}, line {n}", line | {"thread": line["id"]})

    def _note_anchor(self, where: str, noted: dict[str, Any]) -> None:
        try:
            named_at = (where, int(noted["seq"]), str(noted["hash"]), str(noted["chain"]))
            self.anchored.setdefault(noted["thread"], []).append(named_at)
        except BAD:
            self.report.broken(where, "cannot be read")

    def check_requests(self) -> None:
        """Check that what was proposed and decided has the hashes that it says it has."""
        for where, request in self.lines("requests.jsonl"):
            self.counts["requests"] += 1
            try:
                ident = request["approval"]
                where = f"requests.jsonl, request {ident}"
                if ident in self.requests:
                    self.report.broken(where, "occurs twice")
                if not request["imported"] and proposal_hash(request) != request["proposal_hash"]:
                    self.report.broken(where, "proposal_hash: what was proposed does not fit it")
                decisions = {}
                for one in request["decisions"]:
                    if decision_hash(ident, one) != one["hash"]:
                        what = f"decision {one['decision']}: it does not match its hash"
                        self.report.broken(where, what)
                    names = ("hash", "verdict", "reviewer", "by_name", "comment", "at")
                    decisions[one["decision"]] = {name: one[name] for name in names}
                names = ("proposal_hash", "tool", "risk", "thread", "requested_at", "imported")
                self.requests[ident] = {name: request[name] for name in names}
                self.requests[ident] |= {"node": request["position"][2], "decisions": decisions}
            except BAD:
                self.report.broken(where, "cannot be read")

    # --- chain ------------------------------------------------------------------------------------
    def check_chain(self) -> None:
        """Every log goes from event 1 to its head without a gap, and each hash fits."""
        log: dict[str, Any] = {}
        seq, prev = 0, "0" * 64
        threads = set()
        for where, line in self.lines("chain.jsonl"):
            try:
                if line["type"] == "log":
                    self._check_end(log, seq, prev)
                    log, seq, prev = line, 0, "0" * 64
                    self.counts["logs"] += 1
                    if log["thread"] in threads:
                        self.report.broken(f"chain.jsonl, log {log['thread']}", "occurs twice")
                    threads.add(log["thread"])
                    log["seen"] = 0
                    if self.columns == COLUMNS_2:
                        self.logs[log["thread"]] = _checked_log(log)
                elif line["type"] == "link":
                    seq, prev = self._check_link(log, seq, prev, line)
                else:
                    self.report.broken(where, "is neither a log nor a link")
            except BAD:
                self.report.broken(where, "cannot be read")
        self._check_end(log, seq, prev)
        for thread in sorted(self.anchored.keys() - threads):
            for where, *_ in self.anchored[thread]:
                if where.startswith("anchors.jsonl"):
                    self.report.broken(where, f"names the log {thread}, which is not there")

    def _check_link(
        self, log: dict[str, Any], seq: int, prev: str, link: dict[str, Any]
    ) -> tuple[int, str]:
        self.counts["links"] += 1
        thread, chain = log["thread"], log["chain"]
        where = f"chain.jsonl, log {thread}, event {link['seq']}"
        if link["seq"] > seq + 1:
            self.report.broken(where, f"gap: event {seq + 1} before it is missing")
        elif link["seq"] <= seq:
            self.report.broken(where, "stands in the wrong place")
        if link["prev_hash"] != prev:
            self.report.broken(where, "prev_hash: does not continue the event before it")
        if link_hash(chain, link) != link["hash"]:
            self.report.broken(where, "hash: does not fit what it is made of")
        for named_at, at, digest, of in self.anchored.get(thread, ()):
            if at == link["seq"] and (digest != link["hash"] or of != chain):
                self.report.broken(where, f"is not the one that was anchored ({named_at})")
        if link["kind"] == "thread.imported":
            self.imported[thread] = link["seq"]
        if link["row"]:
            log["seen"] += 1
            self.links[thread, link["seq"]] = {**link, "chain": chain}
        return link["seq"], link["hash"]

    def _check_end(self, log: dict[str, Any], seq: int, prev: str) -> None:
        if not log:
            return
        where = f"chain.jsonl, log {log.get('thread')}"
        if (seq, prev) != (log.get("last_seq"), log.get("last_hash")):
            self.report.broken(where, f"head: it ends with event {seq}, not with its last_hash")
        if log.get("rows") != log["seen"]:
            self.report.broken(where, f"rows: {log['seen']} of its events are marked as rows")
        for named_at, at, _, _ in self.anchored.get(str(log.get("thread")), ()):
            if at > seq:
                self.report.broken(
                    where, f"head: event {at} was anchored ({named_at}) and is missing"
                )

    # --- rows -------------------------------------------------------------------------------------
    def check_rows(self, name: str) -> None:
        """Every row is the event of its link, once, with the content that was hashed."""
        seen: set[tuple[str, int]] = set()
        for where, row in self.rows(name):
            self.counts["rows"] += 1
            try:
                key = (row["thread"], row["seq"])
                where = f"{name}, thread {key[0]}, event {key[1]}"
                if key in seen:
                    self.report.broken(where, "occurs twice")
                seen.add(key)
                link = self.links.get(key)
                if link is None:
                    self.report.broken(where, "no link of the chain is marked as this row")
                    continue
                self.check_row(where, row, link)
            except BAD:
                self.report.broken(where, "cannot be read")
        for thread, seq in sorted(self.links.keys() - seen):
            self.report.broken(f"{name}, thread {thread}, event {seq}", "the row is missing")

    def check_row(self, where: str, row: dict[str, Any], link: dict[str, Any]) -> None:
        """One row against its link, its content and its request."""
        own = {**row, "at": _microseconds(row["at"])}
        for name in ("kind", "v", "actor", "at", "chain", "data_hash", "prev_hash", "hash"):
            if own[name] != link[name]:
                self.report.broken(where, f"{name}: is not that of the chain")
        data, salt = row["data"], row["salt"] or ""  # a CSV has an empty cell for it
        if data == ERASED and salt == "":
            # Its content is gone for good; the link is all there is to check.
            self.report.erased += 1
        elif sha256(bytes.fromhex(salt) + canonical(data)).hexdigest() != row["data_hash"]:
            self.report.broken(where, "data: does not fit data_hash")
        data = data if isinstance(data, dict) else {}
        for name, member in (("decision", "verdict"), ("approval", "approval")):
            if row[name] != (data.get(member) or None):
                self.report.broken(where, f"{name}: is not what data says")
        for name in ("node", "tool", "step"):
            if data.get(name) and row[name] != data[name]:
                self.report.broken(where, f"{name}: is not what data says")
        if self.columns == COLUMNS_2:
            self.check_integrity(where, row)
        if row["approval"]:
            self.check_request_of(where, row, data)
        elif row["risk"]:
            self.report.broken(where, "risk: it belongs to no request")

    def check_integrity(self, where: str, row: dict[str, Any]) -> None:
        """A row has the mark that follows from what its log says; an amount is a number."""
        log = self.logs[row["thread"]]
        damaged_from = log["damaged_from"]
        mark: tuple[str, str | None] = ("unchecked", None)
        if damaged_from is not None and row["seq"] >= damaged_from:
            self.report.damaged += 1
            mark = ("damaged", log["damage"])
        elif row["seq"] <= log["verified"]:
            mark = ("intact", None)
        if (row["integrity"], row["damage"]) != mark:
            self.report.broken(where, "integrity: is not what its log says")
        if row["amount"] is not None and not AMOUNT.fullmatch(row["amount"]):
            self.report.broken(where, "amount: is no number")

    def check_request_of(self, where: str, row: dict[str, Any], data: dict[str, Any]) -> None:
        """The request and the decision that a row names are those of requests.jsonl."""
        request = self.requests.get(row["approval"])
        if request is None:
            self.report.broken(where, "approval: its request is missing in requests.jsonl")
            return
        self.used.add(row["approval"])
        if row["thread"] != request["thread"]:
            self.report.broken(where, "thread: is not that of its request")
        if row["risk"] != (request["risk"] or None):
            self.report.broken(where, "risk: is not that of its request")
        is_request = row["kind"] == "approval.requested"
        came = self.imported.get(row["thread"], 0)
        # Of such a request the hash of the proposal is not computed: the chain has to say so.
        if request["imported"] and (not came or (is_request and row["seq"] > came)):
            self.report.broken(where, "approval: its request did not come with a capsule")
        if is_request:
            for name in ("proposal_hash", "tool", "risk", "node"):
                if name in data and data[name] != request[name]:
                    self.report.broken(where, f"{name}: its request in requests.jsonl has another")
        if "decision_hash" in data:
            one = request["decisions"].get(data.get("decision"))
            if one is None or one["hash"] != data["decision_hash"]:
                self.report.broken(where, "decision: the one in requests.jsonl is another")
            elif (one["verdict"], one["reviewer"]) != (data.get("verdict"), row["actor"]):
                self.report.broken(where, "decision: verdict or reviewer are others")
            elif one["by_name"] != data.get("by_name"):
                self.report.broken(where, "decision: by_name is another")
            elif data.get("decided_at") not in (None, one["at"]):
                self.report.broken(where, "decision: its time is another")

    def rows(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(where, row) of the rows in whatever form."""
        if name.endswith(".csv"):
            yield from self._csv_rows(name)
            return
        for where, value in self.lines(name):
            try:
                row = _from_otlp(value, self.columns) if "otlp" in name else value
                yield where, _complete(row, self.columns)
            except BAD:
                self.report.broken(where, "cannot be read")

    def _csv_rows(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        with self.packed.open(name) as member:
            text = io.TextIOWrapper(member, encoding="utf-8", newline="")
            table = csv.reader(text, strict=True)
            n, before = 0, csv.field_size_limit(LINE_MAX)
            try:
                if next(table, None) != self.columns:
                    self.report.broken(f"{name}, line 1", f"the columns are not {self.columns}")
                    return
                for n, cells in enumerate(table, 2):
                    where = f"{name}, record {n}"
                    try:
                        yield where, _from_cells(cells, self.columns)
                    except BAD:
                        self.report.broken(where, "cannot be read")
            except (csv.Error, UnicodeDecodeError):
                self.report.broken(f"{name}, after record {n}", "cannot be read")
            finally:
                csv.field_size_limit(before)


def _checked_log(log: dict[str, Any]) -> dict[str, Any]:
    """The log, if what it says of its verification has the right types."""
    damaged_from = log["damaged_from"]
    if type(log["verified"]) is not int or type(log["damage"]) is not str:
        raise ValueError("verified or damage")
    if damaged_from is not None and (type(damaged_from) is not int or not log["damage"]):
        raise ValueError("damaged_from")
    return log


def _complete(row: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    if set(row) != set(columns):
        raise ValueError("other members")
    return row


def _from_cells(cells: list[str], columns: list[str]) -> dict[str, Any]:
    numbers = ["amount"] if "integrity" in columns else []
    for name, cell in zip(columns, cells, strict=True):
        if cell.startswith(FORMULAS) and not (name in numbers and AMOUNT.fullmatch(cell)):
            raise ValueError("a cell could be a formula")
    plain = [cell[1:] if cell.startswith("'") else cell for cell in cells]
    row: dict[str, Any] = {k: v or None for k, v in zip(columns, plain, strict=True)}
    row["data"] = parse(row["data"])
    return row | {name: None if row[name] is None else _integer(row[name]) for name in WHOLE}


def _from_otlp(value: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    (resource,) = value["resourceLogs"]
    (scope,) = resource["scopeLogs"]
    (record,) = scope["logRecords"]
    row: dict[str, Any] = dict.fromkeys(columns)
    for one in record["attributes"]:
        ((kind, inner),) = one["value"].items()
        prefix, _, name = one["key"].partition(".")
        if prefix != "gatepost" or name == "data" or row.get(name, "") is not None:
            raise ValueError("an attribute is unknown or occurs twice")
        if kind != ("intValue" if name in WHOLE else "stringValue"):
            raise ValueError("an attribute of another type")
        row[name] = _integer(inner) if name in WHOLE else inner
    row["data"] = parse(record["body"]["stringValue"])
    if record["eventName"] != f"gatepost.{row['kind']}":
        raise ValueError("eventName")
    if record["timeUnixNano"] != f"{_microseconds(row['at'])}000":
        raise ValueError("timeUnixNano")
    return row


def _microseconds(text: str) -> int:
    """The time of a row in microseconds since 1970; raises ValueError unless it has six digits."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text, re.ASCII):
        raise ValueError("a time of another form")
    at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return (at - EPOCH) // timedelta(microseconds=1)


def _integer(text: str) -> int:
    """The number that a cell or an attribute has as text, written in the one way that there is."""
    if str(number := int(text)) != text:
        raise ValueError("a number of another form")
    return number


def is_cut_off(path: str) -> bool:
    """Return whether a file begins as a zip file does and has not the end of one."""
    with open(path, "rb") as file:
        begin = file.read(4)
        file.seek(max(0, file.seek(0, 2) - END_BYTES))
        return b"PK\3\4".startswith(begin) and not file.read().startswith(b"PK\5\6")


def verify(path: str, *, anchors: Iterable[str] = (), manifest: str = "") -> Report:
    """Check one export; `manifest` is the hash that the workspace's log has of it, if known."""
    report = Report()
    try:
        if is_cut_off(path):
            report.broken("the file", "is cut off: it has no end. Export the same part again")
        else:
            with zipfile.ZipFile(path) as packed:
                Export(packed, anchors, report).check()
    except (
        zipfile.BadZipFile,
        EOFError,
        OSError,
        RuntimeError,  # encrypted, or nested without end; NotImplementedError is one
        zipfile.LargeZipFile,
    ) as error:
        report.broken("the file", f"cannot be read: {error}")
    if manifest and report.manifest != manifest.lower():
        report.broken("MANIFEST", f"its hash is {report.manifest}, not the one that was logged")
    return report


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exports", nargs="+", metavar="EXPORT.zip")
    parser.add_argument("--anchor", action="append", default=[], metavar="FILE")
    parser.add_argument("--manifest", default="", metavar="SHA256")
    options = parser.parse_args(arguments)
    if options.manifest and len(options.exports) > 1:
        parser.error("--manifest goes with one export")
    sound = True
    for path in options.exports:
        report = verify(path, anchors=options.anchor, manifest=options.manifest)
        sound = sound and not report.problems
        for where, what in report.problems:
            print(f"{path}: {where}: {what}")
        counted = ", ".join(f"{n} {name}" for name, n in report.counts.items())
        counted += f", {report.erased} rows without content: erased" if report.erased else ""
        counted += f", {report.damaged} rows marked damaged" if report.damaged else ""
        print(f"{path}: {'BROKEN' if report.problems else 'sound'}: {counted}")
        print(f"{path}: MANIFEST {report.manifest}")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
