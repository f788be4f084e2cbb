"""The flags of `up`, read before Django reads its settings, since they decide what those are."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.configuration.import_path import agents_folder
from dashboard.configuration.sources import value as secret
from gatepost_command import COMMAND

DEMO_AGENT = "gatepost_agents.weather_watch"


@dataclass(frozen=True)
class UpOptions:
    """The options of `up`."""

    host: str
    port: int
    data: Path
    workers: int
    pool: str
    demo: bool
    database_url: str
    redis_url: str
    hot_url: str = ""
    model: str = ""
    fleet: bool = False

    @property
    def mail_folder(self) -> Path:
        """Folder of the mail of a demo fleet."""
        return self.data / "mail"

    @property
    def logins_file(self) -> Path:
        """The file of the demo passwords, readable by the owner only."""
        return self.data / "demo-logins.txt"


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return number


EXAMPLES = f"""examples:
  {COMMAND} up
  {COMMAND} up --port 8001 --workers 4 --data-dir ~/trial
  {COMMAND} up --host 0.0.0.0 --no-demo
  {COMMAND} up --fleet --data-dir ~/demo

exit codes: 0 stopped as asked, 1 something is in the way, 2 usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags; the environment gives the defaults."""
    value = os.environ.get
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=_port, default=8000, help="port to listen on (8000)")
    parser.add_argument(
        "--data-dir",
        default=value("GATEPOST_DATA") or ".gatepost",
        help="folder that keeps everything (./.gatepost)",
    )
    parser.add_argument(
        "--workers",
        type=_at_least_one,
        default=2,
        help="worker slots: threads worked on at the same time (2)",
    )
    parser.add_argument(
        "--pool",
        choices=("prefork", "threads"),
        default="prefork",
        help="slots as processes (default) or, for agents that mostly wait, as threads",
    )
    demo = parser.add_mutually_exclusive_group()
    demo.add_argument("--no-demo", action="store_true", help="no demo users and threads")
    demo.add_argument(
        "--fleet", action="store_true", help="demo threads in many states, steered by demo users"
    )
    parser.add_argument(
        "--database-url", default=secret("DATABASE_URL"), help="a PostgreSQL of your own"
    )
    parser.add_argument(
        "--model",
        default="",
        help="who answers ctx.model: auto (what answers on this machine), or as GATEPOST_MODEL",
    )
    parser.add_argument("--redis-url", default=secret("REDIS_URL"), help="a Valkey of your own")
    parser.add_argument(
        "--hot-url",
        default=secret("GATEPOST_HOT_URL"),
        help="a Valkey of your own for the state of hot agents",
    )


def from_parsed(parsed: Mapping[str, Any]) -> UpOptions:
    """The flags as `add_arguments` declared and a parser read them."""
    return UpOptions(
        host=parsed["host"],
        port=parsed["port"],
        data=Path(os.path.abspath(Path(parsed["data_dir"]).expanduser())),
        workers=parsed["workers"],
        pool=parsed["pool"],
        demo=not parsed["no_demo"],
        database_url=parsed["database_url"],
        redis_url=parsed["redis_url"],
        hot_url=parsed["hot_url"],
        model=parsed["model"],
        fleet=parsed["fleet"],
    )


def from_command_line(arguments: Sequence[str]) -> UpOptions:
    """Read the flags of `up`; ends the process with a usage line when one is wrong."""
    parser = argparse.ArgumentParser(
        prog=f"{COMMAND.removeprefix('./')} up",
        description="Starts PostgreSQL, Valkey, the web server and a worker; Ctrl-C ends all.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_arguments(parser)
    return from_parsed(vars(parser.parse_args(list(arguments))))


def into_environment(options: UpOptions) -> None:
    """Let the settings of this process and of all its children follow the flags."""
    os.environ["GATEPOST_DATA"] = str(options.data)
    if options.fleet and not secret("EMAIL_URL"):
        # Mail of a demo goes nowhere: it lies in a folder, where one can read it.
        os.environ["EMAIL_URL"] = f"filemail:///{options.mail_folder}"
    if options.fleet:
        # Somebody who tries the demo can take each decision back, whatever its risk.
        os.environ.setdefault("GATEPOST_UNDO_WINDOWS", "10,10,10")
    if options.demo and agents_folder():
        named = filter(None, os.environ.get("GATEPOST_AGENTS", "").split(","))
        os.environ["GATEPOST_AGENTS"] = ",".join(dict.fromkeys([*named, DEMO_AGENT]))
    for name, url in (
        ("DATABASE_URL", options.database_url),
        ("REDIS_URL", options.redis_url),
        ("GATEPOST_HOT_URL", options.hot_url),
    ):
        if url:
            os.environ[name] = url
            os.environ.pop(f"{name}_FILE", None)
