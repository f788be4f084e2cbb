"""Ciphertext: bound to its place, read by old keys, refused when altered."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.encryption.ciphertext import PREFIX, decrypt, encrypt, key_of, location_of
from checkpoints.encryption.keys import key_bytes, key_ring, new_key
from checkpoints.errors import CannotDecrypt

SPOT = location_of("gp_hook", "0198", "secrets")


@given(st.text(min_size=1, max_size=200))
def test_what_goes_in_comes_out(text: str) -> None:
    stored = encrypt(text, SPOT)
    assert stored.startswith(PREFIX)
    assert decrypt(stored, SPOT) == text
    assert stored != encrypt(text, SPOT)  # equal secrets do not show as equal


def test_an_altered_or_moved_ciphertext_is_refused() -> None:
    stored = encrypt("whsec_x", SPOT)
    with pytest.raises(CannotDecrypt, match="another place"):
        decrypt(stored, location_of("gp_hook", "0199", "secrets"))
    head, _, payload = stored.rpartition(".")
    raw = base64.urlsafe_b64decode(payload)
    for at in range(len(raw)):
        changed = bytes([*raw[:at], raw[at] ^ 1, *raw[at + 1 :]])
        with pytest.raises(CannotDecrypt):
            decrypt(f"{head}.{base64.urlsafe_b64encode(changed).decode()}", SPOT)
    for broken in ("enc1.", "enc1.x", f"{head}.", f"{head}.AAAA", f"{head}.%"):
        with pytest.raises(CannotDecrypt):
            decrypt(broken, SPOT)


def test_the_newest_key_encrypts_and_older_ones_decrypt(settings: Any) -> None:
    derived = encrypt("a", SPOT)
    old, new = new_key(), new_key()
    settings.GATEPOST_ENCRYPTION_KEYS = (old,)
    under_old = encrypt("b", SPOT)
    settings.GATEPOST_ENCRYPTION_KEYS = (new, old)
    assert [decrypt(one, SPOT) for one in (derived, under_old, encrypt("c", SPOT))] == [*"abc"]
    assert key_of(encrypt("c", SPOT)) == key_ring()[0].ident != key_of(under_old)
    settings.GATEPOST_ENCRYPTION_KEYS = (new,)
    with pytest.raises(CannotDecrypt, match="not among the keys") as error:
        decrypt(under_old, SPOT)
    assert old not in str(error.value)
    settings.SECRET_KEY = "another" * 10
    with pytest.raises(CannotDecrypt):
        decrypt(derived, SPOT)


def test_keys_show_nowhere_and_are_checked() -> None:
    assert len(key_bytes(new_key())) == 32
    for wrong in ("", "x", "AAAA", base64.b64encode(b"x" * 31).decode(), "ä" * 44):
        with pytest.raises(ValueError, match="base64"):
            key_bytes(wrong)
    assert "raw" not in repr(key_ring())


def test_what_was_stored_before_encryption_is_read_as_it_is() -> None:
    assert decrypt("whsec_plain", SPOT) == "whsec_plain"
    assert key_of("whsec_plain") == ""
