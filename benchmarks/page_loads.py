"""A page as a browser loads it: compressed HTML, then the socket that its script opens."""

from __future__ import annotations

import gzip
import json
import re
import urllib.request

from .frames import Messages

LATE = 10.0  # seconds


class PageLoad:
    """A loaded page and what its socket has brought since; bytes are those on the wire."""

    def __init__(self, origin: str, cookie: str, address: str) -> None:
        request = urllib.request.Request(
            origin + address, headers={"Cookie": cookie, "Accept-Encoding": "gzip"}
        )
        with urllib.request.urlopen(request, timeout=LATE) as answer:
            body = answer.read()
            if answer.headers["Content-Encoding"] != "gzip":
                raise RuntimeError(f"{address} is not compressed")
        self.bytes = len(body)
        self.html = gzip.decompress(body).decode()
        self.messages = Messages()
        self.socket_bytes = self.frames = 0
        self.regions: dict[str, str] = {}
        self.seq = 0

    def join(self, *, inflates: bool) -> str:
        """The message that its script sends."""
        main = re.search(r'<main id="main"[^>]*>', self.html)
        if main is None:
            raise RuntimeError("the page has no main part")
        own, seq, mark = (_attribute(name, main[0]) for name in ("topic", "seq", "mark"))
        tags = [tag for tag in re.findall(r"<[^>]*>", self.html) if "data-region=" in tag]
        regions: list[dict[str, str]] = []
        topics: dict[str, int] = {}
        for tag in tags:
            region, topic = _attribute("region", tag), _attribute("topic", tag)
            topics[topic] = int(seq) if topic == own else 0
            if "data-refetch" not in tag:
                regions.append({"id": region, "topic": topic, "mark": _attribute("mark", tag)})
        join = {"type": "join", "regions": regions, "topics": topics, "inflates": inflates}
        return json.dumps(join | {"mark": mark})

    def take(self, data: str | bytes) -> None:
        """Count a message, and take over what it shows."""
        self.socket_bytes += len(data)
        message = self.messages.read(data)
        if message["type"] != "frame":
            return
        self.frames += 1
        self.regions |= message["regions"]
        if message["topic"].startswith("thread:"):
            self.seq = message["seq"]


def _attribute(name: str, tag: str) -> str:
    match = re.search(rf'data-{name}="([^"]*)"', tag)
    return match[1] if match else ""
