"""100 sound and 132 damaged exports: both verifiers judge every one of them rightly."""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model

from checkpoints import store
from dashboard.identity.permissions import actor_of
from dashboard.records.export import export_records
from dashboard.records.exports.rows import COLUMNS, FORMS
from dashboard.records.integrity import anchors
from tests.support.cast import Cast
from tests.unit.dashboard import carried
from tests.unit.workers.conftest import Bench
from tools import verify_export
from tools.verify_export import canonical, verify

from .population import populate, verify_all
from .second_verifier import is_sound

pytestmark = pytest.mark.django_db
N = 100
DAMAGED = 132  # each damage four times
MEMBERS = ("requests.jsonl", "chain.jsonl", "anchors.jsonl", "export.json")


def write(path: Path, members: dict[str, bytes], *, resealed: bool = True) -> Path:
    """A zip file; `resealed` has a MANIFEST that fits, as somebody who knows how would do it."""
    if resealed:
        lines = [
            f"{hashlib.sha256(raw).hexdigest()}  {name}\n"
            for name, raw in members.items()
            if name != "MANIFEST"
        ]
        members = {**members, "MANIFEST": "".join(lines).encode()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, raw in members.items():
            packed.writestr(name, raw)
    return path


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def questions(chance: random.Random) -> Iterator[tuple[dict[str, str], str, int]]:
    """Filters, form and number of rows, again and again others."""
    filters: tuple[dict[str, str], ...] = (
        {},
        {"q": "acme"},
        {"kind": "approval"},
        {"risk": "high"},
        {"decision": "reject"},
        {"payee": "globex"},
        {"amount_from": "100"},
        {"agent": "payments"},
        {"tool": "publish"},
        {"actor": "manager"},
        {"q": "nothing like it"},
        {"kind": "effect,thread"},
    )
    for i in range(N):
        yield filters[i % len(filters)], tuple(FORMS)[i % 3], chance.choice((1, 3, 7, 1_000))


@pytest.mark.slow
@pytest.mark.requirement("A38")
def test_a_hundred_sound_exports_are_sound(cast: Cast, tmp_path: Path, settings: Any) -> None:
    settings.GATEPOST_DATA = tmp_path
    populate(cast)
    who, n_rows, made = cast.actor("auditor"), 0, 0
    for filters, form, limit in questions(random.Random(21)):
        if made == N // 2:
            anchors.write(anchors.default_path())
        export = export_records(who, filters, form=form, limit=limit)
        path = tmp_path / "x.zip"
        path.write_bytes(b"".join(export.chunks()))
        report = verify(str(path))
        assert report.problems == [], (filters, form, limit)
        assert is_sound(path), (filters, form, limit)
        made += 1
        n_rows += report.counts["rows"]
    assert made == N
    assert n_rows > 3 * N


@pytest.mark.slow
@pytest.mark.requirement("A38")
def test_a_hundred_damaged_exports_are_broken(cast: Cast, tmp_path: Path, settings: Any) -> None:
    settings.GATEPOST_DATA = tmp_path
    populate(cast)
    verify_all(cast)
    anchors.write(anchors.default_path())
    who, chance, sound = cast.actor("auditor"), random.Random(22), {}
    for form in FORMS:
        path = tmp_path / f"{form}.zip"
        path.write_bytes(b"".join(export_records(who, {}, form=form).chunks()))
        assert verify(str(path)).problems == []
        sound[form] = read(path)
    where: dict[str, int] = {}
    for i in range(DAMAGED):
        form = tuple(FORMS)[i % 3]
        damage = DAMAGES[i % len(DAMAGES)]
        members, resealed = damage(dict(sound[form]), FORMS[form][0], chance)
        assert members != sound[form], damage.__name__
        path = write(tmp_path / "x.zip", members, resealed=resealed)
        report = verify(str(path))
        assert report.problems, (damage.__name__, form)
        assert not is_sound(path), (damage.__name__, form)
        named = " ".join(f"{where_broken} {what}" for where_broken, what in report.problems)
        assert NAMED[damage.__name__] in named, (damage.__name__, form, report.problems[:3])
        where[damage.__name__] = where.get(damage.__name__, 0) + 1
    assert len(where) == len(DAMAGES)
    assert sum(where.values()) == DAMAGED


# --- damages: each gives other members, and whether a fitting MANIFEST is written anew -----------
Members = dict[str, bytes]
Damaged = tuple[Members, bool]


def a_byte(members: Members, rows: str, chance: random.Random) -> Damaged:
    name = chance.choice((rows, *MEMBERS))
    raw = bytearray(members[name])
    raw[chance.randrange(len(raw))] ^= 1
    return members | {name: bytes(raw)}, False


def a_member_gone(members: Members, rows: str, chance: random.Random) -> Damaged:
    del members[chance.choice((rows, *MEMBERS))]
    return members, True


def a_member_too_many(members: Members, rows: str, chance: random.Random) -> Damaged:
    return members | {"notes.txt": b"hello\n"}, False


def a_row_gone(members: Members, rows: str, chance: random.Random) -> Damaged:
    some = records(members, rows)
    del some[chance.randrange(len(some))]
    return recount(put(members, rows, some), rows=-1), True


def a_row_twice(members: Members, rows: str, chance: random.Random) -> Damaged:
    some = records(members, rows)
    some.append(chance.choice(some))
    return recount(put(members, rows, some), rows=1), True


def a_field_of_a_row(members: Members, rows: str, chance: random.Random) -> Damaged:
    some = records(members, rows)
    name = chance.choice(("actor", "kind", "salt", "data_hash", "prev_hash", "hash", "chain"))
    value = chance.choice(some)
    value[name] = value[name][:-1] + ("0" if value[name][-1] != "0" else "1")
    return put(members, rows, some), True


def a_decision_turned(members: Members, rows: str, chance: random.Random) -> Damaged:
    some = records(members, rows)
    row = chance.choice([one for one in some if one.get("decision")])
    row["decision"] = row["data"]["verdict"] = "respond"
    return put(members, rows, some), True


def a_time_moved(members: Members, rows: str, chance: random.Random) -> Damaged:
    some = records(members, rows)
    row = chance.choice(some)
    row["at"] = f"2025{row['at'][4:]}"
    return put(members, rows, some), True


def a_gap(members: Members, rows: str, chance: random.Random) -> Damaged:
    chain = lines_of(members["chain.jsonl"])
    places = [i for i, one in enumerate(chain) if one["type"] == "link" and not one["row"]]
    places = [i for i in places if i + 1 < len(chain) and chain[i + 1]["type"] == "link"]
    del chain[chance.choice(places)]
    return recount(members | {"chain.jsonl": lines(chain)}, links=-1), True


def an_end_cut_off(members: Members, rows: str, chance: random.Random) -> Damaged:
    chain = lines_of(members["chain.jsonl"])
    places = [
        i
        for i, one in enumerate(chain)
        if one["type"] == "link" and not one["row"]
        and (i + 1 == len(chain) or chain[i + 1]["type"] == "log")
    ]  # fmt: skip
    del chain[chance.choice(places)]
    return recount(members | {"chain.jsonl": lines(chain)}, links=-1), True


def another_head(members: Members, rows: str, chance: random.Random) -> Damaged:
    chain = lines_of(members["chain.jsonl"])
    log = chance.choice([one for one in chain if one["type"] == "log"])
    log["last_hash"] = "f" * 64
    return members | {"chain.jsonl": lines(chain)}, True


def a_link_altered(members: Members, rows: str, chance: random.Random) -> Damaged:
    chain = lines_of(members["chain.jsonl"])
    link = chance.choice([one for one in chain if one["type"] == "link"])
    link["at"] += 1
    return members | {"chain.jsonl": lines(chain)}, True


def an_end_written_anew(members: Members, rows: str, chance: random.Random) -> Damaged:
    """The last event of a log is another, hashed rightly: only the anchor knows."""
    chain = lines_of(members["chain.jsonl"])
    i = chance.choice(
        [
            i
            for i, one in enumerate(chain)
            if one["type"] == "link" and not one["row"]
            and (i + 1 == len(chain) or chain[i + 1]["type"] == "log")
        ]
    )  # fmt: skip
    log = next(one for one in chain[i::-1] if one["type"] == "log")
    chain[i]["actor"] = "user:99"
    chain[i]["hash"] = log["last_hash"] = verify_export.link_hash(log["chain"], chain[i])
    return members | {"chain.jsonl": lines(chain)}, True


def arguments_altered(members: Members, rows: str, chance: random.Random) -> Damaged:
    requests = lines_of(members["requests.jsonl"])
    chance.choice(requests)["args"] = {"payee": "somebody else"}
    return members | {"requests.jsonl": lines(requests)}, True


def arguments_of_an_import(members: Members, rows: str, chance: random.Random) -> Damaged:
    """A request that is said to have come from elsewhere, where other hashes hold."""
    requests = lines_of(members["requests.jsonl"])
    one = chance.choice(requests)
    one["args"], one["imported"] = {"payee": "somebody else"}, True
    return members | {"requests.jsonl": lines(requests)}, True


def a_decision_at_another_time(members: Members, rows: str, chance: random.Random) -> Damaged:
    requests = lines_of(members["requests.jsonl"])
    one = chance.choice([one for one in requests if one["decisions"]])
    one["decisions"][0]["at"] = one["decisions"][0]["at"].replace("20", "19", 1)
    return members | {"requests.jsonl": lines(requests)}, True


def a_mark_altered(members: Members, rows: str, chance: random.Random) -> Damaged:
    """A damage hidden in the rows and left in the log, or the other way round."""
    some = records(members, rows)
    chance.choice(some)["integrity"] = "unchecked"
    return put(members, rows, some), True


def a_damage_hidden(members: Members, rows: str, chance: random.Random) -> Damaged:
    """A log that was damaged, of which nothing says so but the log."""
    chain = lines_of(members["chain.jsonl"])
    log = chance.choice([one for one in chain if one["type"] == "log"])
    log["damaged_from"], log["damage"] = 1, "Event 1: its data do not fit their hash."
    return members | {"chain.jsonl": lines(chain)}, True


def a_risk_of_no_request(members: Members, rows: str, chance: random.Random) -> Damaged:
    some = records(members, rows)
    free = [row for row in some if not row.get("approval")]
    row = chance.choice(free)
    row["risk"] = "low"
    if "_" in row:
        attribute = {"key": "gatepost.risk", "value": {"stringValue": "low"}}
        row["_"]["attributes"].append(attribute)
    return put(members, rows, some), True


def arguments_and_hash_altered(members: Members, rows: str, chance: random.Random) -> Damaged:
    requests = lines_of(members["requests.jsonl"])
    one = chance.choice(requests)
    one["args"] = {"payee": "somebody else"}
    one["proposal_hash"] = verify_export.proposal_hash(one)
    return members | {"requests.jsonl": lines(requests)}, True


def a_comment_altered(members: Members, rows: str, chance: random.Random) -> Damaged:
    requests = lines_of(members["requests.jsonl"])
    one = chance.choice([one for one in requests if one["decisions"]])
    one["decisions"][0]["comment"] += "!"
    return members | {"requests.jsonl": lines(requests)}, True


def a_decision_gone(members: Members, rows: str, chance: random.Random) -> Damaged:
    requests = lines_of(members["requests.jsonl"])
    chance.choice([one for one in requests if one["decisions"]])["decisions"] = []
    return members | {"requests.jsonl": lines(requests)}, True


def a_request_gone(members: Members, rows: str, chance: random.Random) -> Damaged:
    requests = lines_of(members["requests.jsonl"])
    del requests[chance.randrange(len(requests))]
    return recount(members | {"requests.jsonl": lines(requests)}, requests=-1), True


def an_anchor_altered(members: Members, rows: str, chance: random.Random) -> Damaged:
    noted = lines_of(members["anchors.jsonl"])
    chance.choice(noted)["hash"] = "e" * 64
    return members | {"anchors.jsonl": lines(noted)}, True


def a_count(members: Members, rows: str, chance: random.Random) -> Damaged:
    return recount(members, links=chance.choice((-1, 1))), True


def another_format(members: Members, rows: str, chance: random.Random) -> Damaged:
    return members | {"export.json": members["export.json"].replace(b"export-2", b"export-3")}, True


def jsonl_of(rows: str, chance: random.Random) -> str:
    """A member with lines of JSON."""
    return chance.choice([name for name in (rows, *MEMBERS) if not name.endswith(".csv")])


def respelt(members: Members, name: str, change: Callable[[bytes], bytes]) -> Damaged:
    """The first line of a member in another form of the same values."""
    first, line_feed, rest = members[name].partition(b"\n")
    return members | {name: change(first) + line_feed + rest}, True


def a_byte_order_mark(members: Members, rows: str, chance: random.Random) -> Damaged:
    name = chance.choice((rows, *MEMBERS))
    return members | {name: b"\xef\xbb\xbf" + members[name]}, True


def a_carriage_return(members: Members, rows: str, chance: random.Random) -> Damaged:
    return respelt(members, jsonl_of(rows, chance), lambda line: line + b"\r")


def a_blank(members: Members, rows: str, chance: random.Random) -> Damaged:
    return respelt(members, jsonl_of(rows, chance), lambda line: line.replace(b":", b": ", 1))


def a_name_twice(members: Members, rows: str, chance: random.Random) -> Damaged:
    def change(line: bytes) -> bytes:
        name = line[1:].partition(b":")[0]
        return b"{" + name + b":null," + line[1:]

    return respelt(members, jsonl_of(rows, chance), change)


def a_name_twice_in_the_data(members: Members, rows: str, chance: random.Random) -> Damaged:
    twice = members[rows].replace(b'"kind":"', b'"kind":"x","kind":"', 1)
    if rows.endswith(".csv"):
        twice = members[rows].replace(b'{""', b'{""a"":1,""', 1)
    elif "otlp" in rows:
        twice = members[rows].replace(b'"{\\"', b'"{\\"a\\":1,\\"', 1)
    return members | {rows: twice}, True


def another_form_of_a_time(members: Members, rows: str, chance: random.Random) -> Damaged:
    some = records(members, rows)
    row = chance.choice(some)
    row["at"] = row["at"].removesuffix("Z") + "0Z"
    return put(members, rows, some), True


def a_request_of_another_thread(members: Members, rows: str, chance: random.Random) -> Damaged:
    """A request hashed rightly for another thread, and rows that name it."""
    requests = lines_of(members["requests.jsonl"])
    for one in requests:
        one["thread"] = str(UUID(int=1))
        one["proposal_hash"] = verify_export.proposal_hash(one)
    return members | {"requests.jsonl": lines(requests)}, True


NAMED = {
    "a_byte_order_mark": "",
    "a_carriage_return": "cannot be read",
    "a_blank": "cannot be read",
    "a_name_twice": "cannot be read",
    "a_name_twice_in_the_data": "",
    "another_form_of_a_time": "",
    "a_request_of_another_thread": "thread: is not that of its request",
    "a_byte": "its bytes are not those that MANIFEST names",
    "a_member_gone": "",  # which one decides what is said
    "a_member_too_many": "is not named in MANIFEST",
    "a_row_gone": "the row is missing",
    "a_row_twice": "occurs twice",
    "a_field_of_a_row": "",
    "a_decision_turned": "data: does not fit data_hash",
    "a_time_moved": "",
    "a_gap": "gap: event",
    "an_end_cut_off": "head: it ends with event",
    "another_head": "head: it ends with event",
    "a_link_altered": "hash: does not fit",
    "an_end_written_anew": "is not the one that was anchored",
    "arguments_altered": "proposal_hash: what was proposed does not fit it",
    "arguments_and_hash_altered": "proposal_hash: its request in requests.jsonl has another",
    "arguments_of_an_import": "did not come with a capsule",
    "a_decision_at_another_time": "decision: its time is another",
    "a_risk_of_no_request": "risk: it belongs to no request",
    "a_mark_altered": "integrity: is not what its log says",
    "a_damage_hidden": "export.json, integrity",
    "a_comment_altered": "it does not match its hash",
    "a_decision_gone": "decision: the one in requests.jsonl is another",
    "a_request_gone": "approval: its request is missing",
    "an_anchor_altered": "is not the one that was anchored",
    "a_count": "export.json, counts",
    "another_format": "its format is none of",
}
DAMAGES: list[Callable[[Members, str, random.Random], Damaged]] = [globals()[n] for n in NAMED]


# --- members as values, and back -----------------------------------------------------------------


def lines_of(raw: bytes) -> list[Any]:
    return [json.loads(line) for line in raw.splitlines()]


def lines(values: list[Any]) -> bytes:
    return b"".join(canonical(value) + b"\n" for value in values)


def recount(members: Members, **by: int) -> Members:
    facts = json.loads(members["export.json"])
    for name, n in by.items():
        facts["counts"][name] += n
    return members | {"export.json": lines([facts])}


def records(members: Members, name: str) -> list[dict[str, Any]]:
    """Rows of whatever form as dicts of the columns; `put` writes them back."""
    raw = members[name]
    if name.endswith(".csv"):
        table = list(csv.reader(io.StringIO(raw.decode(), newline="")))[1:]
        rows = [dict(zip(COLUMNS, cells, strict=True)) for cells in table]
        return [row | {"data": json.loads(row["data"])} for row in rows]
    if "otlp" not in name:
        return lines_of(raw)
    return [
        {
            one["key"].removeprefix("gatepost."): next(iter(one["value"].values()))
            for one in record["attributes"]
        }
        | {"data": json.loads(record["body"]["stringValue"]), "_": record}
        for line in lines_of(raw)
        for record in line["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    ]


def put(members: Members, name: str, rows: list[dict[str, Any]]) -> Members:
    if name.endswith(".csv"):
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([(row | {"data": canonical(row["data"]).decode()})[c] for c in COLUMNS])
        return members | {name: buffer.getvalue().encode()}
    if "otlp" not in name:
        return members | {name: lines(rows)}
    written = []
    for row in rows:
        record = json.loads(json.dumps(row["_"]))
        record["body"]["stringValue"] = canonical(row["data"]).decode()
        for one in record["attributes"]:
            (kind,) = one["value"]
            one["value"] = {kind: row[one["key"].removeprefix("gatepost.")]}
        scope = [{"scope": {"name": "gatepost.record"}, "logRecords": [record]}]
        written.append({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": scope}]})
    return members | {name: lines(written)}


def test_requests_that_came_with_a_capsule_are_sound(
    lived_here: tuple[Bench, UUID], tmp_path: Path, settings: Any
) -> None:
    _, thread = lived_here
    capsule = carried.export(thread, tmp_path)
    carried.empty(agents=False)
    there = carried.another_workspace()
    carried.brought(capsule)
    user = get_user_model().objects.get(username="carrier")
    store.grant(there, user.pk, "auditor", actor="user:0")
    path = tmp_path / "x.zip"
    for form in FORMS:
        export = export_records(actor_of(user), {"kind": "all"}, form=form)
        path.write_bytes(b"".join(export.chunks()))
        assert any(one["imported"] for one in lines_of(read(path)["requests.jsonl"]))
        assert verify(str(path)).problems == []
        assert is_sound(path)


@pytest.mark.requirement("A38")
def test_the_verifier_is_one_file_of_the_standard_library() -> None:
    tree = ast.parse(Path(verify_export.__file__).read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).partition(".")[0])
    assert names <= set(sys.stdlib_module_names) | {"__future__"}


def test_the_verifier_as_a_command(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    populate(cast)
    path = tmp_path / "x.zip"
    path.write_bytes(b"".join(export_records(cast.actor("auditor"), {}).chunks()))
    assert verify_export.main([str(path)]) == 0
    assert ": sound: " in capsys.readouterr().out
    damaged, _ = a_row_gone(read(path), "events.jsonl", random.Random(1))
    assert verify_export.main([str(write(tmp_path / "y.zip", damaged))]) == 1
    assert "the row is missing" in capsys.readouterr().out
    for name in read(path):
        less = {one: raw for one, raw in read(path).items() if one != name}
        broken = write(tmp_path / "y.zip", less, resealed=name != "MANIFEST")
        assert verify_export.main([str(broken)]) == 1
        assert "MANIFEST" in capsys.readouterr().out
    for name in read(path).keys() - {"MANIFEST"}:
        deep = {**read(path), name: b"[" * 100_000 + b"]" * 100_000 + b"\n"}
        assert verify_export.main([str(write(tmp_path / "y.zip", deep))]) == 1
        assert "BROKEN" in capsys.readouterr().out
    (tmp_path / "z.zip").write_bytes(b"PK no zip at all")
    assert verify_export.main([str(tmp_path / "z.zip")]) == 1
    path.write_bytes(path.read_bytes()[:-30])
    assert verify_export.main([str(path)]) == 1
