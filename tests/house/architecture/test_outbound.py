"""Every place that opens a connection goes by the one rule for addresses, or is declared.

docs/security.md lists the ways out: what is called, who names it, what is checked. Each module that
opens a connection belongs to a line of that table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.size import FLOORS, ROOT, parsed

from .sources import files, name

# By the rule: each connection goes to an address that checkpoints.outbound has judged.
JUDGED = {
    "approvals/notify/channels/addresses.py": "webhooks, devices for push",
    "approvals/notify/channels/webhook.py": "webhooks, devices for push",
    "dashboard/configuration/vectors.py": "Qdrant or Milvus, where one searches them",
    "dashboard/operate/embedded/local_models.py": "models",
    "dashboard/people/sso/provider_calls.py": "the sign-in's provider",
    "dashboard/gateway/registry/changes.py": "MCP servers",
    "dashboard/gateway/upstream/streamable_http.py": "MCP servers",
    "dashboard/operate/packages/advisories.py": "the database of advisories",
    "dashboard/questions/generation.py": "models",
    "workers/language/configuration.py": "models",
    "workers/language/embeddings.py": "the server that turns memories into vectors",
    "workers/language/providers.py": "models",
    "workers/language/transcription.py": "the server that turns speech into text",
    "workers/language/transport.py": "models",
    "workers/step/web_pages.py": "pages that agents read",
    "workers/tracing/otlp.py": "the collector of spans",
}
# What of them is built here, over connections of the rule; the others build nothing of their own.
BUILT = {
    "approvals/notify/channels/webhook.py": {
        "http.client.HTTPConnection",
        "socket.create_connection",
        "socket.socket.shutdown",
    },
    "dashboard/people/sso/provider_calls.py": {
        "requests.Session",
        "requests.adapters.HTTPAdapter",
    },
    "dashboard/gateway/upstream/streamable_http.py": {"httpx2.AsyncClient"},
    "workers/step/web_pages.py": {"httpx2.Client"},
    "workers/language/providers.py": {"pydantic_ai.providers.infer_provider_class"},
}
# Named by the person who runs the installation, and called as named.
NOT_JUDGED = {
    "agents/gatepost_agents/payments/bank.py": "the bank of the demo",
    "approvals/notify/channels/chat.py": "chats",
    "approvals/notify/channels/mail.py": "the mail server, anchors by mail",
    "checkpoints/hot/persistence.py": "PostgreSQL, Valkey",
    "checkpoints/hot/streams.py": "PostgreSQL, Valkey",
    "checkpoints/payloads/s3.py": "the bucket of files",
    "clients/python/src/gatepost_client/wire/transports.py": "Gatepost, by `gatepost-client`",
    "checkpoints/vectors/milvus.py": "Qdrant or Milvus, where one searches them",
    "checkpoints/vectors/qdrant.py": "Qdrant or Milvus, where one searches them",
    "dashboard/configuration/alive.py": "PostgreSQL, Valkey",
    "dashboard/configuration/bounded.py": "PostgreSQL, Valkey",
    "dashboard/configuration/timelines.py": "PostgreSQL, Valkey",
    "dashboard/operate/doctor/primaries.py": "PostgreSQL, Valkey",
    "dashboard/operate/doctor/reachable.py": "Gatepost's own pages, by `up` and `doctor`",
    "dashboard/operate/embedded/answers.py": "Gatepost's own pages, by `up` and `doctor`",
    "dashboard/operate/embedded/bank.py": "the bank of the demo",
    "dashboard/operate/embedded/checks.py": "Gatepost's own pages, by `up` and `doctor`",
    "dashboard/operate/embedded/postgres.py": "PostgreSQL, Valkey",
    "dashboard/operate/embedded/throwaway.py": "PostgreSQL, Valkey",
    "dashboard/operate/embedded/valkey.py": "PostgreSQL, Valkey",
    "dashboard/wire/valkey.py": "PostgreSQL, Valkey",
    "workers/testing/server.py": "PostgreSQL, Valkey",
}
# They open nothing that a library above does not open: programs and files.
WITHOUT_CONNECTION = {"MCP servers that are programs", "anchors by file"}
# Some of these are made by the libraries of providers, and by the channel of webhooks.
BY_OTHERS = {"models of other libraries", "anchors by webhook, time stamps"}

# Libraries that connect, and what of them connects nothing.
LIBRARIES = {
    "aiohttp": "",
    "aiosmtplib": "",
    "anthropic": "",
    "apprise": "",
    "asyncpg": "",
    "boto3": "",
    "django.core.mail": "",
    "ftplib": "",
    "google.auth": "",
    "google.cloud": "",
    "google.genai": "",
    "grpc": "",
    "http.client": "HTTPException|HTTPResponse|RemoteDisconnected",
    "httpcore": "",
    "httpcore2": "",
    "httpx": r"Response|Headers|\w*URL|Limits|\w*Timeout|\w+Error",
    "httpx2": r"Response|Headers|\w*URL|Limits|\w*Timeout|\w+Error",
    "imaplib": "",
    "openai": "",
    "paramiko": "",
    "poplib": "",
    "psycopg": r"errors|types|sql|rows|pq|adapt|conninfo|generators|\w+Error",
    "psycopg_pool": r"\w+Timeout|PoolClosed",
    "pydantic_ai.providers": "",
    "pymilvus": r"DataType|exceptions.*",
    "qdrant_client": r"models.*|http\..*",
    "redis": r"exceptions|backoff|retry|asyncio\.retry.*|\w+Error",
    "requests": r"Response|PreparedRequest|exceptions|utils|RequestException",
    "smtplib": r"SMTP\w*(Error|Exception|Refused)",
    "socket": r"gethostname|socketpair|gaierror|AF_\w+|S[HO]\w*_\w+|timeout|inet_\w+",
    "telnetlib": "",
    "urllib.request": "getproxies|proxy_bypass",
    "urllib3": "",
    "valkey": "",
    "websockets": "",
    "xmlrpc.client": "",
}
METHODS = {
    *("open_connection", "open_unix_connection", "create_connection", "create_unix_connection"),
    *("connect_tcp", "connect_unix", "sock_connect"),
}
HOME = "checkpoints/outbound/"
ROW = re.compile(
    r"^\| (?P<what>[^|]+?) \| (?P<who>[^|]+?) \| (?P<where>[^|]+?) \| (?P<secret>[^|]+?) \|$", re.M
)


def openings(tree: ast.AST) -> Iterator[str]:
    """The dotted names of libraries that a module uses to connect, annotations aside."""
    imported: dict[str, str] = {}
    annotations = {id(part) for node in ast.walk(tree) for part in _annotations(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                imported[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if id(node) in annotations:
            continue
        dotted = _dotted(node)
        if dotted is None:
            nodes += ast.iter_child_nodes(node)
            continue
        top, _, rest = dotted.partition(".")
        name = ".".join(filter(None, (imported.get(top, ""), rest)))
        if (top in imported and _connects(name)) or name.rpartition(".")[2] in METHODS:
            yield name
        if isinstance(node, ast.Attribute):
            nodes += [part for part in ast.walk(node) if isinstance(part, ast.Call)]


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    for field in ("annotation", "returns"):
        if (part := getattr(node, field, None)) is not None:
            yield part
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        yield node


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else f"?.{node.attr}"
    return None


def _connects(name: str) -> bool:
    for library, inert in LIBRARIES.items():
        if name == library or name.startswith(f"{library}."):
            rest = name.removeprefix(library).removeprefix(".")
            first = rest.partition(".")[0]
            return bool(rest) and not (re.fullmatch(inert, first) or re.fullmatch(inert, rest))
    return False


# How a module writes one of them; most have none and need no parsing.
MENTIONS = [
    *METHODS,
    *(f"{verb} {name}" for name in LIBRARIES for verb in ("from", "import")),
    *(f"from {name.rpartition('.')[0]} import" for name in LIBRARIES if "." in name),
]


def modules() -> dict[str, Path]:
    """The modules that a user runs, by name."""
    return {name(path): path for path in files(".py", (*FLOORS, "tools", "gatepost_command.py"))}


def asks_the_rule(text: str) -> bool:
    return bool(
        re.search(
            r"^\s*from checkpoints\.outbound import .*\b(addresses|connections)\b", text, re.M
        )
        or re.search(r"^\s*from checkpoints\.outbound\.(addresses|connections) import", text, re.M)
        or re.search(r"^\s*from \.addresses import .*\bresolved\b", text, re.M)
    )


def rows() -> dict[str, re.Match[str]]:
    """The table of ways out in docs/security.md, by what is called."""
    text = (ROOT / "docs" / "security.md").read_text()
    table = text.partition("Where calls may go")[2].partition("\n\n")[2].partition("\n\n")[0]
    return {row["what"]: row for row in list(ROW.finditer(table))[1:]}


@pytest.mark.requirement("F07")
def test_every_connection_goes_by_the_rule_or_is_declared() -> None:
    opening = {
        module
        for module, path in modules().items()
        if asks_the_rule(text := path.read_text())
        or (any(m in text for m in MENTIONS) and set(openings(parsed(path))))
    }
    known = {*JUDGED, *NOT_JUDGED}
    assert {module for module in opening if not module.startswith(HOME)} == known
    assert not JUDGED.keys() & NOT_JUDGED.keys()


@pytest.mark.requirement("F07")
def test_what_is_judged_asks_the_rule() -> None:
    paths = modules()
    assert [module for module in JUDGED if not asks_the_rule(paths[module].read_text())] == []
    built = {module: set(openings(parsed(paths[module]))) for module in JUDGED}
    assert {module: names for module, names in built.items() if names} == BUILT


@pytest.mark.requirement("F07")
def test_one_table_lists_every_way_out() -> None:
    table = rows()
    assert {*JUDGED.values(), *NOT_JUDGED.values(), *WITHOUT_CONNECTION, *BY_OTHERS} == set(table)
    unjudged = {name for name, row in table.items() if "not judged" in row["where"]}
    assert unjudged == {*NOT_JUDGED.values(), *WITHOUT_CONNECTION}


@pytest.mark.parametrize(
    "text",
    [
        "import httpx2\nhttpx2.get('https://a.example')",
        "import httpx2 as h\nx = h.Client",
        "from httpx2 import AsyncClient as C\nC()",
        "import http.client\nclass X(http.client.HTTPSConnection): pass",
        "import socket\nsocket.socket().connect(('a', 1))",
        "from urllib.request import urlopen\nurlopen('https://a.example')",
        "import urllib.request as r\nr.build_opener()",
        "def f():\n    from requests import post\n    return post('https://a.example')",
        "import smtplib\nsmtplib.SMTP('a')",
        "from openai import OpenAI\nOpenAI()",
        "import asyncio\nasyncio.get_running_loop().create_connection(None, 'a', 1)",
    ],
)
def test_an_opening_is_recognized(text: str) -> None:
    assert list(openings(ast.parse(text)))


def test_types_and_errors_open_nothing() -> None:
    text = (
        "from __future__ import annotations\nimport httpx2, socket\n"
        "def f(a: httpx2.Client) -> socket.socket:\n"
        "    try: return a.name\n    except httpx2.ConnectError: return socket.gethostname()\n"
    )
    assert list(openings(ast.parse(text))) == []
