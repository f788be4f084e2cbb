"""`./manage.py login_link [USER]`: a link that signs a user in once."""

from __future__ import annotations

import argparse

from django.conf import settings
from django.contrib.auth import get_user_model
from pydantic import BaseModel

from dashboard.errors import Missing
from dashboard.kit.terminal.console import TerminalCommand, add_answer_arguments
from dashboard.kit.terminal.tables import facts
from dashboard.operate.demo.demo import login_path
from dashboard.operate.embedded.web_address import noted


class LoginLink(BaseModel):
    """The link, whom it signs in, and for how many seconds it can be used."""

    user: str
    url: str
    valid_seconds: int


class Command(TerminalCommand):
    """The answer is the bare link, so that it can be handed on."""

    help = "Prints a link that signs a user in once, within ten minutes."
    examples = """
        login_link
        login_link manager
        login_link auditor --base https://gatepost.example.org
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Whom, and where."""
        parser.add_argument("username", nargs="?", default="operator", metavar="USER")
        parser.add_argument("--base", help="address of the dashboard (else where `up` listens)")
        add_answer_arguments(parser)

    def act(self) -> None:
        """Print it."""
        user = self.options["username"]
        try:
            path = login_path(user)
        except get_user_model().DoesNotExist:
            raise Missing(f"There is no active user {user}.") from None
        base = self.options["base"] or noted(settings.GATEPOST_DATA) or "http://127.0.0.1:8000"
        link = LoginLink(
            user=user, url=base.rstrip("/") + path, valid_seconds=settings.SESAME_MAX_AGE
        )
        if self.as_json:
            self.show(link, facts("", []))
        else:
            self.stdout.write(link.url)
