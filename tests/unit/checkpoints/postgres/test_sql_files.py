"""SQL files: statements by name, pieces, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoints.postgres.sql_files import SqlFileError, Statements, sql_file

WELL_FORMED = """\
-- For readers of the file.

-- columns -- What a request shows.
a.id, a.labels @> '{}'

-- open_requests -- Requests that wait,
-- oldest first.
SELECT {columns}, {more}
  -- Of one workspace.
  FROM gp_approval a
WHERE a.workspace_id = %s::uuid
"""


def loaded(folder: Path, text: str, **pieces: str) -> Statements:
    (folder / "requests.sql").write_text(text)
    return sql_file(str(folder / "requests.py"), **pieces)


def test_a_statement_is_an_attribute_with_its_pieces_and_without_comments(tmp_path: Path) -> None:
    sql = loaded(tmp_path, WELL_FORMED, more="a.title")
    assert sql.open_requests == (
        "SELECT a.id, a.labels @> '{}', a.title\n"
        "  FROM gp_approval a\n"
        "WHERE a.workspace_id = %s::uuid"
    )
    with pytest.raises(AttributeError, match=r"requests\.sql has no statement 'closed'"):
        _ = sql.closed


@pytest.mark.parametrize(
    ("text", "pieces", "message"),
    [
        ("-- one --\nSELECT 1", {}, "one has no description"),
        ("-- one -- A.\nSELECT 1\n-- one -- B.\nSELECT 2", {}, "one occurs twice"),
        ("SELECT 1", {}, "needs a name"),
        ("-- one -- A.\n-- two -- B.\nSELECT 2", {}, "one has no statement"),
        ("-- one -- A.\nSELECT {two}\n-- two -- B.\n2", {}, "{two} is not an argument and no"),
        ("-- one -- A.\nSELECT 1", {"rest": "x"}, "no statement uses rest"),
        ("-- one -- A.\nSELECT 1", {"one": "x"}, "one is an argument and a statement"),
    ],
)
def test_another_form_is_refused(
    tmp_path: Path, text: str, pieces: dict[str, str], message: str
) -> None:
    with pytest.raises(SqlFileError, match=message):
        loaded(tmp_path, text, **pieces)
