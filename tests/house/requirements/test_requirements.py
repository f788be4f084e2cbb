"""The proofs themselves: the table is whole, and nothing counts as proved that did not pass."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection

from dashboard.operate.embedded.process.library import postgres_programs, valkey_program
from tests.support.servers import PREFIX

from . import outcomes as written
from . import table
from .__main__ import stages
from .tree import working_tree

FINISHED = 9  # the newest stage whose rows are all built
ROWS = table.read()
# Of id, kind, stage and text of all rows: what was promised changes on purpose or not at all.
DIGEST = "f36d5b8ff3a387db5ecc38a1dcbc1739d67ea6ee2ee1e2d95ede3fed20b836d5"


def markers() -> dict[str, Counter[str]]:
    """{test file: the rows that its tests name}, by reading their source."""
    results: dict[str, Counter[str]] = {}
    for path in sorted((table.ROOT / "tests").rglob("test_*.py")):
        named = results[path.relative_to(table.ROOT).as_posix()] = Counter()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.requirement"):
                named.update(str(argument.value) for argument in node.args)  # type: ignore[attr-defined]
    return results


def rows_in_check() -> set[str]:
    """The rows that a test names which `make check` performs."""
    rows: set[str] = set()
    for path in (table.ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        around = " ".join(ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = " ".join([around, *map(ast.unparse, node.decorator_list)])
                if "mark.nightly" not in around and not any(
                    map(only_at_night, node.decorator_list)
                ):
                    rows.update(re.findall(r"mark\.requirement\('(\w+)'\)", marks))
    return rows


def only_at_night(decorator: ast.expr) -> bool:
    """Answer True for the marker itself and for parameters that all carry it."""
    if isinstance(decorator, ast.Call) and len(decorator.args) > 1:
        values = getattr(decorator.args[1], "elts", [])
        return bool(values) and all("mark.nightly" in ast.unparse(one) for one in values)
    return ast.unparse(decorator).endswith("mark.nightly")


@pytest.mark.slow
def test_every_row_is_proved_in_make_check_too() -> None:
    """A row may leave all its tests to the night only where a command of its own proves it."""
    left = set(sum(markers().values(), Counter())) - rows_in_check()
    assert left <= {row.id for row in ROWS.values() if row.commands}, left


def test_the_table_holds_every_row_once() -> None:
    assert len(ROWS) == 188
    groups = Counter(ident[0] for ident in ROWS)
    assert groups == {"A": 44, "B": 48, "C": 42, "D": 9, "E": 13, "F": 15, "G": 11, "H": 6}
    for letter, count in groups.items():
        numbers = range(1, count + 1)
        assert [i for i in ROWS if i[0] == letter] == [f"{letter}{n:02}" for n in numbers]
    assert {row.stage for row in ROWS.values()} == set(table.STAGES)
    assert {row.id for row in ROWS.values() if row.stage == table.BEYOND} == {
        ident for ident in ROWS if ident[0] == "H"
    }
    assert table.digest(ROWS.values()) == DIGEST
    assert [row.id for row in ROWS.values() if row.kind == "measure" and row.stage == 1] == ["A32"]


def test_every_row_of_the_first_stage_says_how_it_is_proved() -> None:
    first = [row for row in ROWS.values() if row.stage == 1]
    assert len(first) == 28
    for row in first:
        assert row.how, row.id
        assert row.places or row.benchmark, row.id
        assert (row.benchmark is not None) == (row.kind == "measure"), row.id
        for path in row.places:
            assert re.fullmatch(r"tests/([a-z_]+/)+(test_[a-z_]+\.py)?", path), path
            assert (table.ROOT / path).exists(), path


def test_every_row_of_a_finished_stage_says_how_it_is_proved() -> None:
    assert not [row.id for row in ROWS.values() if row.stage <= FINISHED and not row.how]


def test_rows_without_a_proof_are_listed_as_not_built() -> None:
    listed = [ident for rows in table.not_built().values() for ident in rows]
    assert sorted(listed) == sorted(row.id for row in ROWS.values() if not row.is_built)
    assert all(
        ROWS[ident].stage == stage for stage, of in table.not_built().items() for ident in of
    )


@pytest.mark.parametrize("name", ["id", "kind", "stage_name", "text"])
def test_the_digest_differs_by_each_changed_word(name: str) -> None:
    rows = list(ROWS.values())
    for n, row in enumerate(rows):
        changed = dataclasses.replace(row, **{name: f"{getattr(row, name)}."})
        assert table.digest([*rows[:n], changed, *rows[n + 1 :]]) != DIGEST, row.id
    assert table.digest(rows[1:]) != DIGEST
    assert table.digest(reversed(rows)) != DIGEST


def test_a_proof_in_the_section_of_another_stage_is_refused(tmp_path: Path) -> None:
    docs = tmp_path / "docs.md"
    docs.write_text(DOCS.replace("## Stage 1:", "## Stage 3:").format(tests=""))
    with pytest.raises(ValueError, match="A01: is of stage 1, its proof stands in 3"):
        table.read(docs)


@pytest.mark.slow
def test_tests_name_rows_that_exist() -> None:
    named = sum(markers().values(), Counter())
    assert not set(named) - set(ROWS)
    assert named["A26"] == 1


@pytest.mark.slow
def test_every_place_that_a_row_names_has_a_test_that_carries_it() -> None:
    named = markers()
    without = [
        (row.id, path)
        for row in ROWS.values()
        for path in row.places
        if not any(row.id in rows and inside(file, path) for file, rows in named.items())
    ]
    assert not without


def inside(file: str, path: str) -> bool:
    return file.startswith(path) if path.endswith("/") else file == path


@pytest.mark.django_db
@pytest.mark.requirement("D08")
def test_the_suite_works_on_servers_from_wheels() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('data_directory'), current_setting('listen_addresses'), "
            "pg_backend_pid(), version()"
        )
        directory, addresses, pid, version = cursor.fetchone()
    assert version.startswith("PostgreSQL ")
    assert Path(directory).name == "postgres"
    assert Path(directory).parent.name.startswith(PREFIX)  # a folder of this run
    assert addresses == ""
    client = redis.Redis.from_url(settings.REDIS_URL)
    valkey = client.info("server")
    client.close()
    assert valkey["server_name"] == "valkey"
    programs = {
        int(pid): postgres_programs(settings.PLACES) / "postgres",
        int(valkey["process_id"]): valkey_program(settings.PLACES),
    }
    if Path("/proc").exists():
        for process, program in programs.items():
            link = Path(f"/proc/{process}/exe")
            try:
                assert link.resolve() == program.resolve()
            except PermissionError:  # another account's process: its command line says the same
                assert str(program).encode() in Path(f"/proc/{process}/cmdline").read_bytes()


# --- the runner -------------------------------------------------------------------------------

DOCS = """
## Stage 1: how each row is proved

| id | how it is proved | where | what would break it |
|---|---|---|---|
| A01 | so | `{tests}test_a.py` | x |
| A02 | so | `{tests}` | x |
| A03 | so | `{tests}test_b.py` | x |
| A05 | so | benchmark row 7 | x |
| A07 | so | `{tests}test_a.py` | x |

## Stage 2: how each row is proved

| id | how it is proved | where | what would break it |
|---|---|---|---|
| A06 | so | `{tests}test_a.py` | x |

## All rows

| id | area | kind | stage | requirement |
|---|---|---|---|---|
| A01 | a | must | 1 first | one |
| A02 | a | must | 1 first | two |
| A03 | a | must | 1 first | three |
| A04 | a | should | 1 first | four |
| A05 | a | measure | 1 first | five |
| A06 | a | must | 2 second | six |
| A07 | a | should | 1 first | seven |
| A08 | a | must | 13 beyond | eight |
"""
GOOD = """
import pytest
@pytest.mark.requirement("A07")
def test_seven(): pass
@pytest.mark.requirement("A01")
@pytest.mark.requirement("A02")
def test_one(): pass
@pytest.mark.requirement("A03")
@pytest.mark.parametrize("n", [1, 2])
def test_three(n): pass
@pytest.mark.requirement("A06")
def test_of_another_stage(): raise AssertionError("not asked for")
def test_of_no_row(): raise AssertionError("not asked for")
"""
BENCH = 'print(\'{{"row": 7, "value": 1, "unit": "ms", "budget": 2, "ok": {ok}}}\')'


def prove(
    folder: Path,
    *,
    a: str = GOOD,
    b: str = GOOD,
    ok: str = "true",
    docs: str = DOCS,
    make: Sequence[str] = ("false",),
    stage: str = "1",
    rows: str = "",
    bench: str = BENCH,
    outcomes: Path | None = None,
    environment: Mapping[str, str] = {},
) -> str:
    """What the runner prints for two test modules and a benchmark, with its exit code."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = requirement(id): row\n")
    (folder / "test_a.py").write_text(a)
    (folder / "test_b.py").write_text(b)
    (folder / "docs.md").write_text(docs.format(tests=""))
    (folder / "bench.py").write_text(bench.format(ok=ok) if bench is BENCH else bench)
    answer = subprocess.run(
        [
            sys.executable, "-m", "tests.house.requirements", "--stage", stage, "--rows", rows,
            "--docs", str(folder / "docs.md"), "--tests", str(folder),
            "--benchmark", sys.executable, str(folder / "bench.py"), "--make", *make,
            *(("--outcomes", str(outcomes)) if outcomes else ()),
        ],
        cwd=table.ROOT, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTEST_ADDOPTS": "-p no:django -p no:cacheprovider"} | environment,
    )  # fmt: skip
    return f"{answer.stderr}{answer.stdout}exit {answer.returncode}"


def verdicts(text: str) -> dict[str, bool]:
    lines = re.findall(r"^(A\d\d)  \w+ +(proved|NOT PROVED) ", text, re.MULTILINE)
    return {ident: word == "proved" for ident, word in lines}


@pytest.mark.slow
def test_a_stage_is_proved_when_everything_that_carries_its_rows_passed(tmp_path: Path) -> None:
    message = prove(tmp_path)
    assert verdicts(message) == {
        "A01": True, "A02": True, "A03": True, "A05": True, "A07": True,
    }, message  # fmt: skip
    assert "not asked for" not in message
    assert "benchmark row 7: 1 ms, budget 2" in message
    assert "A04  should   not built   not built yet" in message
    # A `should` row counts once it has a proof.
    assert message.endswith("stage 1: 5 of 5 proved\nexit 0")


@pytest.mark.slow
def test_a_should_row_that_is_built_must_be_proved(tmp_path: Path) -> None:
    failing = GOOD.replace("def test_seven(): pass", "def test_seven(): raise AssertionError")
    message = prove(tmp_path, a=failing)
    assert verdicts(message)["A07"] is False
    assert message.endswith("stage 1: 4 of 5 proved\nexit 1")
    without = GOOD.replace('@pytest.mark.requirement("A07")\n', "")
    message = prove(tmp_path, a=without, b=without)
    assert "nothing in test_a.py proves it" in message
    assert message.endswith("stage 1: 4 of 5 proved\nexit 1")


@pytest.mark.slow
def test_single_rows_are_proved(tmp_path: Path) -> None:
    message = prove(tmp_path, rows="A03,A07")
    assert verdicts(message) == {"A03": True, "A07": True}
    assert message.endswith("stage 1: 2 of 2 proved\nexit 0")
    message = prove(tmp_path, rows="A04")  # not built: there is nothing that could be proved
    assert message.endswith("stage 1: 0 of 0 proved\nexit 1")
    assert "there is no row Z01" in prove(tmp_path, rows="A03,Z01")


@pytest.mark.parametrize(
    ("wanted", "result"), [("all", {*range(1, 13), 14}), ("2,9,14", {2, 9, 14}), ("1", {1})]
)
def test_stages_are_numbers_or_all_but_what_is_only_listed(wanted: str, result: set[int]) -> None:
    assert stages(wanted) == result


@pytest.mark.parametrize("wanted", ["13", "1,13", "0", "15", "", "one", "1,,2"])
def test_other_stages_are_refused(wanted: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="13 is only listed"):
        stages(wanted)


@pytest.mark.nightly
@pytest.mark.parametrize("good", [True, False])
def test_a_run_of_the_tests_is_judged_without_running_them_again(
    tmp_path: Path, good: bool
) -> None:
    """By outcomes that runs in several processes wrote; a test that none of them ran is none."""
    tests, outcomes = tmp_path / "tests", tmp_path / "outcomes"
    tests.mkdir()
    wrong = GOOD.replace("def test_three(n): pass", "def test_three(n): assert n == 1")
    b = GOOD if good else wrong
    prove(tests, b=b)  # writes them
    for module in ("test_a.py", "test_b.py"):
        plugin = ("-p", "tests.house.requirements.outcomes", f"--outcomes={outcomes}")
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", *plugin, str(tests / module)],
            cwd=table.ROOT, capture_output=True, timeout=120,
            env=os.environ | {"PYTEST_ADDOPTS": "-p no:django -p no:cacheprovider"},
        )  # fmt: skip
    assert len(list(outcomes.glob("*.json"))) == 2
    message = prove(tests, outcomes=outcomes, b=b)
    assert verdicts(message) == {
        "A01": True, "A02": True, "A03": good, "A05": True, "A07": True,
    }, message  # fmt: skip
    other = GOOD.replace("test_one", "test_new")
    assert not verdicts(prove(tests, a=other, outcomes=outcomes, b=b))["A01"]
    file = next(outcomes.glob("*.json"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"tree": "0" * 40}))
    message = prove(tests, outcomes=outcomes, b=b)
    assert message.endswith("exit 2")
    assert f"holds outcomes of tree {'0' * 40}; this is tree " in message


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["1,2", "all"])
def test_several_stages_have_a_sum_each(tmp_path: Path, stage: str) -> None:
    message = prove(tmp_path, stage=stage)
    assert "not asked for" in message
    assert "A08  must" not in message, "a stage that is only listed"
    assert message.endswith("stage 1: 5 of 5 proved\nstage 2: 0 of 1 proved\nexit 1")


@pytest.mark.slow
def test_skipped_and_xfailed_tests_and_figures_over_budget_prove_nothing(tmp_path: Path) -> None:
    less = """
import pytest
@pytest.mark.requirement("A01")
def test_passes(): pass
@pytest.mark.requirement("A01")
def test_skips(): pytest.skip("not here")
@pytest.mark.requirement("A02")
@pytest.mark.xfail
def test_xfails(): raise AssertionError
@pytest.mark.requirement("A03")
def test_passes_elsewhere(): pass
"""
    message = prove(tmp_path, a=less, b="", ok="false")
    assert set(verdicts(message).values()) == {False}, message
    for words in ("1 skipped of 2", "1 xfailed of 1", "nothing in test_b.py", "budget 2"):
        assert words in message
    assert message.endswith("stage 1: 0 of 5 proved\nexit 1")


@pytest.mark.slow
def test_half_a_pass_proves_nothing(tmp_path: Path) -> None:
    broken = """
import pytest
@pytest.fixture
def falls_apart():
    yield
    raise AssertionError
@pytest.mark.requirement("A01")
def test_then(falls_apart): pass
@pytest.mark.requirement("A02")
@pytest.mark.xfail
def test_xpasses(): pass
@pytest.mark.requirement("A03")
def test_never_starts(no_such_fixture): pass
"""
    message = prove(tmp_path, a=GOOD.replace("A03", "A06"), b=broken, ok="'yes'")
    assert [ident for ident, ok in verdicts(message).items() if ok] == ["A07"], message
    for words in ("1 failed of 2", "1 xpassed of 2", "1 failed of 1"):
        assert words in message
    assert message.endswith("stage 1: 1 of 5 proved\nexit 1")


@pytest.mark.slow
def test_what_cannot_be_collected_is_no_proof(tmp_path: Path) -> None:
    (tmp_path / "test_c.py").write_text("import nothing_of_that_name")
    message = prove(tmp_path, b=GOOD.replace("A01", "Z99"))
    assert "problem: test_c.py could not be collected" in message
    assert "problem: test_b.py::test_one carries the unknown row Z99" in message
    assert "not ended" in message  # merely collected is not proved
    assert message.endswith("stage 1: 1 of 5 proved\nexit 1")  # the figure alone


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "proved", "text"),
    [
        # Its own verdict counts, not that of the row of the budget.
        ({"ok": False, "verdicts": {"A05": {"value": 3, "unit": "ms", "budget": 9, "ok": True}}},
         True, "benchmark row 7: 3 ms, budget 9"),
        ({"ok": True, "verdicts": {"A05": {"value": 9.5, "unit": "ms", "budget": 9, "ok": False}}},
         False, "benchmark row 7: 9.5 ms, budget 9"),
        ({"ok": True, "scale": 0.1}, False, "0.1 of its size proves nothing"),
        ({"ok": True, "error": "no servers"}, False, "not measured"),
    ],
)  # fmt: skip
def test_a_row_of_the_budget_proves_by_its_verdict(
    tmp_path: Path, line: dict[str, Any], proved: bool, text: str
) -> None:
    printed = json.dumps({"row": 7, "value": 1, "unit": "ms", "budget": 2} | line)
    message = prove(tmp_path, rows="A05", bench=f"print({printed!r})")
    assert verdicts(message) == {"A05": proved}, message
    assert text in message


def test_the_tree_differs_by_every_file_that_git_would_take(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "--quiet")
    (tmp_path / ".gitignore").write_text("cache\n")
    (tmp_path / "a.py").write_text("a = 1\n")
    git("add", "."), git("commit", "--quiet", "-m", "one")
    trees = [working_tree(tmp_path)]
    assert trees[0] == git("rev-parse", "HEAD^{tree}").strip()
    (tmp_path / "cache").write_text("ignored")
    assert working_tree(tmp_path) == trees[0]
    changes = [("a.py", "a = 2\n"), ("new.py", "new\n"), ("new.py", "newer\n"), ("a.py", "a = 3\n")]
    for name, content in changes:  # of the same length, within the same second
        (tmp_path / name).write_text(content)
        trees.append(working_tree(tmp_path))
    (tmp_path / "new.py").unlink()
    (tmp_path / "a.py").write_text("a = 2\n")
    assert len(set(trees)) == len(trees)
    assert working_tree(tmp_path) == trees[1]
    assert git("status", "--porcelain") == " M a.py\n", "the index is as it was"
    git("commit", "--quiet", "-am", "two")
    assert working_tree(tmp_path) == trees[1], "a commit of it is the same tree"


def test_outcomes_of_another_tree_are_refused(tmp_path: Path) -> None:
    def write(name: str, content: object) -> None:
        (tmp_path / name).write_text(json.dumps(content))

    with pytest.raises(written.OtherTree, match="holds no outcomes"):
        written.read(tmp_path, "abc")
    write("1.json", {"tree": "abc", "outcomes": {"a": "passed", "b": "failed"}})
    write("2.json", {"tree": "abc", "outcomes": {"b": "passed", "c": "skipped"}})
    results = written.read(tmp_path, "abc")
    assert results == {"a": "passed", "b": "failed", "c": "skipped"}
    with pytest.raises(written.OtherTree, match="outcomes of tree abc; this is tree def"):
        written.read(tmp_path, "def")
    for other, words in (
        ({"tree": "def", "outcomes": {}}, "outcomes of tree def; this is tree abc"),
        ({"tree": None, "outcomes": {"a": "passed"}}, "changed while the tests ran"),
        ({"tests/a.py::test_a": "passed"}, "no tree at all"),  # as former versions wrote
    ):
        write("3.json", other)
        with pytest.raises(written.OtherTree, match=words):
            written.read(tmp_path, "abc")


COMMAND = """
## Stage 1: how each row is proved

| id | how it is proved | where | what would break it |
|---|---|---|---|
| A01 | so | command `make measure-it` `{tests}test_a.py` | x |

## All rows

| id | area | kind | stage | requirement |
|---|---|---|---|---|
| A01 | a | measure | 1 first | one |
"""
ONLY = """
import pytest
@pytest.mark.requirement("A01")
def test_one(): pass
"""
# Lines of other rows, and words of make around them, count for nothing.
PRINTS = """
import os, sys
assert sys.argv[1:] == ["measure-it", "ARGS="]
assert not {{"ARGS", "MAKEFLAGS", "ROWS", "PICK"}} & set(os.environ)
print("make: entering")
for line in {lines}:
    print(line)
sys.exit({code})
"""
FRACTION = {"ARGS": "--scale 0.1", "MAKEFLAGS": " -- ARGS=--scale\\ 0.1", "ROWS": "1", "PICK": "-x"}
LINE = '{{"row": "{row}", "value": 97.5, "unit": "%", "budget": 60, "ok": {ok}}}'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "proved", "text"),
    [
        ([("A01", "true")], True, "make measure-it: 97.5 %, budget 60"),
        ([("A02", "false"), ("A01", "true")], True, "make measure-it: 97.5 %, budget 60"),
        ([("A01", "true"), ("A01", "false")], False, "is not ok"),
        ([("A01", "null")], False, "is not ok"),
        ([("A02", "true")], False, "printed no line for it"),
        ([(None, "true")], False, "printed no line for it"),  # a fraction names no row
        ([], False, "printed no line for it"),
    ],
)
def test_a_measure_is_proved_by_the_lines_of_a_command(
    tmp_path: Path, lines: list[tuple[str, str]], proved: bool, text: str
) -> None:
    printed = [LINE.format(row=row, ok=ok) for row, ok in lines]
    (tmp_path / "make.py").write_text(PRINTS.format(lines=printed, code=0))
    make = [sys.executable, str(tmp_path / "make.py")]
    payload = prove(tmp_path, a=ONLY, b="", docs=COMMAND, make=make, environment=FRACTION)
    assert verdicts(payload) == {"A01": proved}, payload
    assert text in payload
    assert payload.endswith(f"stage 1: {int(proved)} of 1 proved\nexit {int(not proved)}")


@pytest.mark.slow
def test_a_command_that_ends_too_early_proves_nothing(tmp_path: Path) -> None:
    """Every line that it came to is ok, and then it broke off."""
    line = LINE.format(row="A01", ok="true")
    (tmp_path / "make.py").write_text(PRINTS.format(lines=[line], code=2))
    make = [sys.executable, str(tmp_path / "make.py")]
    message = prove(tmp_path, a=ONLY, b="", docs=COMMAND, make=make)
    assert verdicts(message) == {"A01": False}
    assert "make measure-it ended with 2" in message


@pytest.mark.slow
def test_arguments_of_make_do_not_reach_the_runner() -> None:
    """The last line that make would run; the runner drops what the environment still holds."""
    command = ["make", "--no-print-directory", "--dry-run", "requirements", "ARGS=--scale 0.1"]

    def last_line(*more: str) -> str:
        done = subprocess.run(
            [*command, *more], cwd=table.ROOT, capture_output=True, text=True,
            env={k: v for k, v in os.environ.items() if k not in {*FRACTION, "OUTCOMES"}},
        )  # fmt: skip
        return done.stdout.strip().splitlines()[-1]

    assert "--scale" not in last_line()
    assert "MAKEFLAGS= " in last_line()
    assert last_line("STAGE=4").endswith("tests.house.requirements --stage=4")
    assert last_line("STAGE=all", "OUTCOMES=/tmp/o").endswith("--stage=all --outcomes=/tmp/o")
    assert last_line("ROWS=A14,A29").endswith("tests.house.requirements --rows=A14,A29")


@pytest.mark.slow
def test_a_command_proves_nothing_beside_a_test_that_fails(tmp_path: Path) -> None:
    line = LINE.format(row="A01", ok="true")
    (tmp_path / "make.py").write_text(PRINTS.format(lines=[line], code=0))
    failing = ONLY.replace("pass", "raise AssertionError")
    make = [sys.executable, str(tmp_path / "make.py")]
    assert verdicts(prove(tmp_path, a=failing, b="", docs=COMMAND, make=make)) == {"A01": False}
    assert verdicts(prove(tmp_path, a="", b="", docs=COMMAND, make=make)) == {"A01": False}


def test_commands_are_targets_of_make() -> None:
    makefile = (table.ROOT / "Makefile").read_text()
    named = {command for row in ROWS.values() for command in row.commands}
    assert named
    for command in named:
        assert re.search(rf"^{command}: ", makefile, re.MULTILINE), command
