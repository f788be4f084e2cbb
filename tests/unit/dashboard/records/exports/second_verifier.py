"""A second verifier, written from docs/proof.md alone; it says what the first thing broken is."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rfc8785

NAMES = [
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
NAMES_2 = [*NAMES[:12], "currency", *NAMES[12:], "integrity", "damage"]
FORMATS = {"gatepost-export-1": NAMES, "gatepost-export-2": NAMES_2}
WHOLE = ("seq", "v", "step", "checkpoint")
FILES = {"jsonl": "events.jsonl", "csv": "events.csv", "otlp": "events.otlp.jsonl"}


class Unsound(Exception):
    """What does not hold."""


def need(holds: Any, what: str) -> None:
    if not holds:
        raise Unsound(what)


def is_sound(path: Path) -> bool:
    """Whether everything that docs/proof.md lists holds."""
    return fault_of(path) == ""


def fault_of(path: Path) -> str:
    """The first thing that does not hold; "" of a sound export."""
    try:
        check(path)
    except (
        Unsound, zipfile.BadZipFile, ValueError, KeyError, TypeError, IndexError, csv.Error,
        AttributeError, EOFError, NotImplementedError, OSError, rfc8785.CanonicalizationError,
    ) as error:  # fmt: skip
        return str(error) or type(error).__name__
    return ""


def sha(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def whole(text: str) -> int | float:
    return float(text) if abs(int(text)) > 2**53 - 1 else int(text)


def jcs(value: Any) -> bytes:
    return rfc8785.dumps(value)


def check(path: Path) -> None:
    raw = path.read_bytes()
    need(not b"PK\3\4".startswith(raw[:4]) or raw[-22:-18] == b"PK\5\6", "cut off")
    with zipfile.ZipFile(path) as packed:
        need(all(i.compress_type == 0 for i in packed.infolist()), "compressed")
        names = packed.namelist()
        need(len(set(names)) == len(names), "twice")
        members = {name: packed.read(name) for name in names}
    manifest = {}
    *named, rest = members.pop("MANIFEST").split(b"\n")
    need(rest == b"", "manifest")
    for line in named:
        digest, name = line.decode().split("  ")
        need(name not in manifest, "manifest")
        manifest[name] = digest
    need(manifest == {name: sha(raw) for name, raw in members.items()}, "manifest")
    parsed = {name: jsonl(raw) for name, raw in members.items() if name != "events.csv"}
    (facts,) = parsed["export.json"]
    need(facts["format"] in FORMATS, "format")
    names = FORMATS[facts["format"]]
    expected = {FILES[facts["form"]], "export.json", "requests.jsonl", "chain.jsonl"}
    need(set(members) == expected | {"anchors.jsonl"}, "members")
    logs, links = chains(parsed["chain.jsonl"])
    if facts["form"] == "csv":
        rows = from_csv(members["events.csv"].decode(), names)
    elif facts["form"] == "otlp":
        rows = [from_otlp(one, names) for one in parsed["events.otlp.jsonl"]]
    else:
        rows = parsed["events.jsonl"]
    requests = {one["approval"]: one for one in parsed["requests.jsonl"]}
    need(len(requests) == len(parsed["requests.jsonl"]), "request twice")
    for one in requests.values():
        check_request(one)
    marked = {key for key, link in links.items() if link["row"]}
    keys = [(row["thread"], row["seq"]) for row in rows]
    need(Counter(keys) == Counter(marked), "rows")
    if names == NAMES_2:
        check_integrity(rows, logs, facts["integrity"])
    for row in rows:
        need(set(row) == set(names), "columns")
        check_row(row, links[row["thread"], row["seq"]], requests)
        check_import(row, links, requests)
    need({row["approval"] for row in rows} - {None} == set(requests), "requests")
    for one in parsed["anchors.jsonl"]:
        link = links[one["thread"], one["seq"]]
        need((link["hash"], link["chain"]) == (one["hash"], one["chain"]), "anchor")
    counts = {
        "rows": len(rows),
        "requests": len(requests),
        "logs": len(logs),
        "links": len(links),
        "anchors": len(parsed["anchors.jsonl"]),
    }
    need(facts["counts"] == counts, "counts")


def jsonl(raw: bytes) -> list[Any]:
    need(raw == b"" or raw.endswith(b"\n"), "cut off")
    return [strict(line) for line in raw.split(b"\n")[:-1]]


def strict(raw: bytes) -> Any:
    value = json.loads(raw.decode(), parse_int=whole)
    need(jcs(value) == raw, "not canonical")
    return value


def chains(lines: list[Any]) -> tuple[dict[str, Any], dict[tuple[str, int], Any]]:
    logs: dict[str, Any] = {}
    links: dict[tuple[str, int], Any] = {}
    log: Any = None
    for line in lines:
        if line["type"] == "log":
            log = line
            need(log["thread"] not in logs, "log twice")
            logs[log["thread"]] = {**log, "end": (0, "0" * 64), "marked": 0}
            continue
        need(line["type"] == "link", "type")
        state = logs[log["thread"]]
        seq, prev = state["end"]
        need(line["seq"] == seq + 1 and line["prev_hash"] == prev, "gap")
        text = (
            f"gatepost-event-1|{log['chain']}|{line['seq']}|{line['kind']}|{line['v']}|"
            f"{line['actor']}|{line['at']}|{line['data_hash']}|{line['prev_hash']}"
        )
        need(sha(text.encode()) == line["hash"], "link")
        state["end"] = (line["seq"], line["hash"])
        state["marked"] += line["row"] is True
        links[log["thread"], line["seq"]] = {**line, "chain": log["chain"]}
    for state in logs.values():
        need(state["end"] == (state["last_seq"], state["last_hash"]), "head")
        need(state["marked"] == state["rows"], "marks")
    return logs, links


def from_csv(text: str, names: list[str]) -> list[dict[str, Any]]:
    first, *records = csv.reader(io.StringIO(text, newline=""), strict=True)
    need(first == names, "names")
    rows = []
    for record in records:
        need(len(record) == len(names), "cells")
        for name, cell in zip(names, record, strict=True):
            number = name == "amount" and names == NAMES_2 and is_number(cell)
            need(number or cell[:1] not in tuple("=+-@\t\r\n"), "formula")
        cells = [cell.removeprefix("'") for cell in record]
        row: dict[str, Any] = {n: cell or None for n, cell in zip(names, cells, strict=True)}
        row["data"] = strict(str(row["data"]).encode())
        for name in WHOLE:
            need(row[name] is None or str(int(row[name])) == row[name], "number")
            row[name] = None if row[name] is None else int(row[name])
        rows.append(row)
    return rows


def from_otlp(line: Any, names: list[str]) -> dict[str, Any]:
    ((resource,),) = (line["resourceLogs"],)
    ((scope,),) = (resource["scopeLogs"],)
    ((record,),) = (scope["logRecords"],)
    row: dict[str, Any] = dict.fromkeys(names)
    keys = [attribute["key"] for attribute in record["attributes"]]
    need(len(set(keys)) == len(keys), "attribute twice")
    need(set(keys) <= {f"gatepost.{name}" for name in names if name != "data"}, "attribute")
    for attribute in record["attributes"]:
        ((kind, value),) = attribute["value"].items()
        name = attribute["key"].removeprefix("gatepost.")
        need(kind == ("intValue" if name in WHOLE else "stringValue"), "type")
        need(name not in WHOLE or str(int(value)) == value, "number")
        row[name] = int(value) if name in WHOLE else value
    row["data"] = strict(record["body"]["stringValue"].encode())
    need(record["eventName"] == f"gatepost.{row['kind']}", "eventName")
    need(record["timeUnixNano"] == f"{micros(row['at'])}000", "timeUnixNano")
    return row


def is_number(text: str) -> bool:
    whole_part, dot, rest = text.removeprefix("-").partition(".")
    digits = whole_part + (rest if dot else "0")
    return bool(whole_part) and (not dot or bool(rest)) and digits.isascii() and digits.isdigit()


def check_integrity(rows: list[dict[str, Any]], logs: dict[str, Any], about: Any) -> None:
    damaged = {t: log["damaged_from"] for t, log in logs.items() if log["damaged_from"] is not None}
    n_events = sum(log["verified"] for log in logs.values())
    counts = (about["threads"], about["events"], about["damaged"])
    need(counts == (len(logs), n_events, len(damaged)), "integrity")
    for row in rows:
        thread, seq = row["thread"], row["seq"]
        if thread in damaged and seq >= damaged[thread]:
            mark = ("damaged", logs[thread]["damage"])
        else:
            mark = ("intact" if seq <= logs[thread]["verified"] else "unchecked", None)
        need((row["integrity"], row["damage"]) == mark, "mark")
        need(row["amount"] is None or is_number(row["amount"]), "amount")


def micros(text: str) -> int:
    need(len(text) == 27 and text.isascii(), "time")
    at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def check_row(row: dict[str, Any], link: dict[str, Any], requests: dict[str, Any]) -> None:
    for name in ("kind", "v", "actor", "chain", "data_hash", "prev_hash", "hash"):
        need(row[name] == link[name], name)
    need(micros(row["at"]) == link["at"], "at")
    data = row["data"]
    salt = row["salt"] or ""
    erased = salt == "" and data == {"$erased": True}
    need(erased or sha(bytes.fromhex(salt), jcs(data)) == row["data_hash"], "data")
    data = data if isinstance(data, dict) else {}
    need(row["decision"] == (data.get("verdict") or None), "decision")
    need(row["approval"] == (data.get("approval") or None), "approval")
    for name in ("node", "tool", "step"):
        need(not data.get(name) or row[name] == data[name], name)
    if row["approval"] is None:
        need(row["risk"] is None, "risk")
        return
    request = requests[row["approval"]]
    need(row["thread"] == request["thread"], "thread")
    need(row["risk"] == (request["risk"] or None), "risk")
    if row["kind"] == "approval.requested":
        needed = ("proposal_hash", "tool", "risk")
        need(all(data[name] == request[name] for name in needed), "request")
        need(data["node"] == request["position"][2], "node")
    if "decision_hash" in data:
        (one,) = [d for d in request["decisions"] if d["decision"] == data["decision"]]
        need(one["hash"] == data["decision_hash"], "decision hash")
        named = (one["verdict"], one["by_name"], one["reviewer"])
        need(named == (data["verdict"], data["by_name"], row["actor"]), "decision")
        need(data.get("decided_at", one["at"]) == one["at"], "decided at")


def check_import(row: dict[str, Any], links: dict[Any, Any], requests: dict[str, Any]) -> None:
    if row["approval"] is None or not requests[row["approval"]]["imported"]:
        return
    came = [s for (t, s), link in links.items() if t == row["thread"] if is_import(link)]
    need(bool(came), "came with no capsule")
    need(row["kind"] != "approval.requested" or row["seq"] < max(came), "asked later")


def is_import(link: dict[str, Any]) -> bool:
    return bool(link["kind"] == "thread.imported")


def check_request(one: dict[str, Any]) -> None:
    names = [
        "workspace",
        "thread",
        "position",
        "tool",
        "args",
        "agent_version",
        "policy",
        "deadline",
    ]
    names += ["origin"] if one["origin"] else []
    if not one["imported"]:
        bound = jcs({name: one[name] for name in names})
        need(sha(b"gatepost-proposal-1", bound) == one["proposal_hash"], "proposal")
    for decision in one["decisions"]:
        names = ["reviewer", "verdict", "proposal_hash", "comment", "args"]
        names += ["what_next"] if decision["what_next"] else []
        bound = jcs({"approval": one["approval"], **{name: decision[name] for name in names}})
        need(sha(bytes.fromhex(decision["salt"]), bound) == decision["hash"], "decision")
