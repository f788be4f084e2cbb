"""How-tos that tests perform: a page taken apart into what a reader types, calls and opens.

A test performs the units of a page one after the other and names each by how it stands there, so
that a changed line is noticed. `complete` fails for a unit that was neither performed nor left out
with a reason, so that a new one cannot slip in.

tests/docs/units.py says what the units are.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from checkpoints import store
from dashboard.identity import tokens
from tests.docs.units import HOWTOS, parts_of, sections_of, units_of
from tests.support.cast import Cast
from tests.unit.dashboard.command_list import command_named


def in_days(days: int) -> date:
    """A day, counted from today."""
    return datetime.now(UTC).date() + timedelta(days=days)


def takes_json(name: str) -> bool:
    """Whether a command answers with JSON."""
    made = command_named(name)
    return (
        bool(getattr(made, "verbs", ())) or "--json" in made.create_parser("", name).format_help()
    )


def with_names(text: str, names: Mapping[str, object]) -> str:
    """A text with the names that stand in it replaced by what they stand for."""
    for name, value in names.items():
        edges = (r"\b" if name[:1].isalnum() else "", r"\b" if name[-1:].isalnum() else "")
        pattern = rf"\$?{edges[0]}{re.escape(name)}{edges[1]}"
        text = re.sub(pattern, str(value).replace("\\", "\\\\"), text)
    return text


class Performance:
    """A page while it is performed: what was done, and with which people."""

    def __init__(self, page: str, cast: Cast, *titles: str) -> None:
        """With titles: only these sections of the page; the empty one is what stands before all."""
        self.cast = cast
        self.text = (HOWTOS / f"{page}.md").read_text()
        if titles:
            parts = sections_of(page)
            self.text = "\n".join(parts[title] for title in titles)
        self.units = units_of(self.text)
        self.done: set[str] = set()

    def person(self, name: str, *roles: str) -> Any:
        """Somebody whom the page names, with these roles."""
        user = get_user_model().objects.create_user(name, f"{name}@example.com", "a-long-password")
        for role in roles:
            store.grant(self.cast.workspace, user.pk, role, actor="user:0")
        self.cast.users[name] = user
        return user

    def unit(self, start: str) -> str:
        """The unit that begins like this; it counts as performed."""
        exact = [unit for unit in self.units if unit == start]
        units = exact or [unit for unit in self.units if unit.startswith(start)]
        assert len(units) == 1, f"{start!r} begins {units} of the page"
        self.done.add(units[0])
        return units[0]

    def code(self, word: str) -> str:
        """The one block with this word in it, of another language than the shell's."""
        (block,) = [unit for unit in self.units if word in unit and "\n" in unit]
        self.done.add(block)
        return block

    def run(self, start: str, who: str = "", code: int = 0, more: str = "", **names: object) -> Any:
        """Perform a command as somebody; its JSON where it has any, else its text.

        `more` are words behind those of the page, `names` what its words stand for, `code` the
        exit code. What goes to a file in the shell goes there.
        """
        answer: Any = None
        for typed in parts_of(self.unit(start)):
            words = shlex.split(f"{with_names(typed, names)} {more}")
            answer = self._typed(words, who, code)
        return answer

    def _typed(self, words: list[str], who: str, code: int) -> Any:
        """Type one command; its JSON where it has any, else its text."""
        file = words.pop(words.index(">") + 1) if ">" in words else ""
        words = [word for word in words if word != ">"]
        words += ["--as", who] if who and "--as" not in words else []
        out, err = io.StringIO(), io.StringIO()
        plain = file or {"--json", "--yaml", "--csv"} & {*words}
        json_too = not plain and takes_json(words[0])
        options = [*words, *(["--json"] if json_too else [])]
        try:
            call_command(*options, stdout=out, stderr=err)
            ended = 0
        except SystemExit as stop:
            ended = int(stop.code or 0)
        except CommandError as error:
            raise AssertionError(f"{words}: {error}") from error
        assert ended == code, (words, out.getvalue(), err.getvalue())
        if file:
            Path(file).write_text(out.getvalue())
        if code:
            return out.getvalue() + err.getvalue()
        try:
            return json.loads(out.getvalue())
        except ValueError:
            return out.getvalue()

    def call(
        self,
        start: str,
        who: str,
        body: object = None,
        status: int = 200,
        scopes: tuple[str, ...] | None = (),
        **names: object,
    ) -> Any:
        """Perform a call of the text, or that of `curl`; its answer.

        With a token of somebody, which has its usual scopes or these; `None`: a browser's session.
        """
        unit = with_names(self.unit(start), {"{id}": "ID"} | names)
        if unit.startswith("curl "):
            method, path, body = self._curl(unit)
        else:
            method, path = unit.split(" ")
            path = path if path.startswith("/scim") else f"/api/v1{path.removeprefix('/api/v1')}"
        answer = (
            self.client(who, scopes).generic(
                method, path, json.dumps(body or {}), content_type="application/json"
            )
            if method != "GET"
            else self.client(who, scopes).get(path)
        )
        assert answer.status_code == status, (unit, answer.content)
        if answer.headers.get("Content-Type", "").partition(";")[0].endswith("json"):
            return answer.json()
        return answer

    def page(self, start: str, who: str, status: int = 200, more: str = "", **names: object) -> str:
        """Open an address of the page as somebody; its text. `more` is written behind it."""
        answer = self.cast.client(who).get(with_names(self.unit(start), names) + more)
        assert answer.status_code == status, (start, answer.status_code)
        return answer.content.decode()

    def client(self, who: str, scopes: tuple[str, ...] | None = ()) -> Client:
        """A client with a new token of somebody, or with a browser's session."""
        if scopes is None:
            client: Client = self.cast.client(who)
            return client
        user = self.cast.users[who]
        token = tokens.make(user, made_by="user:0", scopes=scopes or None)[1]
        return Client(headers={"Authorization": f"Bearer {token}"})

    def _curl(self, line: str) -> tuple[str, str, object]:
        """(method, path, body) of a call by `curl`, which has to send a token and say its kind."""
        words = shlex.split(line)
        assert "Authorization: Bearer $TOKEN" in words, line
        (address,) = [word for word in words if word.startswith("$GATEPOST")]
        path = re.sub(r"^\$GATEPOST(_URL)?", "", address)
        if "-d" not in words:
            return "GET", path, None
        assert "Content-Type: application/json" in words, line
        return "POST", path, json.loads(words[words.index("-d") + 1])

    def complete(self, left_out: Mapping[str, str] | None = None) -> None:
        """Fail for each unit that was neither performed nor left out with a reason.

        `left_out` is {how a unit begins: why it is not performed here}.
        """
        known = left_out or {}
        for start, why in known.items():
            assert why, start
            assert [u for u in self.units if u.startswith(start)], f"{start!r} begins no unit"
        starts = tuple(known)
        missing = [u for u in self.units if u not in self.done and not u.startswith(starts or "\0")]
        assert not missing, f"neither performed nor left out: {missing}"
