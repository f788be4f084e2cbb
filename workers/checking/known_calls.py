"""Calls of the library and of well-known packages that act outside of a process, by module."""

from __future__ import annotations

from collections.abc import Mapping

NETWORK, PROCESS = "speaks to the network", "starts a process"
WRITES, CHANGES, DELETES = "writes a file", "changes files", "deletes files"
# Functions by module.
FUNCTIONS: Mapping[str, Mapping[str, str]] = {
    "urllib.request": dict.fromkeys(("urlopen", "urlretrieve"), NETWORK),
    "socket": dict.fromkeys(("create_connection", "create_server", "getaddrinfo"), NETWORK),
    **dict.fromkeys(
        ("httpx", "requests"),
        dict.fromkeys(
            ("get", "post", "put", "patch", "delete", "head", "options", "request", "stream"),
            NETWORK,
        ),
    ),
    "subprocess": dict.fromkeys(("run", "Popen", "call", "check_call", "check_output"), PROCESS),
    "os": {
        **dict.fromkeys(("system", "popen", "fork"), PROCESS),
        **dict.fromkeys(("mkdir", "makedirs", "rename", "replace", "symlink", "link"), CHANGES),
        **dict.fromkeys(("remove", "unlink", "rmdir", "removedirs"), DELETES),
    },
    "shutil": {
        **dict.fromkeys(("copy", "copy2", "copyfile", "copytree", "move"), WRITES),
        "rmtree": DELETES,
    },
    "sqlite3": {"connect": "opens a database"},
    "psycopg": {"connect": "opens a database"},
}
# Whatever an object of these packages is asked, it asks somebody outside.
CLIENTS = frozenset({"openai", "anthropic", "httpx", "requests", "redis"})
OF_PATHS: Mapping[str, str] = {
    **dict.fromkeys(("write_text", "write_bytes", "touch"), WRITES),
    **dict.fromkeys(("mkdir", "rename", "replace", "symlink_to", "hardlink_to"), CHANGES),
    **dict.fromkeys(("unlink", "rmdir"), DELETES),
}
