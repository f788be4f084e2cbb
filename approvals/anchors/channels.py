"""Handing an anchor to one destination: file, mail, webhook, authority of time stamps.

Each raises NotDelivered unless the other side has confirmed. Nothing here touches the database.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from checkpoints.anchors.form import Anchor
from checkpoints.errors import InvalidValue

from ..notify.channels import addresses, mail, webhook
from ..notify.channels import signature as signing
from ..notify.channels.addresses import Target
from ..notify.texts.kinds import NotDelivered
from ..notify.texts.letters import Letter
from . import time_stamps
from .destinations import Destination

type Sign = Callable[[str], str]


class OpenFile:
    """A file of anchors that no other process writes to meanwhile."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def append(self, anchors: Sequence[Anchor], sign: Sign) -> None:
        """Append whole anchors and wait until the disk has them; raises NotDelivered.

        A line that a crash left half-written is ended first, so that it spoils none of ours.
        """
        with _as_not_delivered():
            size = os.fstat(self._handle).st_size
            torn = size > 0 and os.pread(self._handle, 1, size - 1) != b"\n"
            lines = [anchor.line(sign(anchor.hash), whole=True) + b"\n" for anchor in anchors]
            data = (b"\n" if torn else b"") + b"".join(lines)
            while data:
                data = data[os.write(self._handle, data) :]
            os.fsync(self._handle)


@contextmanager
def locked_file(path: str, *, begun: bool) -> Iterator[OpenFile]:
    """Open a file of anchors on another mount, for one writer at a time; raises NotDelivered.

    One that was begun has to be there: a mount point is an empty folder while its disk is away.
    """
    with _as_not_delivered():
        if not Path(path).parent.is_dir():
            raise NotDelivered("The folder of the file is not there: is the disk mounted?")
        new = not Path(path).exists()
        if new and begun:
            raise NotDelivered(
                "The file was begun and is not there: is the disk mounted? "
                "Create an empty one to continue with a new file."
            )
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        handle = os.open(path, flags, 0o640)
    try:
        with _as_not_delivered():
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise NotDelivered("The file cannot be written: it is not a regular file.")
            _lock(handle)
            if new:
                _keep_entry(Path(path).parent)
        yield OpenFile(handle)
    finally:
        os.close(handle)


@contextmanager
def _as_not_delivered() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotDelivered(f"The file cannot be written: {error.strerror}.") from None


def _lock(handle: int) -> None:
    """Lock until the file is closed. A file system without locks goes without."""
    until = time.monotonic() + settings.GATEPOST_SEND_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise NotDelivered("Another process is writing to the file.") from None
            time.sleep(0.05)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                return
            raise


def _keep_entry(folder: Path) -> None:
    """Wait until the disk has the name of a new file as well."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def send_mail(to: str, anchor: Anchor, sign: Sign) -> None:
    """Mail the hash of an anchor; the line in it can be kept as it is for `verify --anchors`."""
    line = anchor.line(sign(anchor.hash), whole=False).decode()
    text = (
        f"Anchor {anchor.number} of {settings.GATEPOST_BASE_URL}: it fixes everything that the "
        f"record held by then. Keep this message where nobody who runs Gatepost can change it.\n\n"
        f"{line}\n"
    )
    html = f"<p>{escape(text)}</p>"
    letter = Letter(f"Anchor {anchor.number}: {anchor.hash[:16]}", text, html)
    mail.send_mail(to, letter, ident=f"anchor-{anchor.number}-{anchor.hash[:16]}")


def post_webhook(address: str, anchor: Anchor, sign: Sign) -> None:
    """Send the hash of an anchor, signed with GATEPOST_ANCHORS_SECRET."""
    secret = settings.GATEPOST_ANCHORS_SECRET
    if not secret:
        raise NotDelivered("GATEPOST_ANCHORS_SECRET is not set: nothing to sign with.")
    try:
        target = addresses.parse(address)
    except InvalidValue as error:
        raise NotDelivered(f"The address of the webhook {error.reason}.") from None
    data = json.loads(anchor.line(sign(anchor.hash), whole=False))
    body = json.dumps({"type": "anchor.made", "data": data}).encode()
    # The same at each try, so that a receiver takes it once.
    ident = f"anchor_{anchor.number}_{anchor.hash[:16]}"
    headers = signing.headers([secret], ident=ident, timestamp=int(time.time()), body=body)
    webhook.post(target, body, headers, timeout=settings.GATEPOST_SEND_SECONDS)


def stamp(destination: Destination, anchor: Anchor) -> bytes:
    """The time stamp of an anchor by an authority; its token, checked."""
    parts = urlsplit(destination.address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = Target(parts.scheme, str(parts.hostname), port, path)
    query, request = time_stamps.request(anchor.hash)
    _, answer = webhook.exchange(
        target,
        query,
        {
            "Content-Type": "application/timestamp-query",
            "Accept": "application/timestamp-reply",
        },
        timeout=settings.GATEPOST_SEND_SECONDS,
    )
    return time_stamps.token_of(answer, request, anchor.hash, ca=destination.ca)
