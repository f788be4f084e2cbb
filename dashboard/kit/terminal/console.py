"""Shared base of the commands: help, the actor, refusals with exit codes, output.

Exit codes: 0 done, 1 refused or something is wrong, 2 called wrongly, 3 not found, 4 a server does
not answer, 130 stopped by Ctrl-C. Answers go to stdout; notes, questions and refusals to stderr.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import redis
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser, DjangoHelpFormatter
from django.db import InterfaceError, OperationalError

from checkpoints.errors import GatepostError
from dashboard import errors
from dashboard.configuration.logs import masked
from dashboard.documents.answer_json import Answer
from dashboard.documents.json_text import json_of
from dashboard.errors import ActionError, Forbidden, Invalid, Missing
from dashboard.identity.permissions import RIGHTS, Actor, actor_of, either, may
from dashboard.wording.text import plain
from gatepost_command import COMMAND

from .tables import Table, facts, table

__all__ = ["PersonalCommand", "TerminalCommand", "Usage", "Verb", "VerbsCommand", "facts", "table"]

DONE, REFUSED, USAGE, MISSING, AWAY = range(5)
STOPPED = 130


class Usage(Invalid):
    """An option that cannot be used as it was given; `path` is its name."""


class Away(Exception):
    """A server does not answer; the message says which and what to do."""


class HelpText(argparse.RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Examples keep their lines."""


class TerminalCommand(BaseCommand):
    """A command for people and scripts; refusals are one sentence on stderr and an exit code."""

    requires_system_checks = []
    suppressed_base_arguments = {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
    }
    examples: ClassVar[str] = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Help with examples; options are never guessed from how they begin."""
        return super().create_parser(
            prog_name,
            subcommand,
            formatter_class=HelpText,
            epilog=examples_of(self.examples),
            allow_abbrev=False,
            **kwargs,
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the options ask for."""
        self.options = options
        try:
            with translated():
                self.act()
        except (ActionError, Away) as error:
            code, message = refusal(error)
        except (OperationalError, InterfaceError) as error:
            code, message = AWAY, database_away(error)
        except redis.RedisError as error:
            code, message = AWAY, f"Valkey does not answer; is Gatepost up? {first_line(error)}"
        except KeyboardInterrupt:
            raise SystemExit(STOPPED) from None
        else:
            return
        self.stderr.write(message)
        raise SystemExit(code)

    def act(self) -> None:
        """The command's own work."""
        raise NotImplementedError

    @property
    def as_json(self) -> bool:
        """True if --json is set."""
        return bool(self.options.get("as_json"))

    def show(self, shape: Answer | list[Any], *tables: Table) -> None:
        """JSON with --json, else the tables: aligned on a terminal, tab-separated elsewhere."""
        if self.as_json:
            self.stdout.write(json_of(shape))
            return
        terminal = self.stdout.isatty()
        for i, one in enumerate(t for t in tables if t.rows):
            if terminal:
                one.draw(self.stdout)
            else:
                self.stdout.write(("\n" if i else "") + one.separated(), ending="")

    def say(self, text: str) -> None:
        """A note beside the answer, to stderr."""
        self.stderr.write(plain(text), style_func=lambda line: line)

    def confirmed(self, question: str) -> bool:
        """True if --yes is set or the person at the terminal confirms; Usage without a terminal."""
        if self.options["yes"]:
            return True
        if not sys.stdin.isatty():
            raise Usage("--yes", "is needed where nobody can be asked")
        self.stderr.write(f"{plain(question)} [y/N] ", ending="", style_func=lambda line: line)
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return True
        self.say("Nothing was done.")
        return False


class PersonalCommand(TerminalCommand):
    """A command in which a person acts, by the same rules as in the browser.

    `declared` names the actions of the kit that it does itself, without a verb of their own.
    """

    declared: ClassVar[tuple[str, ...]] = ()

    def actor(self, action: str) -> Actor:
        """The person named by --as, else the first who may do this."""
        return person(self.options.get("as_user") or "", action)


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb of a command: `act` is called with the command, `arguments` declares its options.

    `declared` names the action of the kit that it was made from.
    """

    name: str
    does: str
    act: Callable[[PersonalCommand], None]
    arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    examples: str = ""
    declared: str = ""


class VerbsCommand(PersonalCommand):
    """A command whose first word says what to do."""

    verbs: ClassVar[tuple[Verb, ...]] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """One parser per verb."""
        shelf = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for verb in self.verbs:
            made = shelf.add_parser(
                verb.name,
                help=verb.does,
                description=f"{verb.does[0].upper()}{verb.does[1:]}.",
                epilog=examples_of(verb.examples),
                formatter_class=HelpText,
                allow_abbrev=False,
            )
            verb.arguments(made)
            add_common_arguments(made)

    def act(self) -> None:
        """Do the verb."""
        next(v for v in self.verbs if v.name == self.options["verb"]).act(self)


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of every command in which a person acts."""
    parser.add_argument(
        "--as",
        dest="as_user",
        metavar="USER",
        help="who acts; without it the first member who may",
    )
    add_answer_arguments(parser)


def add_answer_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of every command that answers something."""
    parser.add_argument("--json", dest="as_json", action="store_true", help="answer in JSON")
    add_place_argument(parser)


def add_place_argument(parser: argparse.ArgumentParser) -> None:
    """Which installation; manage.py has read it before Django's settings, here it is only known."""
    parser.add_argument(
        "--data-dir", metavar="DIR", help="data folder of `up` (else $GATEPOST_DATA or .gatepost)"
    )


def add_yes_argument(parser: argparse.ArgumentParser) -> None:
    """For what should be asked before it is done."""
    parser.add_argument("--yes", action="store_true", help="do not ask")


def common_arguments() -> argparse.ArgumentParser:
    """The common options as a parent parser."""
    parser = argparse.ArgumentParser(add_help=False)
    add_common_arguments(parser)
    return parser


def examples_of(lines: str) -> str | None:
    """The end of a help text: one example per line, then the exit codes."""
    if not lines:
        return None
    shown = "\n".join(f"  {COMMAND} {line.strip()}" for line in lines.strip().splitlines())
    return f"examples:\n{shown}\n\nexit codes: 0 done, 1 refused, 2 usage, 3 not found, 4 no answer"


@contextmanager
def translated() -> Iterator[None]:
    """Errors of the floors below as refusals, those of query parameters included."""
    try:
        yield
    except GatepostError as error:
        raise errors.of(error) from error


def refusal(error: ActionError | Away) -> tuple[int, str]:
    """(exit code, sentence) of what was refused."""
    if isinstance(error, Away):
        return AWAY, one_line(str(error))
    code = REFUSED
    if isinstance(error, Usage):
        code = USAGE
    elif isinstance(error, Missing):
        code = MISSING
    return code, sentence(error)


def sentence(error: ActionError) -> str:
    """A refusal as one plain line."""
    if isinstance(error, Invalid):
        text = "; ".join(f"{errors.rooted(f.path, error.within)} {f.message}" for f in error.faults)
    else:
        text = error.detail
    return one_line(text)


def one_line(text: str) -> str:
    """Text as one line that ends like a sentence."""
    message = " ".join(plain(text).split())
    return message if message.endswith((".", "!", "?")) else f"{message}."


def first_line(error: Exception) -> str:
    """Format a driver's error as one line without secrets."""
    return plain(masked(str(error).strip().partition("\n")[0]))


def database_away(error: Exception) -> str:
    """Explain that PostgreSQL does not answer."""
    return f"The database does not answer; is Gatepost up? {first_line(error)}"


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
