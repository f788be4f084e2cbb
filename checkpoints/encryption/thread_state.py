"""The state of a thread with encrypted channels: ciphertext in the store, plain for its nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from ..errors import InvalidValue
from ..state.credentials import MASK
from ..state.encrypted import ENCRYPTED, is_envelope
from ..state.values import at, canonical
from .channels import ChannelCipher

SHORTEST: Final = 6  # a shorter text would be in sentences by chance


class ThreadState:
    """Opens and seals the encrypted `channels` of one thread while a worker has it.

    `load` answers its cipher, or None where nothing outlives a play of the Harness: all stays
    plain there.
    """

    def __init__(
        self,
        channels: Collection[str] = (),
        load: Callable[[], ChannelCipher | None] = lambda: None,
    ) -> None:
        self.channels = frozenset(channels)
        self._texts: set[str] = set()  # of values that were opened, or are about to be sealed
        self._load = load
        self._opened: dict[str, tuple[str, Any]] = {}

    @cached_property
    def _cipher(self) -> ChannelCipher | None:
        return self._load()

    def opened(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state with plain values, sharing all others; raises CannotDecrypt."""
        if not self.channels or self._cipher is None:
            return state
        named = [c for c in sorted(self.channels) if is_envelope(state.get(c))]
        return {**state, **{channel: self._open(channel, state[channel]) for channel in named}}

    def opened_whole(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state with all values plain, also of channels that are no longer declared."""
        others = [c for c, value in state.items() if c not in self.channels and is_envelope(value)]
        whole = self.opened(state)
        return {**whole, **{channel: self._open(channel, state[channel]) for channel in others}}

    def check_declared(self, state: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """Raise InvalidValue for a channel of `state` that was ciphertext in `before` and that the
        installed code would keep plain."""
        for channel in state:
            if channel not in self.channels and is_envelope(before.get(channel)):
                raise InvalidValue(
                    at("$", channel),
                    "is encrypted, and the installed code does not declare it so: declare it with "
                    "Encrypted(...), or give it another value",
                )

    def sealed(self, update: dict[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
        """The update as it is stored; a value equal to that of `state` keeps its ciphertext.

        Raises InvalidValue for what cannot be encrypted.
        """
        names = self.channels and self.channels & update.keys()
        if not names or (cipher := self._cipher) is None:
            return update
        values = dict(update)
        for channel in names:
            value, former = update[channel], state.get(channel)
            if is_envelope(former) and self._is_same(channel, former, value):
                values[channel] = former
            else:
                values[channel] = cipher.seal(channel, value)
                self._opened[channel] = values[channel][ENCRYPTED], value
        return values

    def remember(self, update: Any) -> None:
        """Note the texts of an update before it is judged: no refusal of it may quote them."""
        if self.channels and isinstance(update, Mapping):
            for channel in self.channels & update.keys():
                self._texts.update(_texts(update[channel]))

    def masked(self, text: str) -> str:
        """A text about what failed without the values: those of whole texts in them."""
        for value in sorted(self._texts, key=len, reverse=True):
            text = text.replace(value, MASK)
        return text

    def _is_same(self, channel: str, envelope: Any, value: Any) -> bool:
        return canonical(self._open(channel, envelope)) == canonical(value)

    def _open(self, channel: str, envelope: Mapping[str, str]) -> Any:
        text, (known, value) = envelope[ENCRYPTED], self._opened.get(channel, ("", None))
        if text == known or self._cipher is None:
            return value if text == known else envelope
        value = self._cipher.open(channel, envelope)
        self._opened[channel] = text, value
        self._texts.update(_texts(value))
        return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= SHORTEST:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
