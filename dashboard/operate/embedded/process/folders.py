"""Folders of the embedded parts' data and sockets; computed from the data folder alone.

Every command that is given the same data folder finds the same sockets, so `./manage.py shell`
in a second terminal talks to the servers that `up` started in the first.
"""

import hashlib
import os
import pwd
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

# sockaddr_un holds 108 bytes on Linux and 104 on macOS, one of them the closing zero.
SOCKET_PATH_LIMIT = 107 if sys.platform.startswith("linux") else 103
LONGEST_SOCKET_NAME = ".s.PGSQL.5432.lock"
ROOT_STORE = Path("/var/lib/gatepost")


class EmbeddedError(Exception):
    """One sentence for the person at the console: what is wrong and what to do."""


@dataclass(frozen=True)
class Account:
    """An operating system account that the servers work under."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Folders:
    """All folders of one data folder; `account` is set only when root starts the servers."""

    data: Path
    run: Path
    postgres: Path
    valkey: Path
    hot: Path
    library: Path
    logs: Path
    account: Account | None

    @property
    def valkey_socket(self) -> Path:
        return self.run / "valkey.sock"

    @property
    def hot_socket(self) -> Path:
        return self.run / "hot.sock"

    @property
    def bank_socket(self) -> Path:
        return self.run / "bank.sock"

    @property
    def bank_ledger(self) -> Path:
        return self.data / "bank" / "ledger.jsonl"


def service_account() -> Account | None:
    """The unprivileged account for the servers, or None when the current user is no root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedError(
        "PostgreSQL does not work as root and there is no account `nobody` to give it to: "
        "start Gatepost as a normal user."
    )


def reachable(path: Path, account: Account | None) -> bool:
    """True if the account may go through every existing folder down to `path`."""
    if account is None:
        return True
    for folder in (path, *path.parents):
        try:
            status = folder.stat()
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(status.st_mode):
            continue
        if status.st_uid == account.uid:
            allowed = status.st_mode & stat.S_IXUSR
        elif status.st_gid == account.gid:
            allowed = status.st_mode & stat.S_IXGRP
        else:
            allowed = status.st_mode & stat.S_IXOTH
        if not allowed:
            return False
    return True


def folders(data: Path) -> Folders:
    """The folders that belong to `data`; nothing is created."""
    data = Path(os.path.abspath(data.expanduser()))
    account = service_account()
    short = hashlib.sha256(os.fsencode(data)).hexdigest()[:10]
    # A home of root at 0700 keeps other accounts out and stays as it is: the servers then
    # live in a system folder of their own.
    store = data if reachable(data, account) else ROOT_STORE / short
    if account is not None and (store / "postgres").exists():
        # The account that made the cluster keeps it, whatever accounts came later.
        owner = (store / "postgres").stat()
        account = Account(pwd.getpwuid(owner.st_uid).pw_name, owner.st_uid, owner.st_gid)
    run = store / "run"
    if len(os.fsencode(run / LONGEST_SOCKET_NAME)) > SOCKET_PATH_LIMIT:
        # make_private() takes no folder there that somebody else made first.
        run = Path("/tmp") / f"gatepost-{os.geteuid()}-{short}"  # noqa: S108
    return Folders(
        data=data,
        run=run,
        postgres=store / "postgres",
        valkey=store / "valkey",
        hot=store / "hot",
        library=store / "lib",
        logs=data / "logs",
        account=account,
    )


def make_private(folder: Path, account: Account | None, mode: int = 0o700) -> None:
    """Create `folder` for us or the account; refuse one that somebody else put there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=mode, exist_ok=True)
    status = folder.lstat()
    ours = {os.geteuid()} | ({account.uid} if account else set())
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in ours:
        raise EmbeddedError(f"{folder} belongs to somebody else: move it away and start again.")
    if account is not None and status.st_uid != account.uid:
        os.chown(folder, account.uid, account.gid)
    if stat.S_IMODE(status.st_mode) != mode:
        folder.chmod(mode)


def prepare(places: Folders) -> None:
    """Create the data folder and what the servers need inside it.

    Raises EmbeddedError when a folder cannot be made.
    """
    try:
        places.data.mkdir(mode=0o711 if places.account else 0o700, parents=True, exist_ok=True)
        places.logs.mkdir(mode=0o700, exist_ok=True)
        if places.postgres.parent != places.data:
            places.postgres.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
        make_private(places.run, places.account)
        make_private(places.valkey, places.account)
        make_private(places.hot, places.account)
    except PermissionError as error:
        raise EmbeddedError(
            f"{error.filename} may not be written: choose a folder of your own with --data-dir."
        ) from error
