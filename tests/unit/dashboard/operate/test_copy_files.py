"""`copy_files`: from a folder into a bucket, killed in the middle and called again."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.embedded.helpers import ROOT, clean_environment
from tests.support import buckets
from tests.support.buckets import FaultyServer

pytestmark = [pytest.mark.requirement("E04"), pytest.mark.slow]

FILES = 30
BUCKET = "gatepost-copies"  # its own: all servers of moto in a process have the same buckets


def folder_with_files(data: Path) -> dict[str, bytes]:
    """Files as an installation has them, and what must not be copied."""
    files: dict[str, bytes] = {}
    for _ in range(FILES):
        raw = os.urandom(20_000)
        sha = hashlib.sha256(raw).hexdigest()
        files[f"artifacts/here/{sha[:2]}/{sha}"] = raw
        files[f"threads/one/contents/{sha}.json"] = raw
    files["threads/one/checkpoint-000001/MANIFEST"] = b"list"
    files["archive/here/two.zip"] = b"capsule"
    more = {"artifacts/incoming/tmp1": b"", "threads/one/checkpoint-000001/files/a.csv": b"1"}
    more["threads/one/.new-x/state.json"] = b"{}"
    for name, raw in (files | more).items():
        path = data / "artifacts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    return files


def copying(data: Path, url: str) -> subprocess.Popen[str]:
    environment = clean_environment() | {
        "GATEPOST_DATA": str(data),
        "GATEPOST_STORAGE_KEY": buckets.KEY,
        "GATEPOST_STORAGE_SECRET": buckets.SECRET,
    }
    address = f"s3://{BUCKET}/new?endpoint={url}"
    command = [sys.executable, "manage.py", "copy_files", "--to", address, "--json"]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sent(server: FaultyServer) -> list[str]:
    return [line.removeprefix("PUT ") for line in server.requests if line.startswith("PUT ")]


def test_a_copy_that_is_killed_continues_and_each_hash_is_compared(tmp_path: Path) -> None:
    files = folder_with_files(tmp_path)
    with buckets.moto() as url, buckets.faulty(url) as server:
        client = buckets.client(url)
        client.create_bucket(Bucket=BUCKET)
        first = copying(tmp_path, server.url)
        until = time.monotonic() + 60
        while len(sent(server)) < FILES // 2:
            assert first.poll() is None, first.communicate()
            assert time.monotonic() < until
            time.sleep(0.001)
        first.send_signal(signal.SIGKILL)
        assert first.wait(10) == -signal.SIGKILL
        first.communicate()
        before = sent(server)
        assert len(before) < len(files), "it was killed in the middle"

        second = copying(tmp_path, server.url)
        output, errors = second.communicate(timeout=120)
        assert second.returncode == 0, errors
        answer = json.loads(output)
        assert answer["sent"] + answer["there"] == len(files)
        assert answer["there"] >= len(before) - 1, "at most the one under way is sent again"
        assert answer["damaged"] == []
        listed = client.list_objects_v2(Bucket=BUCKET)["Contents"]
        assert {entry["Key"] for entry in listed} == {f"new/{name}" for name in files}
        for name, raw in files.items():
            assert client.get_object(Bucket=BUCKET, Key=f"new/{name}")["Body"].read() == raw

        # A file that was altered here is named; one that was altered there is sent anew.
        (here, there, *_) = sorted(name for name in files if name.startswith("artifacts/"))
        (tmp_path / "artifacts" / here).write_bytes(b"other")
        client.put_object(Bucket=BUCKET, Key=f"new/{there}", Body=files[there][::-1])
        third = copying(tmp_path, server.url)
        output, errors = third.communicate(timeout=120)
        assert third.returncode == 1, errors
        answer = json.loads(output)
        assert (answer["damaged"], answer["sent"]) == ([here], 1)
        for name in (here, there):
            body = client.get_object(Bucket=BUCKET, Key=f"new/{name}")["Body"].read()
            assert body == files[name]
