"""Damaged files of the hot store: it starts again, nothing is deleted, each case is on record."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import redis

from dashboard.operate.doctor import hot_store as doctor
from dashboard.operate.doctor.findings import Seen
from dashboard.operate.embedded.damaged_files import FILES, damages
from dashboard.operate.embedded.process.folders import EmbeddedError, Folders, folders, prepare
from dashboard.operate.embedded.valkey import HotStore
from tests.faults.embedded.helpers import wait_until

IN_BASE, ENTRIES = 150, 300
type Damaging = Callable[[Path], object]


@dataclass
class Started:
    """A store that was started on some files, and what it said."""

    places: Folders
    server: HotStore
    reports: list[str] = field(default_factory=list)

    @property
    def client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.server.socket))

    @property
    def numbers(self) -> list[int]:
        with self.client as client:
            return [int(fields[b"s"]) for _, fields in client.xrange("s:thread")]

    @property
    def log(self) -> str:
        return self.server.log.read_text(errors="replace")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of a store that was killed: half of its entries rewritten, half appended since."""
    import tempfile

    home = Path(tempfile.mkdtemp(prefix="gp-", dir="/tmp"))
    home.chmod(0o711)
    places = folders(home / "data")
    prepare(places)
    server = HotStore(places)
    server.start()
    server.wait()
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        for number in range(1, ENTRIES + 1):
            if number == IN_BASE + 1:
                client.bgrewriteaof()
                wait_until(lambda: not rewriting(client), seconds=30, what="the rewriting")
            pipe = client.pipeline(transaction=True)
            pipe.hset("m:thread", mapping={"token": "lease-1", "seq": number})
            pipe.xadd("s:thread", {"s": number, "d": b"x" * 40})
            pipe.execute()
    assert server.process is not None
    server.process.kill()
    server.process.wait()
    yield places.hot / FILES
    shutil.rmtree(home, ignore_errors=True)


def rewriting(client: redis.Redis) -> bool:
    info: Any = client.info("persistence")
    return bool(info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])


@pytest.fixture
def start(data: Path, sound: Path) -> Iterator[Callable[[Damaging], Started]]:
    """Start a store on these files, damaged; `start(lambda _: None)` on sound ones."""
    running: list[HotStore] = []

    def started(damaging: Damaging, *, wait: bool = True) -> Started:
        places = folders(data)
        prepare(places)
        shutil.copytree(sound, places.hot / FILES, dirs_exist_ok=True)
        if places.account:
            for path in (places.hot / FILES, *(places.hot / FILES).iterdir()):
                shutil.chown(path, places.account.uid, places.account.gid)
        damaging(places.hot / FILES)
        result = Started(places, HotStore(places))
        result.server.report = result.reports.append
        running.append(result.server)
        result.server.start()
        if wait:
            result.server.wait()
        return result

    yield started
    for server in running:
        server.stop()


def one(files: Path, pattern: str) -> Path:
    (path,) = files.glob(pattern)
    return path


def rewrite(pattern: str, change: Callable[[bytes], bytes]) -> Damaging:
    """Write other bytes over those of a file, as its owner would."""

    def damaging(files: Path) -> None:
        path = one(files, pattern)
        with path.open("r+b") as opened:
            content = change(opened.read())
            opened.seek(0)
            opened.write(content)
            opened.truncate()

    return damaging


INCR, BASE, MANIFEST = "*.incr.aof", "*.base.rdb", "*.manifest"


def test_sound_files_are_left_alone(start: Any, sound: Path) -> None:
    result = start(lambda _: None)
    assert result.numbers == list(range(1, ENTRIES + 1))
    assert (result.reports, damages(result.places.hot)) == ([], [])


@pytest.mark.parametrize("cut", [1, 7, 33, 120])
def test_a_cut_tail_costs_one_entry_at_the_most_and_is_no_damage(start: Any, cut: int) -> None:
    result = start(rewrite(INCR, lambda content: content[:-cut]))
    assert result.numbers == list(range(1, ENTRIES))
    with result.client as client:
        assert client.hget("m:thread", "seq") == str(ENTRIES - 1).encode(), "both or neither"
    assert (result.reports, damages(result.places.hot)) == ([], [])


@pytest.mark.parametrize(
    ("cut", "zeros", "left"),
    [(0, 1, ENTRIES), (0, 4096, ENTRIES), (0, 200_001, ENTRIES), (33, 4096, ENTRIES - 1)],
)
def test_zero_bytes_at_the_end_are_cut_off_and_on_record(
    start: Any, settings: Any, cut: int, zeros: int, left: int
) -> None:
    as_it_was: list[bytes] = []

    def damaging(files: Path) -> None:
        rewrite(INCR, lambda content: content[: len(content) - cut] + bytes(zeros))(files)
        as_it_was.append(one(files, INCR).read_bytes())

    result = start(damaging)
    assert result.numbers == list(range(1, left + 1))
    (case,) = damages(result.places.hot)
    assert case.zeros == zeros
    assert one(case.folder, INCR).read_bytes() == as_it_was[0]
    assert f"{zeros:,} zero bytes" in result.reports[0]
    assert case.sentence in result.log
    settings.PLACES = result.places
    (finding,) = doctor.damaged(Seen())
    assert (finding.level, case.sentence in finding.value) == ("note", True)
    # A second start finds nothing amiss, and the record stays.
    result.server.stop()
    result.server.start()
    result.server.wait()
    assert len(result.numbers) == left
    assert damages(result.places.hot) == [case]


def middle(filler: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        begin = len(content) // 2
        return content[:begin] + filler * 600 + content[begin + 600 :]

    return change


DAMAGES: dict[str, Damaging] = {
    "zeros in the middle": rewrite(INCR, middle(b"\0")),
    "zeros in the middle and at the end": rewrite(INCR, lambda c: middle(b"\0")(c) + bytes(4096)),
    "a block is missing": rewrite(INCR, lambda c: c[:5000] + c[5600:]),
    "a command that nobody knows": rewrite(INCR, lambda c: c.replace(b"XADD", b"XADX", 1)),
    "the appended file is gone": lambda files: one(files, INCR).unlink(),
    "zeros in the rewritten file": rewrite(BASE, middle(b"\0")),
    "the rewritten file is cut": rewrite(BASE, lambda c: c[:-30]),
    "zeros behind the rewritten file": rewrite(BASE, lambda c: c + bytes(300)),
    "the rewritten file is empty": rewrite(BASE, lambda _: b""),
    "the rewritten file is gone": lambda files: one(files, BASE).unlink(),
    "the manifest is zeros": rewrite(MANIFEST, lambda c: bytes(len(c))),
    "the manifest is cut": rewrite(MANIFEST, lambda c: c[:-10]),
    "the manifest is empty": rewrite(MANIFEST, lambda _: b""),
    "the manifest is gone": lambda files: one(files, MANIFEST).unlink(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_set_aside_whole_and_the_store_begins_empty(
    start: Any, settings: Any, name: str
) -> None:
    as_they_were: dict[str, bytes] = {}

    def damaging(files: Path) -> None:
        DAMAGES[name](files)
        as_they_were.update({path.name: path.read_bytes() for path in files.iterdir()})

    result = start(damaging)
    with result.client as client:
        assert client.dbsize() == 0
        client.set("it", "works")
    case = damages(result.places.hot)[-1]
    assert (case.zeros, case.reason != "") == (0, True)
    copied = {path.name: path.read_bytes() for path in (case.folder / FILES).iterdir()}
    cut = damages(result.places.hot)[:-1]
    for before in cut:  # zeros were cut off first, which did not suffice
        copied |= {path.name: path.read_bytes() for path in before.folder.glob("*.aof")}
    assert copied == as_they_were
    assert "began empty" in result.reports[-1]
    assert case.sentence in result.log
    settings.PLACES = result.places
    finding = list(doctor.damaged(Seen()))[-1]
    assert (finding.level, case.sentence in finding.value) == ("warning", True)
    assert str(case.folder) in finding.do
    result.server.stop()
    result.server.start()
    result.server.wait()
    with result.client as client:
        assert client.get("it") == b"works"
    assert damages(result.places.hot)[-1] == case


@pytest.mark.slow
@pytest.mark.parametrize("filler", [b"\0", b"9"])
@pytest.mark.parametrize("pattern", [INCR, BASE, MANIFEST])
def test_wherever_a_file_is_damaged_the_store_starts(
    start: Any, data: Path, pattern: str, filler: bytes
) -> None:
    """It has what it could read, or it is empty and says so."""
    set_aside = 0
    for tenth in range(0, 10, 3):
        shutil.rmtree(folders(data).hot, ignore_errors=True)

        def change(content: bytes, tenth: int = tenth) -> bytes:
            begin = len(content) * tenth // 10
            return content[:begin] + filler * 16 + content[begin + 16 :]

        result = start(rewrite(pattern, change))
        with result.client as client:
            n_keys = client.dbsize()
        cases = damages(result.places.hot)
        empty = bool(cases) and not cases[-1].zeros
        assert empty == (n_keys == 0)
        set_aside += empty
        result.server.stop()
    assert set_aside >= 2, "otherwise the test damages nothing"


REFUSALS: dict[str, Damaging] = {
    "of a newer Valkey": rewrite(BASE, lambda c: c[:6] + b"999" + c[9:]),
    "not to be read": lambda files: one(files, INCR).chmod(0),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_files_that_are_no_damage_stay_where_they_are(start: Any, sound: Path, name: str) -> None:
    result = start(REFUSALS[name], wait=False)
    with pytest.raises(EmbeddedError, match="Hot store did not start"):
        result.server.wait()
    assert damages(result.places.hot) == []
    names = {path.name for path in (result.places.hot / FILES).iterdir()}
    assert {path.name for path in sound.iterdir()} <= names


def test_a_supervised_store_that_refuses_its_files_later_is_put_right_as_well(start: Any) -> None:
    """Who supervises it only calls `start` again."""
    result = start(DAMAGES["zeros in the middle"], wait=False)
    assert result.server.process is not None
    result.server.process.wait(30)
    result.server.start()
    result.server.wait()
    assert len(damages(result.places.hot)) == 1
    assert len(result.reports) == 1
