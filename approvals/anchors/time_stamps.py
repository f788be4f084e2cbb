"""Time stamps by RFC 3161: an authority signs that it has seen a hash at a time."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from checkpoints.server_packages import INSTALL, TIME_STAMPS, is_installed

from ..notify.texts.kinds import NotDelivered


class BadStamp(ValueError):
    """A time stamp that proves nothing; the text says why."""


def request(digest: str) -> tuple[bytes, Any]:
    """The query for the hash of an anchor, as bytes and as the library has it."""
    from rfc3161_client import TimestampRequestBuilder

    made = TimestampRequestBuilder().data(digest.encode()).nonce(nonce=True).build()
    return made.as_bytes(), made


def token_of(answer: bytes, query: Any, digest: str, *, ca: str) -> bytes:
    """The answer of the authority, once it holds; raises NotDelivered.

    Without `ca` it is taken as it is, and checked when somebody has the certificate.
    """
    from rfc3161_client import decode_timestamp_response

    try:
        made = decode_timestamp_response(answer)
    except ValueError:
        raise NotDelivered("The authority answered something that is not a time stamp.") from None
    if made.status not in (0, 1):
        raise NotDelivered(f"The authority refused: status {made.status}.")
    if made.tst_info.nonce != query.nonce:
        raise NotDelivered("The authority answered another question.")
    stamped, wanted = made.tst_info.message_imprint, query.message_imprint
    if (stamped.hash_algorithm, stamped.message) != (wanted.hash_algorithm, wanted.message):
        raise NotDelivered("The authority stamped another hash.")
    if ca:
        try:
            check(answer, digest, ca=ca)
        except BadStamp as error:
            raise NotDelivered(f"The time stamp does not hold: {error}") from None
    return answer


def check(token: bytes, digest: str, *, ca: str) -> datetime:
    """Return when the authority saw this hash; raises BadStamp unless `ca` vouches for it."""
    if not is_installed(TIME_STAMPS):
        raise BadStamp(f"to check it needs {INSTALL}")
    from cryptography import x509
    from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response

    try:
        roots = x509.load_pem_x509_certificates(Path(ca).read_bytes())
    except (OSError, ValueError):
        raise BadStamp(f"the file of certificates {ca} cannot be read.") from None
    builder = VerifierBuilder()
    for root in dict.fromkeys(roots):  # a bundle may hold one twice
        builder = builder.add_root_certificate(root)
    try:
        made = decode_timestamp_response(token)
        builder.build().verify_message(made, digest.encode())
    except (VerificationError, ValueError) as error:
        raise BadStamp(str(error)) from None
    result: datetime = made.tst_info.gen_time
    return result
