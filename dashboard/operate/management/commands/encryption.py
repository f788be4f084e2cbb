"""`./manage.py encryption ...`: keys of stored secrets, and encrypting anew under the newest."""

from __future__ import annotations

from pydantic import BaseModel

from checkpoints import store
from checkpoints.encryption.keys import key_ring, new_key
from dashboard.kit.terminal.console import PersonalCommand, Verb, VerbsCommand
from dashboard.kit.terminal.tables import Table, facts


class NewKey(BaseModel):
    """A key that nobody has yet."""

    key: str


class StoredSecrets(BaseModel):
    """Keys of this process, the newest first, and how many stored secrets are under which.

    `derived` is the key that was made from the secret key; it encrypts only where no other is set.
    """

    keys: list[str]
    derived: str
    newest: int
    older: int
    plain: int
    unreadable: int
    by_key: dict[str, int]


class Rotated(BaseModel):
    """Counts of texts that were encrypted anew, and of those that no key here can read."""

    rotated: int
    key: str
    unreadable: int


def make_key(command: PersonalCommand) -> None:
    """Print a new key and store it nowhere."""
    made = NewKey(key=new_key())
    command.show(made, facts("", [("key", made.key)]))
    command.say("Put it in front of GATEPOST_ENCRYPTION_KEYS of every process, then restart them.")


def show(command: PersonalCommand) -> None:
    """Say what is stored under which key."""
    ring, stored = key_ring(), store.stored_secrets()
    answer = StoredSecrets(
        keys=[key.ident for key in ring if not key.derived],
        derived=next(key.ident for key in ring if key.derived),
        newest=stored.newest,
        older=stored.older,
        plain=stored.plain,
        unreadable=stored.unreadable,
        by_key=dict(stored.keys),
    )
    command.show(answer, _table(answer))
    if stored.older or stored.plain:
        command.say("`encryption rotate` encrypts them under the newest key.")


def rotate(command: PersonalCommand) -> None:
    """Encrypt under the newest key what is not; leave with 1 if something cannot be read."""
    done = store.reencrypt(actor="command", seen=lambda number: _progress(command, number))
    left = store.stored_secrets()
    answer = Rotated(rotated=done, key=key_ring()[0].ident, unreadable=left.unreadable)
    rows = [("encrypted", str(done)), ("under the key", answer.key)]
    command.show(answer, facts("", [*rows, ("unreadable", str(left.unreadable))]))
    if left.unreadable:
        command.say("Their key is missing. Add it behind the others, or enter the secrets again.")
        raise SystemExit(1)


def _progress(command: PersonalCommand, number: int) -> None:
    if number % 1_000 == 0:
        command.say(f"{number:,} so far ...")


def _table(answer: StoredSecrets) -> Table:
    return facts(
        "",
        [
            ("keys, newest first", ", ".join(answer.keys) or "none: derived from the secret key"),
            ("under the newest", str(answer.newest)),
            ("under older keys", str(answer.older)),
            ("not encrypted", str(answer.plain)),
            ("unreadable", str(answer.unreadable)),
        ],
    )


class Command(VerbsCommand):
    """Its callers have the keys already: they are in the environment."""

    help = (
        "Keys that encrypt stored secrets: of hooks, of webhooks, addresses of endpoints, and push "
        "devices. The first of GATEPOST_ENCRYPTION_KEYS encrypts, all of them decrypt."
    )
    examples = """
        encryption status
        encryption rotate
    """
    verbs = (
        Verb("new-key", "prints a new key", make_key, examples="encryption new-key"),
        Verb("status", "says how many secrets are under which key", show),
        Verb("rotate", "encrypts everything under the newest key", rotate),
    )
