"""What the commands share: who acts, which thread is meant, values from words, tables, refusals."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.files import File
from django.core.files.uploadedfile import UploadedFile
from django.core.management.base import BaseCommand
from django.db import InterfaceError, OperationalError
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from checkpoints import deltas, queries
from checkpoints.errors import GatepostError, InvalidValue
from checkpoints.views import AgentRow, CheckpointRow

from . import actions, errors
from .errors import ActionError, Forbidden, Invalid, Missing
from .permissions import RIGHTS, Actor, actor_of, either, may
from .text import plain

WIDE = 200


class PersonalCommand(BaseCommand):
    """A command in which a person acts, through the same door as in the browser.

    Refusals go to stderr as one sentence, with exit code 1.
    """

    requires_system_checks = []

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the options ask for."""
        self.options = options
        try:
            with translated():
                self.act()
        except ActionError as error:
            said = sentence(error)
        except (OperationalError, InterfaceError) as error:
            said = f"The database does not answer; is Gatepost up? {first_line(error)}"
        else:
            return
        self.stderr.write(said)
        raise SystemExit(1)

    def act(self) -> None:
        """The command's own work."""
        raise NotImplementedError

    def actor(self, action: str) -> Actor:
        """The person named by --as, else the first who may do this."""
        return person(self.options.get("as_user") or "", action)

    def tell(self, shape: BaseModel | Sequence[BaseModel], *tables: Table) -> None:
        """JSON with --json, else the tables."""
        if self.options["as_json"]:
            data: Any
            if isinstance(shape, BaseModel):
                data = shape.model_dump(mode="json", by_alias=True)
            else:
                data = [one.model_dump(mode="json", by_alias=True) for one in shape]
            self.stdout.write(json.dumps(data, ensure_ascii=False, indent=2))
            return
        terminal = self.stdout.isatty()
        console = Console(
            file=self.stdout,  # type: ignore[arg-type]
            width=None if terminal else WIDE,
            highlight=False,
            markup=False,
            emoji=False,
        )
        for one in tables:
            console.print(one)

    def say(self, text: str) -> None:
        """A sentence beside the answer; not in JSON."""
        if not self.options["as_json"]:
            self.stdout.write(plain(text))


def common_arguments() -> argparse.ArgumentParser:
    """Options of every personal command, as a parent parser."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--as",
        dest="as_user",
        metavar="USERNAME",
        help="who acts; without it the first member who may",
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="answer in JSON")
    return parser


@contextmanager
def translated() -> Iterator[None]:
    """Errors of the floors below as refusals, those of query parameters included."""
    try:
        yield
    except GatepostError as error:
        raise errors.of(error) from error


def sentence(error: ActionError) -> str:
    """A refusal as one plain line."""
    if isinstance(error, Invalid):
        said = "; ".join(f"{errors.rooted(f.path, error.within)} {f.message}" for f in error.faults)
    else:
        said = error.detail
    said = " ".join(plain(said).split())
    return said if said.endswith((".", "!", "?")) else f"{said}."


def first_line(error: Exception) -> str:
    """What a driver says, as one line."""
    return plain(str(error).strip().partition("\n")[0])


def person(username: str, action: str) -> Actor:
    """The Actor of a user, or of the first active one with the right; raises Missing, Forbidden."""
    users = get_user_model()._default_manager.filter(is_active=True).order_by("pk")
    if username:
        user = users.filter(**{get_user_model().USERNAME_FIELD: username}).first()
        if user is None:
            raise Missing(f"There is no active user {username}.")
        return actor_of(user)
    for user in users.iterator():
        try:
            actor = actor_of(user)
        except Forbidden:
            continue
        if may(actor, action):
            return actor
    roles = either(sorted(RIGHTS[action]))
    raise Forbidden(f"Nobody here has the role {roles}; name a user with --as.")


def thread_named(actor: Actor, given: str) -> UUID:
    """A thread of the actor's workspace by its id or by how the id begins, if that is clear."""
    try:
        return UUID(given)
    except ValueError:
        pass
    begins = given.lower()
    page = queries.threads(workspace=actor.workspace, q=begins, limit=50)
    found = [row.id for row in page.rows if str(row.id).startswith(begins)]
    if len(found) != 1:
        many = "More than one thread has an id that begins" if found else "No thread's id begins"
        raise Missing(f"{many} with {given}.")
    return found[0]


def checkpoint_named(thread: UUID, given: str) -> CheckpointRow:
    """A checkpoint of the thread by its number or its id."""
    if given.isascii() and given.isdigit() and len(given) < 10:
        return queries.checkpoint_by_number(thread, int(given))
    try:
        return queries.checkpoint(thread, UUID(given))
    except ValueError:
        raise Missing(f"{given} is neither the number nor the id of a checkpoint.") from None


def values(
    actor: Actor, version: AgentRow, words: Iterable[str], files: Iterable[str]
) -> dict[str, Any]:
    """`channel=value` words as values of an agent's channels; `channel=path` files are uploaded.

    A text channel takes the word as it is, any other reads it as JSON where that is possible.
    """
    found: dict[str, Any] = {}
    for word in words:
        channel, equals, text = word.partition("=")
        if not equals:
            raise Invalid("--set", f"is written channel=value, not {word}")
        found[channel] = _value(version, channel, text)
    for word in files:
        channel, equals, path = word.partition("=")
        if not equals:
            raise Invalid("--file", f"is written channel=path, not {word}")
        found[channel] = _uploaded(actor, Path(path))
    return found


def _value(version: AgentRow, channel: str, text: str) -> Any:
    part = version.schema.get("properties", {}).get(channel, {})
    if part.get("type") == "string":
        return text
    try:
        return deltas.decode_request(text.encode())
    except InvalidValue:
        return text


def _uploaded(actor: Actor, path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            return actions.upload(actor, UploadedFile(File(file), path.name, size=size))
    except OSError as error:
        raise Invalid("--file", f"{path}: {error.strerror}") from error


def json_given(text: str, option: str) -> Any:
    """JSON from an option; `@path` reads a file."""
    try:
        raw = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return deltas.decode_request(raw)
    except OSError as error:
        raise Invalid(option, f"{text[1:]}: {error.strerror}") from error
    except InvalidValue as error:
        raise Invalid(option, f"{error.path}: {error.reason}") from error


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table of text; nothing in it can steer the terminal."""
    made = Table(title=Text(plain(title)), title_justify="left", box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(plain("" if cell is None else cell)) for cell in row))
    return made


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> Table:
    """A table of names and values."""
    made = table(title, ("", ""), pairs)
    made.show_header = False
    return made
