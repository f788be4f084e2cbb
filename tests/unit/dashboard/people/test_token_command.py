"""`./manage.py token`: made and shown once, listed without secrets, revoked for good."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client

from checkpoints import queries
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.models import Membership
from dashboard.models import Token
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard.calls import V1, refused

ROOT = Path(__file__).parents[4]
TOKEN = re.compile(r"gp_([a-z0-9]{8})_[A-Za-z0-9_-]{43}")


def call(*words: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `token ...`."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("token", *map(str, words), stdout=out, stderr=err)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def output_of(*words: object) -> str:
    code, out, err = call(*words)
    assert code == 0, err
    return out


def json_of(*words: object) -> Any:
    return json.loads(output_of(*words, "--json"))


def api(token: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {token}"})


def test_a_new_token_stands_alone_on_stdout(cast: Cast) -> None:
    code, out, err = call("create", "operator", "--name", "ci")
    token = out.strip()
    match = TOKEN.fullmatch(token)
    assert code == 0
    assert match
    assert api(token).get(f"{V1}/threads/").status_code == 200
    scopes = "read, start, signal, memory, work, control, incidents, views, fork"
    for words in ("only time", "ci", scopes, "default", match[1]):
        assert words in err
    assert token not in err
    assert token not in output_of("list")
    assert token not in json.dumps(json_of("list"))
    row = Token.objects.get()
    assert row.expires_at is not None
    assert timedelta(days=89, hours=23) < row.expires_at - datetime.now(UTC) < timedelta(days=90)


def test_json_tells_all_of_it(cast: Cast) -> None:
    made = json_of(
        "create", "manager", "--scopes", "decide, fork", "--expires", "12h", "--as", "admin"
    )
    assert TOKEN.fullmatch(made["token"])
    assert made["prefix"] == made["token"][3:11]
    assert (made["user"], made["scopes"], made["state"]) == (
        "manager",
        ["decide", "fork"],
        "active",
    )
    assert made["made_by"] == cast.actor("admin").id
    (listed,) = json_of("list", "manager")
    assert listed == {name: made[name] for name in listed}
    assert set(made) - set(listed) == {"token"}
    assert json_of("list", "operator") == []


def test_never_is_said_aloud(cast: Cast, settings: Any) -> None:
    _, _, err = call("create", "operator", "--expires", "never")
    assert "It never expires" in err
    assert Token.objects.get().expires_at is None
    settings.GATEPOST_TOKEN_EXPIRES = "2h"
    assert "never expires" not in call("create", "operator")[2]
    settings.GATEPOST_TOKEN_EXPIRES = "soon"
    code, _, err = call("create", "operator")
    assert (code, err.startswith("GATEPOST_TOKEN_EXPIRES takes a span")) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("create", "ghost"), 3, "There is no active user ghost."),
        (("create", "nobody"), 1, "nobody is not a member of any workspace"),
        (("create", "operator", "--scopes", "read,write"), 2, "--scopes does not know write"),
        (("create", "operator", "--scopes", ""), 2, "--scopes names at least one scope."),
        (("create", "operator", "--scopes", "decide"), 2, "--scopes decide is more than the roles"),
        (("create", "auditor", "--scopes", "start"), 2, "--scopes start is more than the roles"),
        (("create", "operator", "--expires", "0d"), 2, "--expires takes a span"),
        (("create", "operator", "--expires", "90"), 2, "--expires takes a span"),
        (("create", "operator", "--expires=-1d"), 2, "--expires takes a span"),
        (("create", "operator", "--expires", "9999d"), 2, "--expires takes a span"),
        (("create", "operator", "--expires", "999999w"), 2, "--expires takes a span"),
        (("create", "operator", "--name", "x" * 61), 2, "--name is longer than 60"),
        (("create", "operator", "--workspace", "elsewhere"), 1, "operator is not a member of a"),
        (("create", "operator", "--as", "ghost"), 3, "There is no active user ghost."),
        (("list", "ghost"), 3, "There is no user ghost."),
        (("revoke", "abcdefgh"), 3, "There is no token with the prefix abcdefgh."),
        (("revoke", "nonsense!"), 3, "A token is named by its prefix"),
    ],
)
def test_refusals(cast: Cast, words: tuple[str, ...], code: int, sentence: str) -> None:
    ended, out, err = call(*words)
    assert (ended, out) == (code, "")
    assert err.startswith(sentence), err
    assert len(err.strip().splitlines()) == 1
    assert not Token.objects.exists()


def test_disabled_people_get_none(cast: Cast) -> None:
    get_user_model().objects.filter(username="operator").update(is_active=False)
    assert call("create", "operator")[0] == 3
    assert output_of("list", "operator") == ""


def test_a_superuser_reads_with_a_token(cast: Cast) -> None:
    get_user_model().objects.create_superuser("root", password="x" * 12)
    token = output_of("create", "root").strip()
    assert api(token).get(f"{V1}/threads/").status_code == 200


def test_another_workspace_by_name(cast: Cast) -> None:
    user = cast.users["operator"]
    Membership.objects.create(workspace_id=cast.elsewhere, user=user, role="viewer")
    made = json_of("create", "operator", "--workspace", "elsewhere")
    assert (made["workspace"], made["scopes"]) == ("elsewhere", ["read", "incidents", "views"])


def test_revoke_ends_it_at_once(cast: Cast) -> None:
    token, other = output_of("create", "operator").strip(), output_of("create", "operator").strip()
    prefix = token[3:11]
    done = json_of("revoke", prefix, "--as", "admin")
    assert (done["state"], done["revoked_by"]) == ("revoked", cast.actor("admin").id)
    refused(api(token).get(f"{V1}/threads/"), 401)
    assert api(other).get(f"{V1}/threads/").status_code == 200
    again = json_of("revoke", prefix)
    assert (again["revoked_at"], again["revoked_by"]) == (done["revoked_at"], done["revoked_by"])
    # A token that leaked can be given as it was found.
    assert json_of("revoke", other)["state"] == "revoked"
    assert [row["state"] for row in json_of("list")] == ["revoked", "revoked"]


def test_expired_ones_are_listed_as_such(cast: Cast) -> None:
    output_of("create", "operator", "--expires", "1m")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_token SET expires_at = clock_timestamp()")
    (row,) = json_of("list")
    assert row["state"] == "expired"


def test_the_workspace_log_has_both(cast: Cast) -> None:
    token = output_of("create", "operator", "--name", "ci").strip()
    output_of("revoke", token[3:11], "--as", "admin")
    output_of("revoke", token[3:11])  # nothing new happened
    rows = queries.workspace_events(cast.workspace).rows
    seen = [(row.kind, row.actor) for row in rows if row.kind.startswith("token.")]
    assert sorted(seen) == [
        ("token.created", "command:token"),
        ("token.revoked", cast.actor("admin").id),
    ]
    assert all(token[12:] not in json.dumps(row.data) for row in rows)
    assert verify_workspace(cast.workspace).intact


def test_names_cannot_steer_the_terminal(cast: Cast) -> None:
    output_of("create", "operator", "--name", "ci\x1b[2J\u202e")
    assert "\x1b" not in output_of("list")
    assert "\u202e" not in output_of("list")


@pytest.mark.nightly
@pytest.mark.parametrize("words", [["operator"], ["--json", "operator"], ["operator", "--json"]])
def test_the_short_form_makes_one(real_db: str, words: list[str]) -> None:
    make_cast()
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "token", *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    token = json.loads(done.stdout)["token"] if "--json" in words else done.stdout.strip()
    assert TOKEN.fullmatch(token)
    assert api(token).get(f"{V1}/threads/").status_code == 200


def test_a_list_shows_no_more_than_the_records(cast: Cast) -> None:
    """For --as: of one's own workspace, and without a right to the records one's own tokens."""
    for who in ("operator", "manager", "stranger"):
        output_of("create", who)

    def users(*words: str) -> set[str]:
        return {row["user"] for row in json_of("list", *words)}

    assert users() == {"operator", "manager", "stranger"}
    assert users("--as", "auditor") == users("--as", "admin") == {"operator", "manager"}
    assert users("--as", "manager") == users("manager", "--as", "manager") == {"manager"}
    assert users("--as", "viewer") == set()
    code, out, err = call("list", "operator", "--as", "manager")
    assert (code, out) == (1, "")
    assert "auditor or admin" in err
    assert users("stranger", "--as", "admin") == set()


def test_hooks_are_listed_for_those_who_may_read_the_records(cast: Cast) -> None:
    def listed(who: str) -> int:
        try:
            call_command("hook", "list", "--as", who, stdout=io.StringIO(), stderr=io.StringIO())
        except SystemExit as ended:
            return int(str(ended.code))
        return 0

    assert [listed(who) for who in ("admin", "auditor", "operator", "manager", "viewer")] == [
        0, 0, 1, 1, 1,
    ]  # fmt: skip
