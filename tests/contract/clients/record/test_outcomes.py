"""Which errors of an effect leave open whether it happened."""

from __future__ import annotations

import http.client
import socket

import httpx
import pytest

from gatepost_client import NotDone
from gatepost_client.record.outcomes import is_open

OPEN = [
    TimeoutError(),
    socket.timeout(),  # noqa: UP041
    ConnectionResetError(),
    BrokenPipeError(),
    http.client.RemoteDisconnected(),
    http.client.IncompleteRead(b""),
    httpx.ReadTimeout("x"),
    httpx.WriteError("x"),
    httpx.RemoteProtocolError("x"),
]
CLOSED = [
    ConnectionRefusedError(),
    httpx.ConnectError("x"),
    httpx.ConnectTimeout("x"),
    httpx.PoolTimeout("x"),
    ValueError("no such account"),
    KeyError("amount"),
    NotDone("the bank said no"),
]


@pytest.mark.parametrize("error", OPEN, ids=lambda error: type(error).__name__)
def test_what_was_sent_and_not_answered_is_open(error: Exception) -> None:
    assert is_open(error)


@pytest.mark.parametrize("error", CLOSED, ids=lambda error: type(error).__name__)
def test_what_was_refused_or_never_sent_is_not(error: Exception) -> None:
    assert not is_open(error)


def test_an_author_can_say_that_it_did_not_happen() -> None:
    class BankTimeout(NotDone, TimeoutError):
        pass

    assert not is_open(BankTimeout())
