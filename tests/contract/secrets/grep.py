"""Look for a text in all places where Gatepost keeps anything."""

from __future__ import annotations

import base64
import json
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core import mail
from django.db import connection

from dashboard.wire.valkey import client


def forms(word: str) -> tuple[bytes, ...]:
    """A word as it may stand somewhere: text, escaped for JSON, HTML or URLs, in hex, base 64."""
    in_json = [json.dumps(word, ensure_ascii=ascii)[1:-1] for ascii in (True, False)]
    twice = [json.dumps(text)[1:-1] for text in in_json]
    shapes = [text.encode() for text in (word, *in_json, *twice, escape(word), quote(word))]
    results = dict.fromkeys(shapes)
    for raw in shapes:
        results[raw.hex().encode()] = None
        for shift in range(3):
            results[base64.b64encode(b" " * shift + raw)[4 * bool(shift) : -4]] = None
    return tuple(results)


def in_database(text: str) -> set[str]:
    """The tables that have it, in any column of any row that this connection sees."""
    results = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(
                f'SELECT EXISTS (SELECT 1 FROM "{table}" x WHERE strpos(x::text, %s) > 0)', [text]
            )
            if cursor.fetchone()[0]:
                results.add(table)
    return results


def in_valkey(text: str) -> set[str]:
    """The keys that have it, in their name or value."""
    results = set()
    with client(settings.REDIS_URL) as valkey:
        for key in valkey.scan_iter(count=1_000):
            if text in f"{key!r} {value_of(valkey, key)!r}":
                results.add(repr(key))
    return results


def value_of(valkey: Any, key: Any) -> Any:
    """What a key holds, whatever its type."""
    kind = valkey.type(key)
    read = {
        b"string": lambda: valkey.get(key),
        b"hash": lambda: valkey.hgetall(key),
        b"list": lambda: valkey.lrange(key, 0, -1),
        b"set": lambda: valkey.smembers(key),
        b"zset": lambda: valkey.zrange(key, 0, -1, withscores=True),
        b"stream": lambda: valkey.xrange(key),
    }.get(kind if isinstance(kind, bytes) else str(kind).encode())
    return read() if read else None


def in_files(text: str) -> set[str]:
    """The files of artifacts, published reports, mails and the outbox that have it."""
    folders = {settings.MEDIA_ROOT, settings.GATEPOST_PUBLISHED, settings.GATEPOST_OUTBOX}
    return {
        str(path)
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.is_file() and (text in path.name or text.encode() in path.read_bytes())
    }


def in_mails(text: str) -> set[str]:
    """The subjects of mails that have it."""
    sent = getattr(mail, "outbox", [])
    return {one.subject for one in sent if text in str(one.message())}


def everywhere(text: str) -> set[str]:
    """All places that have it."""
    return in_database(text) | in_valkey(text) | in_files(text) | in_mails(text)
