"""`./manage.py token ...`: make, list and revoke the tokens that open the API."""

from __future__ import annotations

from dashboard.kit.terminal.console import VerbsCommand
from dashboard.people.token_verbs import VERBS


class Command(VerbsCommand):
    """`token USER` is short for `token create USER`."""

    help = "Makes, lists and revokes tokens for the API; `token USER` makes one."
    examples = """
        token operator
        token create operator --name ci --scopes read,start
        token list
        token revoke k3x9mq2p
    """
    verbs = VERBS

    def run_from_argv(self, argv: list[str]) -> None:
        """Put in the verb where only a user is named."""
        words = argv[2:]
        known = {verb.name for verb in self.verbs} | {"-h", "--help"}
        if words and words[0] not in known and not (words[0][0] == "-" and known & {*words}):
            argv = [*argv[:2], "create", *words]
        super().run_from_argv(argv)
