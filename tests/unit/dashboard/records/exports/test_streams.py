"""Exports are sent while they are read: what is on record, what breaks off, which rows enter."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from approvals import queries as requests_of
from approvals.records import Part, Question
from approvals.records.cursors import BEFORE, write_cursor
from checkpoints import queries
from checkpoints.errors import ContentErased, InvalidValue
from dashboard.errors import Invalid
from dashboard.records.export import export_records
from dashboard.records.exports.rows import FORMS
from tests.support.cast import Cast, make_cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tools.verify_export import verify

from .population import decide, populate
from .second_verifier import fault_of, is_sound

EARLIER = Path(__file__).parent / "earlier/jsonl.zip"
CUT_OFF = ("the file", "is cut off: it has no end. Export the same part again")


def logged(cast: Cast) -> list[Any]:
    """The events of the workspace about exports, oldest first."""
    events = queries.workspace_events(cast.workspace).rows
    return [e for e in reversed(events) if e.kind in ("export.begun", "record.exported")]


def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("approvals.records.questions.AT_ONCE", 3)
    monkeypatch.setattr("checkpoints.queries.records.chains.AT_ONCE", 3)
    monkeypatch.setattr("dashboard.records.exports.package.AT_ONCE", 2)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    in_small_steps(monkeypatch)


@pytest.mark.django_db
@pytest.mark.requirement("A38")
@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("form", FORMS)
def test_it_is_sent_while_it_is_read(cast: Cast, tmp_path: Path, form: str) -> None:
    populate(cast)
    sent, looks, most = [], [], 0
    chunks = export_records(cast.actor("auditor"), {}, form=form).chunks()
    while True:
        with CaptureQueriesContext(connection) as captured:
            chunk = next(chunks, None)
        if chunk is None:
            break
        sent.append(chunk)
        looks.append(sum("WITH looked AS" in q["sql"] for q in captured.captured_queries))
        most = max(most, len(captured.captured_queries))
    # The first chunk needs no look at all, and each further one comes between two of them.
    assert sent[0].startswith(b"PK\3\4")
    assert looks[0] == 0
    assert sum(looks) > 5
    assert max(looks) == 1
    assert most <= 12  # the second event of the workspace has most of them
    first_rows = next(n for n, chunk in enumerate(sent) if b"thread.started" in chunk)
    assert sum(looks[: first_rows + 1]) == 1
    path = tmp_path / "x.zip"
    path.write_bytes(b"".join(sent))
    assert verify(str(path)).problems == []
    assert is_sound(path)


@pytest.mark.django_db
@pytest.mark.requirement("A38")
@pytest.mark.usefixtures("small_steps")
def test_the_record_has_its_begin_and_before_its_end_the_hash(cast: Cast, tmp_path: Path) -> None:
    populate(cast)
    export = export_records(cast.actor("auditor"), {"q": "acme"}, form="csv", limit=7)
    assert [event.kind for event in logged(cast)] == ["export.begun"]
    sent, kinds = b"", []
    for chunk in export.chunks():
        sent += chunk
        kinds.append((b"MANIFEST" in sent, len(logged(cast))))
    assert set(kinds) == {(False, 1), (True, 2)}
    (tmp_path / "x.zip").write_bytes(sent)
    report = verify(str(tmp_path / "x.zip"))
    with zipfile.ZipFile(tmp_path / "x.zip") as packed:
        assert packed.namelist()[-2:] == ["export.json", "MANIFEST"]
        facts = json.loads(packed.read("export.json"))
    begun, ended = logged(cast)
    ident, who = facts["export"], cast.actor("auditor").id
    assert begun.data == {
        "export": ident, "filters": {"q": "acme"}, "form": "csv", "after": "", "limit": 7
    }  # fmt: skip
    assert ended.data == {
        "export": ident, "form": "csv", "events": 2, "logs": 1, "requests": 1, "next": "",
        "manifest": report.manifest,
    }  # fmt: skip
    assert {begun.actor, ended.actor} == {who}


@pytest.mark.django_db
def test_what_is_refused_is_no_begin(cast: Cast) -> None:
    wrong: list[dict[str, Any]] = [{"form": "xml"}, {"limit": 0}, {"cursor": "x"}]
    for options in wrong:
        with pytest.raises(Invalid):
            export_records(cast.actor("auditor"), {}, **options)
    assert logged(cast) == []


# --- what breaks off ------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.requirement("A38")
def test_a_file_that_is_cut_off_is_named_wherever_it_ends(cast: Cast, tmp_path: Path) -> None:
    populate(cast)
    whole = b"".join(export_records(cast.actor("auditor"), {}).chunks())
    path = tmp_path / "x.zip"
    ends = {0, 1, 3, 4, 40, *range(100, len(whole), len(whole) // 40)}
    for end in sorted(ends | {len(whole) - n for n in (1, 2, 21, 22, 23, 60)}):
        path.write_bytes(whole[:end])
        assert verify(str(path)).problems == [CUT_OFF], end
        assert fault_of(path) == "cut off", end
    path.write_bytes(whole)
    assert (verify(str(path)).problems, fault_of(path)) == ([], "")


@pytest.mark.django_db
@pytest.mark.requirement("A38")
@pytest.mark.parametrize(
    "where",
    [
        "approvals.records.parts.oldest_first",
        "dashboard.records.exports.rows.people",
        "dashboard.records.exports.package.recorded_requests",
        "dashboard.records.exports.package.chains.logs_of",
        "dashboard.records.exports.package.anchors.newest_of",
        "dashboard.records.export.store.log_export",
    ],
)
def test_a_failure_in_the_middle_gives_no_whole_file(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fails(*_args: Any, **_kwargs: Any) -> Any:
        raise OSError("gone")

    populate(cast)
    export = export_records(cast.actor("auditor"), {})
    monkeypatch.setattr(where, fails)
    sent: list[bytes] = []
    with pytest.raises(OSError, match="gone"):
        sent.extend(export.chunks())
    assert next(export.chunks(), None) is None  # it does not go on
    assert not hasattr(export, "exported")
    path = tmp_path / "x.zip"
    path.write_bytes(b"".join(sent))
    assert verify(str(path)).problems == [CUT_OFF]
    assert fault_of(path) == "cut off"
    assert [event.kind for event in logged(cast)] == ["export.begun"]


@pytest.mark.django_db
@pytest.mark.usefixtures("small_steps")
def test_a_reader_who_has_gone_costs_no_further_look(cast: Cast) -> None:
    populate(cast)
    export = export_records(cast.actor("auditor"), {})
    chunks = export.chunks()
    for _ in range(3):
        next(chunks)
    with CaptureQueriesContext(connection) as captured:
        export.close()
        assert list(chunks) == []
    assert len(captured) == 0
    assert [event.kind for event in logged(cast)] == ["export.begun"]


@pytest.mark.django_db
@pytest.mark.usefixtures("small_steps")
def test_it_breaks_off_where_a_request_is_erased_meanwhile(cast: Cast) -> None:
    requests = populate(cast)
    chunks = export_records(cast.actor("auditor"), {"kind": "approval"}).chunks()
    next(chunk for chunk in chunks if b"requests.jsonl" in chunk)
    rows("SET session_replication_role = replica")
    rows(
        "INSERT INTO gp_erased (id, workspace_id, erasure_id, remains, n_rows, n_bytes) "
        "VALUES (%s, %s, gen_random_uuid(), '', 0, 0)",
        (requests[0].thread, cast.workspace),
    )
    rows("SET session_replication_role = DEFAULT")
    with pytest.raises(ContentErased):
        list(chunks)


# --- which rows enter -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.requirement("A38")
@pytest.mark.parametrize("kind", ["notable", "approval,decision", "all"])
def test_the_rows_are_those_of_the_begin(
    real_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Neither what is committed while an export is sent nor what was being written at its begin."""
    in_small_steps(monkeypatch)
    cast = make_cast()
    populate(cast)
    expected = keys(export_of(cast, tmp_path / "before.zip", kind))
    assert len(expected) > 6
    open_request = next(row for row in populated(cast) if row.status == "pending")
    with written_elsewhere(cast) as commit:
        first = export_records(cast.actor("auditor"), {"kind": kind}, limit=5)
        chunks = first.chunks()
        sent = next(chunks)
        commit()
    decide_and_start(cast, open_request)
    sent += b"".join(chunks)
    (tmp_path / "1.zip").write_bytes(sent)
    parts, cursor = [tmp_path / "1.zip"], first.exported.next_cursor
    while cursor:
        part = export_records(cast.actor("auditor"), {"kind": kind}, cursor=cursor, limit=5)
        path = tmp_path / f"{len(parts) + 1}.zip"
        path.write_bytes(b"".join(part.chunks()))
        parts, cursor = [*parts, path], part.exported.next_cursor
    for path in parts:
        assert verify(str(path)).problems == []
        assert is_sound(path)
    assert [key for path in parts for key in keys(path)] == expected
    assert len(keys(export_of(cast, tmp_path / "after.zip", kind))) > len(expected)


def export_of(cast: Cast, path: Path, kind: str) -> Path:
    path.write_bytes(b"".join(export_records(cast.actor("auditor"), {"kind": kind}).chunks()))
    return path


def keys(path: Path) -> list[tuple[str, int]]:
    """The rows of an export, in their order."""
    with zipfile.ZipFile(path) as packed:
        values = [json.loads(line) for line in packed.read("events.jsonl").splitlines()]
    return [(value["thread"], value["seq"]) for value in values]


def populated(cast: Cast) -> list[Any]:
    idents = [row[0] for row in rows("SELECT id FROM gp_approval ORDER BY id")]
    return [requests_of.approval(ident, workspace=cast.workspace) for ident in idents]


def decide_and_start(cast: Cast, request: Any) -> None:
    decide(cast, request, "approve", "meanwhile")
    scene.start(cast.workspace, scene.make_agent("research"))


@contextmanager
def written_elsewhere(cast: Cast) -> Iterator[Callable[[], None]]:
    """A request is made in a transaction of another connection; what is given commits it."""
    written, may_end = threading.Event(), threading.Event()

    def work() -> None:
        try:
            with transaction.atomic():
                leased = scene.lease(scene.start(cast.workspace, scene.make_agent("late")))
                scene.gate(leased, title="Late?")
                written.set()
                assert may_end.wait(60)
        finally:
            written.set()
            connections.close_all()

    def end() -> None:
        may_end.set()
        writer.join()

    writer = threading.Thread(target=work)
    writer.start()
    assert written.wait(60)
    try:
        yield end
    finally:
        end()


@pytest.mark.django_db
def test_events_that_came_with_a_dump_are_rows(cast: Cast, tmp_path: Path) -> None:
    """Their transactions have numbers that this server has not given out yet."""
    populate(cast)
    before = keys(export_of(cast, tmp_path / "before.zip", "all"))
    rows("SET session_replication_role = replica")
    rows("UPDATE gp_event SET xid8 = (xid8::text::bigint + 1000000000)::text::xid8")
    rows("SET session_replication_role = DEFAULT")
    for kind in ("notable", "all"):
        assert keys(export_of(cast, tmp_path / "x.zip", kind))
    assert sorted(keys(export_of(cast, tmp_path / "x.zip", "all"))) == sorted(before)


@pytest.mark.django_db
def test_a_moment_that_no_cursor_named_is_refused(cast: Cast) -> None:
    question = Question(cast.workspace)

    def part(moment: Any) -> list[Any]:
        cursor = write_cursor(question.walk, BEFORE, moment)
        return list(Part(question, cursor=cursor, limit=1).pages())

    scene.start(cast.workspace, scene.make_agent())
    for sound in ("1:1:", "3:9:3,8", "700:9223372036854775807:"):
        assert part(sound) is not None
    for wrong in (
        "1", "1:2", "0:1:", "2:1:", "1:2:2", "1:5:3,2", "5:9:3", "1:2:,", "1:99999999999999999999:",
        "a:b:c", 7, ["1:1:"], "1:1:'",
    ):  # fmt: skip
        with pytest.raises(InvalidValue):
            part(wrong)


# --- the file -------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_file_beyond_the_limits_of_zip_is_read(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if 4 GiB were a thousand bytes: sizes and places are 64-bit numbers in the list then."""
    populate(cast)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1_000)
    path = export_of(cast, tmp_path / "x.zip", "all")
    monkeypatch.undo()
    assert b"PK\6\6" in path.read_bytes()
    assert verify(str(path)).problems == []
    assert is_sound(path)
    with zipfile.ZipFile(path) as packed:
        assert packed.testzip() is None
        assert max(info.file_size for info in packed.infolist()) > 1_000


@pytest.mark.requirement("A38")
def test_an_export_of_before_is_still_sound() -> None:
    """It was collected first: MANIFEST is its first member, and no pair of events names it."""
    with zipfile.ZipFile(EARLIER) as packed:
        assert packed.namelist()[0] == "MANIFEST"
    report = verify(str(EARLIER))
    assert (report.problems, report.counts["rows"]) == ([], 7)
    assert is_sound(EARLIER)
