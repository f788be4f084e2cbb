"""Reads text files that people bring: UTF-8 or UTF-16, with or without a mark."""

import codecs
from typing import Final

SAMPLE: Final = 1 << 16  # bytes that tell the encoding
_LEAST: Final = 8  # fewer bytes tell nothing without a mark


def wide_encoding(start: bytes) -> str:
    """The UTF-16 of a file by its first bytes; empty where it is none.

    Without a mark every other byte of Latin text is zero.
    """
    sample = start[:SAMPLE]
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for zeros, encoding in ((sample[1::2], "utf-16-le"), (sample[::2], "utf-16-be")):
        if len(sample) > _LEAST and zeros.count(0) > 0.7 * len(zeros):
            return encoding
    return ""


def decoded(raw: bytes) -> str:
    """The text of a file in UTF-8 or UTF-16; raises UnicodeDecodeError."""
    return raw.decode(wide_encoding(raw) or "utf-8-sig")
