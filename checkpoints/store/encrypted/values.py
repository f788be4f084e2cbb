"""Values on their way into the store: those of encrypted channels become ciphertext."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from checkpoints.encryption.channels import ChannelCipher
from checkpoints.errors import CannotDecrypt, InvalidValue
from checkpoints.state.encrypted import is_envelope, readers_of
from checkpoints.state.values import at


def sealed(
    channels: Mapping[str, Any],
    values: Mapping[str, Any],
    cipher: Callable[[], ChannelCipher],
) -> dict[str, Any]:
    """The values as they are stored; `channels` as AgentVersion has them.

    `cipher` is called where one of them is encrypted. A ciphertext stays as it is where it is of
    this thread and channel; InvalidValue for any other, and for what cannot be encrypted.
    """
    result = dict(values)
    if not (names := sorted(readers_of(channels).keys() & result.keys())):
        return result
    known = cipher()
    for channel in names:
        value = result[channel]
        if not is_envelope(value):
            result[channel] = known.seal(channel, value)
            continue
        try:
            known.open(channel, value)
        except CannotDecrypt as error:
            why = "is not a value but a ciphertext, and not one of this thread and channel"
            raise InvalidValue(at("$", channel), why) from error
    return result
