"""`./manage.py login_link [USER]`: a link that signs a user in once."""

import argparse
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from dashboard.embedded.demo import login_path


class Command(BaseCommand):
    help = "Prints a link that signs a user in once, within ten minutes."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("username", nargs="?", default="operator")
        parser.add_argument(
            "--base", default="http://127.0.0.1:8000", help="address of the dashboard"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            path = login_path(options["username"])
        except get_user_model().DoesNotExist:
            raise CommandError(f"There is no active user {options['username']}.") from None
        self.stdout.write(options["base"].rstrip("/") + path)
