"""Known vulnerabilities: found offline, dated, refreshed from a server that speaks OSV."""

from __future__ import annotations

import http.server
import io
import json
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from packaging.version import Version

from dashboard.operate.doctor import deployment
from dashboard.operate.doctor.findings import Seen
from dashboard.operate.packages import advisories
from dashboard.operate.packages.advisories import Advisories, Advisory, Range
from dashboard.operate.packages.locked import Package, read_lock
from tests.faults.embedded.helpers import ROOT


def run(*words: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, answer, and what was written beside it."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("advisories", "--json", *words, stdout=out, stderr=err)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, json.loads(out.getvalue() or "{}"), err.getvalue()


def saved(path: Path, *rows: Advisory, **changes: Any) -> Path:
    """A file with these advisories."""
    known: dict[str, Any] = {
        "as_of": date(2026, 11, 1),
        "source": "a test",
        "complete": True,
        "packages": ("django",),
        "advisories": rows,
    }
    advisories.write(path, Advisories(**known | changes))
    return path


DJANGO = Advisory(
    id="PYSEC-1",
    aliases=("CVE-1",),
    package="Django",
    summary="bad",
    affected=(Range(introduced="5.0", fixed="5.2"), Range(introduced="6.1", fixed="6.1.99")),
)


# --- what ships ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_nothing_that_is_locked_is_known_to_be_vulnerable(lock: str) -> None:
    known = advisories.read(advisories.SHIPPED)
    assert advisories.vulnerable(read_lock(ROOT / lock), known) == []


def test_the_shipped_file_is_dated_honest_and_can_be_read() -> None:
    known = advisories.read(advisories.SHIPPED)
    assert date(2026, 1, 1) < known.as_of <= datetime.now(UTC).date()
    assert len(known.advisories) >= 50
    everything = {one.name for one in read_lock(ROOT / "requirements-dev.lock")}
    for one in known.advisories:
        assert one.package in everything, one.package
        assert one.package in known.packages
        assert one.affected
        for part in one.affected:
            assert part.fixed or part.last_affected
            assert Version(part.introduced) < Version(part.fixed or part.last_affected)


@pytest.mark.parametrize(
    ("package", "version", "advisory"),
    [
        ("django", "6.0.1", "CVE-2026-1207"),
        ("django", "5.2.10", "CVE-2026-1207"),
        ("h11", "0.14.0", "CVE-2025-43859"),
        ("urllib3", "2.6.2", "CVE-2026-21441"),
        ("pyyaml", "5.3.1", "CVE-2020-14343"),
    ],
)
def test_old_versions_are_named_by_the_shipped_file(
    package: str, version: str, advisory: str
) -> None:
    known = advisories.read(advisories.SHIPPED)
    results = advisories.vulnerable([Package(package, version)], known)
    assert advisory in {one.id for one in results}
    assert all(Version(one.fixed) > Version(version) for one in results)


# --- ranges -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "inside", "outside"),
    [
        (Range(fixed="2.0"), ["0.1", "1.9", "2.0rc1"], ["2.0", "2.0.post1", "3"]),
        (Range(introduced="1.5", fixed="2.0"), ["1.5", "1.10"], ["1.4.9", "2.0"]),
        (Range(introduced="1.5", last_affected="2.0"), ["1.5", "2.0"], ["1.4", "2.0.1"]),
        (Range(introduced="1.5"), ["1.5", "99"], ["1.4"]),
        (Range(introduced="not a version"), ["1", "2"], []),
    ],
)
def test_ranges(part: Range, inside: list[str], outside: list[str]) -> None:
    assert all(part.holds(Version(v)) for v in inside)
    assert not any(part.holds(Version(v)) for v in outside)


# --- the command --------------------------------------------------------------------------------


def test_a_package_that_is_affected_fails_the_command(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    lock.write_text("django==6.1.3 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    path = saved(tmp_path / "known.json", DJANGO)
    code, answer, text = run("--lock", str(lock), "--file", str(path))
    assert code == 1
    (row,) = answer["vulnerable"]
    assert (row["package"], row["id"], row["fixed"]) == ("django", "PYSEC-1", "6.1.99")
    assert "1 affected" in text
    code, answer, text = run("--lock", str(lock), "--file", str(path), "--accept", "CVE-1")
    assert (code, answer["vulnerable"], answer["accepted"]) == (0, [], ["PYSEC-1"])
    assert "Accepted: PYSEC-1" in text


def test_it_says_how_old_its_data_are(tmp_path: Path) -> None:
    day = datetime.now(UTC).date() - timedelta(days=75)
    path = saved(tmp_path / "known.json", as_of=day)
    code, answer, text = run("--file", str(path))
    assert (code, answer["age_days"], answer["as_of"]) == (0, 75, str(day))
    assert "75 days old" in text
    assert "--refresh" in text
    fresh = saved(tmp_path / "known.json", as_of=day + timedelta(days=74))
    assert "--refresh" not in run("--file", str(fresh))[2]
    _, answer, text = run("--file", str(saved(path, complete=False)))
    assert answer["complete"] is False
    assert "not complete (a test)" in text


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "other"}', "\0"])
def test_a_file_that_is_none_is_refused_and_never_read_as_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    assert run("--file", str(path))[0] == 2
    assert run("--file", str(tmp_path / "absent"))[0] == 2


# --- the refresh --------------------------------------------------------------------------------


class _Osv(http.server.BaseHTTPRequestHandler):
    """Answers as OSV does: entries by package name, in pages."""

    entries: dict[str, list[dict[str, Any]]] = {}
    queried: list[str] = []
    status = 200

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/query"
        assert query["package"]["ecosystem"] == "PyPI"
        name = query["package"]["name"]
        self.queried.append(name)
        rows, page = self.entries.get(name, []), int(query.get("page_token") or 0)
        answer: dict[str, Any] = {"vulns": rows[page : page + 1]} if rows else {}
        if page + 1 < len(rows):
            answer["next_page_token"] = str(page + 1)
        body = json.dumps(answer).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def osv() -> Iterator[str]:
    """Where it listens."""
    _Osv.entries, _Osv.queried, _Osv.status = {}, [], 200
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Osv) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def entry(name: str, events: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    package = {"name": "Django", "ecosystem": "PyPI"}
    ranges = [{"type": "GIT", "events": [{"introduced": "0"}]}]
    if events:
        ranges.append({"type": "ECOSYSTEM", "events": events})
    affected = {"package": package, "ranges": ranges, "versions": ["6.1.3"]}
    if not events:
        affected["ranges"] = []
    return {
        "id": name,
        "aliases": ["CVE-9"],
        "details": "line\nmore",
        "affected": [affected],
    } | more


def test_a_refresh_asks_for_each_package_and_counts_from_then_on(
    osv: str, tmp_path: Path, settings: Any
) -> None:
    settings.GATEPOST_DATA = tmp_path
    lock = tmp_path / "some.lock"
    lock.write_text("django==6.1.3 \\\nasgiref==3.13.0 \\\n")
    _Osv.entries["django"] = [
        entry("A", [{"introduced": "0"}, {"fixed": "4.2"}, {"introduced": "6.0"}, {"fixed": "7"}]),
        entry("B", [{"introduced": "0"}, {"last_affected": "6.1.3"}]),
        entry("C", []),
        entry("D", [{"introduced": "0"}, {"fixed": "6.1"}]),
        entry("W", [{"introduced": "0"}], withdrawn="2026-01-01T00:00:00Z"),
        entry("E", [{"introduced": "0"}], affected=[{"package": {"name": "other"}}]),
    ]
    code, answer, _ = run("--refresh", "--url", osv, "--lock", str(lock))
    assert code == 1
    assert {v["id"] for v in answer["vulnerable"]} == {"A", "B", "C"}
    assert answer["complete"] is True
    assert answer["age_days"] == 0
    assert set(_Osv.queried) == {"django", "asgiref"}
    # Without a network the refreshed file counts, not the older one that ships.
    _, answer, _ = run("--lock", str(lock))
    assert (answer["source"], {v["id"] for v in answer["vulnerable"]}) == (osv, {"A", "B", "C"})


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_refresh_that_fails_leaves_the_former_file(osv: str, tmp_path: Path, status: int) -> None:
    path = saved(tmp_path / "known.json", DJANGO)
    before = path.read_bytes()
    _Osv.status = status
    assert run("--refresh", "--url", osv, "--file", str(path))[0] == 4
    assert run("--refresh", "--url", "http://127.0.0.1:1", "--file", str(path))[0] == 4
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "broken", [{"affected": [7]}, {"affected": [{"package": {}}]}, {"affected": None}]
)
def test_an_entry_that_cannot_be_read_is_not_left_out_silently(
    osv: str, tmp_path: Path, broken: dict[str, Any]
) -> None:
    _Osv.entries["django"] = [entry("A", [{"introduced": "0"}]) | broken]
    lock = tmp_path / "some.lock"
    lock.write_text("django==6.1.3 \\\n")
    path = tmp_path / "known.json"
    words = ("--refresh", "--url", osv, "--lock", str(lock), "--file", str(path))
    assert run(*words)[0] == 4
    assert not path.exists()


# --- doctor -------------------------------------------------------------------------------------


def test_doctor_names_what_is_vulnerable_and_data_that_are_old(
    tmp_path: Path, settings: Any
) -> None:
    settings.GATEPOST_DATA = tmp_path
    today = datetime.now(UTC).date()
    path = tmp_path / advisories.FILE_NAME
    saved(path, as_of=today)
    (fine,) = deployment.known_vulnerabilities(Seen(deploy=True))
    assert fine.level == "ok"
    saved(path, DJANGO, as_of=today)
    (bad,) = deployment.known_vulnerabilities(Seen(deploy=True))
    assert (bad.level, "PYSEC-1" in bad.value, "6.1.99" in bad.do) == ("wrong", True, True)
    path.unlink()
    (old,) = deployment.known_vulnerabilities(Seen(deploy=True))
    assert (old.level, "advisories --refresh" in old.do) == ("warning", True)
