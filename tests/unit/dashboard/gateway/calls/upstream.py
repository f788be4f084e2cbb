"""A real MCP server by the SDK, over HTTP or stdio; what it does outside is a line in a file.

`python upstream.py FOLDER [PORT]`: without a port it speaks over stdio.
"""

import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

FOLDER = Path(sys.argv[1])
DESCRIPTION = FOLDER / "description.txt"
server = MCPServer("upstream")


def note(line: str) -> None:
    """Write down that something happened outside."""
    with (FOLDER / "outside.txt").open("a") as file:
        file.write(line + "\n")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def send_mail(to: str, text: str) -> str:
    note(f"mail to {to}: {text}")
    return f"sent to {to}"


server.add_tool(
    send_mail,
    description=DESCRIPTION.read_text() if DESCRIPTION.exists() else "Send a mail.",
)


@server.tool()
def look(key: str, seconds: float = 0) -> str:
    """Look something up, slowly."""
    note(f"look at {key}")
    time.sleep(seconds)
    return key


@server.tool()
def fall_over() -> str:
    """End in the middle of the call."""
    note("fell over")
    os._exit(3)


@server.tool()
def leak() -> str:
    """Say what must not be said."""
    return os.environ.get("UPSTREAM_TOKEN", "") or (FOLDER / "secret.txt").read_text()


@server.resource("note://today")
def today() -> str:
    """The plan of today."""
    return "nothing"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
