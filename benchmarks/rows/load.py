"""Row 20: a load of the board, the inbox and a thread, HTML and socket together, at rest.

Nothing changes meanwhile: a region that the socket sends was in the page already.
"""

from __future__ import annotations

from contextlib import suppress

from websockets.sync.client import connect
from websockets.typing import Origin

from .. import inbox, inside, parts
from ..agents import record
from ..page_loads import PageLoad
from ..report import Measured
from ..servers import Bench

REQUESTS = 40  # more than a page of the board or the inbox shows
STEPS = 20
AT_REST_SECONDS = 1.0


def loaded(port: int, cookie: str, address: str) -> PageLoad:
    """Load a page and read its socket until nothing comes any more."""
    origin = f"http://127.0.0.1:{port}"
    page = PageLoad(origin, cookie, address)
    headers = {"Cookie": cookie}
    socket = f"ws://127.0.0.1:{port}/ws/live/"
    with connect(
        socket,
        origin=Origin(origin),
        additional_headers=headers,
        compression=None,
        proxy=None,
    ) as line:
        line.send(page.join(inflates=True))
        with suppress(TimeoutError):
            while True:
                page.take(line.recv(AT_REST_SECONDS))
    return page


def measure(bench: Bench, scale: float) -> Measured:
    """Load each page once; its bytes do not depend on the machine."""
    del scale
    thread = inside.play(record, STEPS, input={"size": 100})
    version = inbox.version()
    for number in range(REQUESTS):
        inbox.waiting(version, number)
    inside.analyse()
    measured = Measured({"twice": 0})
    with parts.web(bench) as port:
        cookie = inbox.cookie()
        for name, address in {
            "board": "/",
            "inbox": "/approvals/",
            "thread": f"/threads/{thread}/",
        }.items():
            page = loaded(port, cookie, address)
            measured.values[f"{name}_bytes"] = page.bytes + page.socket_bytes
            measured.values["twice"] += len(page.regions)
            measured.details[name] = {
                "html": page.bytes,
                "socket": page.socket_bytes,
                "regions": sorted(page.regions),
            }
    return measured
