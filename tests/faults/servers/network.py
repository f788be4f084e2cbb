"""Networks of a host's own: what runs in one reaches only the ports that are opened in it."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_HERE = "/proc/thread-self/ns/net"
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP


class NoNetworks(Exception):
    """This process may make no network namespaces; the text says what it needs."""


class Network:
    """A network namespace with a loopback and nothing else.

    `entered` is for sockets that are to be in it, wherever they are used afterwards, and for
    processes that are to start in it. It changes the calling thread alone.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise NoNetworks("Hosts of their own need network namespaces, which only Linux has.")
        before = os.open(_HERE, os.O_RDONLY)
        try:
            os.unshare(os.CLONE_NEWNET)
        except OSError as error:
            os.close(before)
            raise NoNetworks(
                f"No network namespace can be made here ({error.strerror}): hosts of their own "
                "need root (CAP_SYS_ADMIN) on Linux."
            ) from None
        try:
            self._own = os.open(_HERE, os.O_RDONLY)
            _loopback_up()
        finally:
            os.setns(before, os.CLONE_NEWNET)
            os.close(before)

    @contextmanager
    def entered(self) -> Iterator[None]:
        before = os.open(_HERE, os.O_RDONLY)
        os.setns(self._own, os.CLONE_NEWNET)
        try:
            yield
        finally:
            os.setns(before, os.CLONE_NEWNET)
            os.close(before)

    def close(self) -> None:
        """It is gone with the last process and the last socket in it."""
        os.close(self._own)


@contextmanager
def entered(network: Network | None) -> Iterator[None]:
    """The same where there may be no network of its own."""
    if network is None:
        yield
        return
    with network.entered():
        yield


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(end, _GET_FLAGS, request))
        fcntl.ioctl(end, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))
