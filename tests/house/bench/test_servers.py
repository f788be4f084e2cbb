"""Where the servers of a test run keep their data, and what becomes of it after a kill."""

import os
import subprocess
import sys
import time
from pathlib import Path

from dashboard.operate.embedded.throwaway import choose_parent, remove_abandoned, remove_unused
from tests.support.servers import ABANDONED_AFTER_SECONDS, PREFIX

HOLDER = """
import sys, time
from pathlib import Path
from dashboard.operate.embedded.throwaway import lock_folder
held = lock_folder(Path(sys.argv[1]))
print(held is not None, flush=True)
time.sleep(60)
"""


def folder_of_old(parent: Path, name: str) -> Path:
    folder = parent / f"gatepost-test-{name}"
    (folder / "postgres").mkdir(parents=True)
    os.utime(folder, (time.time() - 3_600,) * 2)
    return folder


def test_memory_is_used_where_it_has_room_only(tmp_path: Path) -> None:
    assert choose_parent(tmp_path, room=1) == tmp_path
    assert choose_parent(tmp_path, room=2**60) == Path("/tmp")
    assert choose_parent(tmp_path / "missing") == Path("/tmp")


def test_templates_of_former_versions_go_after_a_month(tmp_path: Path) -> None:
    for name, days in (("plays-old", 31), ("plays-used", 29), ("other", 31)):
        (tmp_path / name / "postgres").mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - days * 86_400,) * 2)
    remove_unused(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "plays-used"]


def test_folders_of_killed_runs_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    living, killed = folder_of_old(tmp_path, "living"), folder_of_old(tmp_path, "killed")
    recent, other = tmp_path / "gatepost-test-recent", tmp_path / "other"
    recent.mkdir()
    other.mkdir()
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE)
        for folder in (living, killed)
    ]
    try:
        for holder in holders:
            assert holder.stdout
            assert holder.stdout.readline() == b"True\n"
        remove_abandoned(tmp_path, PREFIX, after_seconds=ABANDONED_AFTER_SECONDS)
        assert living.exists()
        assert killed.exists()
        holders[1].kill()
        holders[1].wait()
        remove_abandoned(tmp_path, PREFIX, after_seconds=ABANDONED_AFTER_SECONDS)
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
    assert sorted(tmp_path.iterdir()) == sorted([living, recent, other])
