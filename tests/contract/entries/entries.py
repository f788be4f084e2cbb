"""Every entry point that changes something, enumerated from the product.

Addresses, calls of the document, pages of the admin site, verbs of commands: a module beside this
one says how to use each of its kind, so the test fails for one that nobody has described.
"""

from __future__ import annotations

from .admin_forms import admin_forms
from .calls import calls, hook, token_calls
from .commands import commands
from .directory import scim_entries
from .entry import Entry
from .mcp_tools import tools
from .pages import pages


def every() -> list[Entry]:
    """All entry points that change something."""
    hooked = Entry("hook", "hooks_decide", hook)
    by_people = [*pages(), *calls(), *token_calls(), *tools()]
    return [*by_people, *scim_entries(), hooked, *admin_forms(), *commands()]
