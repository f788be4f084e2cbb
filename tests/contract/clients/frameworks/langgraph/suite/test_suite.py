"""langgraph's own tests of checkpoints, replay and subgraphs: ours passes what its own passes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from django.db import connection

from tests.contract.clients.bench import SOURCES, Server

from . import sources

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
# Of each: the end of a test's name, and why it does not hold with our saver.
EXCEPTIONS: Mapping[str, str] = {
    "test_in_one_fan_out_state_graph_waiting_edge_custom_state_class_pydantic_input": (
        "its state holds a class that is made inside the test, which nobody can name"
    ),
    "test_stream_messages_dedupe_pydantic_subgraph_interrupt": (
        "its state is a class that is made inside the test, which nobody can name"
    ),
}
LEAST = 640  # tests that take a saver; fewer mean that they were not collected


def outcomes(
    saver: str, results: Path, environment: Mapping[str, str], only: Iterable[str] = ()
) -> dict[str, str]:
    """Outcome of each test with one of the savers: empty where it passed, else the reason."""
    jobs = ("-n", "0", *only) if only else ("-n", "2")
    passed_on = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TMPDIR")}
    paths = os.pathsep.join([str(SOURCES), str(HERE)])
    done = subprocess.run(
        [
            *(str(sources.python()), "-m", "pytest", "-q", "-p", "saver_plugin"),
            *("-p", "no:cacheprovider", "-o", "addopts=", "--tb=line", *jobs),
        ],
        cwd=sources.folder(),
        env={
            **(passed_on | {"NO_DOCKER": "true", "PYTHONPATH": paths}),
            "GATEPOST_SUITE_SAVER": saver,
            "GATEPOST_SUITE_RESULTS": str(results),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-3_000:] + done.stderr[-2_000:]
    reports = [json.loads(line) for line in results.read_text().splitlines()]
    return {one["test"]: one["why"] for one in reports if one["outcome"] != "skipped"}


@pytest.mark.requirement("F04")
def test_ours_passes_each_test_that_langgraphs_own_saver_passes(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = {"GATEPOST_URL": server.url, "GATEPOST_TOKEN": server.token, "GATEPOST_WAIT": "0"}
    ours = outcomes("gatepost", tmp_path / "ours", here)
    # Some expect that a record takes less than 10 ms: they get the machine to themselves.
    if again := [test for test, why in ours.items() if why]:
        ours |= outcomes("gatepost", tmp_path / "again", here, only=again)
    at = connection.get_connection_params()
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password"}
    theirs = outcomes(
        "postgres",
        tmp_path / "theirs",
        {
            **{name: str(at[key]) for name, key in names.items() if at.get(key)},
            "PGDATABASE": "postgres",
            "GATEPOST_SUITE_DATABASE": "postgresql:///",
        },
    )
    passed = {test for test, why in theirs.items() if not why}
    failed = {test: why for test, why in ours.items() if why and test in passed}
    named = {
        test: reason
        for test in failed
        for end, reason in EXCEPTIONS.items()
        if test.partition("[")[0].endswith(end)
    }
    with capsys.disabled():
        print(f"\nlanggraph's own saver: {len(passed)} of {len(theirs)}")
        print(f"ours: {sum(not why for why in ours.values())} of {len(ours)}")
        for test, why in sorted(failed.items()):
            print(f"  {test}: {named.get(test, f'NOT NAMED: {why}')}")
    assert ours.keys() == theirs.keys()
    assert len(ours) >= LEAST
    assert failed.keys() - named.keys() == set()
