"""Why a server is not called: what was saved before a rule, or before a setting was changed."""

from __future__ import annotations

from . import changes
from .queries import ServerRow


def refusal(server: ServerRow) -> str:
    """One sentence, "" where the server may be called as far as its row says so."""
    if problem := changes.credential_problem(server):
        return f"{server.name} is not called: its credential {server.credential} {problem}."
    if server.url and (problem := changes.problem_of(server.url)):
        return f"{server.name} is not called: its address {server.url!r}: {problem}."
    return ""
