"""Run `up`: check, start the parts, wait for real answers, show the table, stay.

Django is imported in a forked process alone, which ends once everything is ready: this one stays
small. Web and worker import their modules meanwhile; the worker waits until tables are there.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dashboard.configuration.database import address
from dashboard.configuration.import_path import agents_folder
from dashboard.configuration.valkey import configured, configured_hot_store
from dashboard.operate.embedded import web_address
from gatepost_command import COMMAND

from .answers import wait_for_web, wait_for_worker, worker_answers
from .arguments import UpOptions, from_command_line, into_environment
from .bank import Bank
from .checks import NO_AGENTS, check_address, check_agents, is_loopback
from .console import Console
from .parts import Filler, Web, Worker
from .postgres import Postgres
from .process.folders import EmbeddedError, folders, prepare
from .process.forked_calls import ForkedCalls
from .process.lock import DataLock
from .process.supervisor import Stopped, Supervisor
from .valkey import HotStore, Valkey

# A worker at rest ends in a second; one in a long activity is cut off, which the lease is made for.
WORKER_PATIENCE, WEB_PATIENCE, SERVER_PATIENCE = 2.0, 1.5, 0.8


def main(arguments: Sequence[str]) -> int:
    """`./manage.py up ...`; the exit code."""
    options = from_command_line(arguments)
    into_environment(options)
    # Before anything starts: each part would end with the same complaint, one after another.
    address("DATABASE_URL")
    configured("")
    configured_hot_store("")
    console = Console()
    try:
        run(options, console)
    except EmbeddedError as error:
        console.complain(str(error))
        return 1
    except KeyboardInterrupt:  # before the supervisor listens for it
        return 130
    return 0


def run(options: UpOptions, console: Console) -> None:
    """Start everything and stay until asked to stop.

    Raises EmbeddedError with one sentence when something is in the way.
    """
    began = time.monotonic()
    check_address(options)
    check_agents(options)
    model = _choose_model(options.model)
    prepare(folders(options.data))
    with ForkedCalls(_forked_functions(options)) as forked:
        lock = DataLock(options.data).take()
        supervisor = Supervisor(report=console.complain, lock_handle=lock.handle)
        try:
            _start(options, console, supervisor, forked)
            web_address.note(options.data, options.host, options.port)
            console.say(f"\n  Ready in {time.monotonic() - began:.1f} s\n")
            console.table(forked.call("table"))
            forked.close()
            console.say(f"\n  {model}\n" if model else "")
            if options.fleet:
                _fill(options, console, supervisor)
            supervisor.keep()
        except Stopped:
            pass
        finally:
            request = time.monotonic()
            console.say("\n  Stopping ...")
            supervisor.stop()
            web_address.forget(options.data)
            lock.release()
            console.say(f"  Stopped in {time.monotonic() - request:.1f} s. Data are kept.")


def _choose_model(wanted: str) -> str:
    if not wanted:
        return ""
    from .local_models import choose_model  # its HTTP client is 8 MB

    return choose_model(wanted)


def _forked_functions(options: UpOptions) -> dict[str, Callable[..., Any]]:
    """Name the functions that need large packages while everything starts, not afterwards."""
    postgres = Postgres(folders(options.data))
    return {
        "PostgreSQL answers": postgres.answers,
        "create database": postgres.create_database,
        "migrate": _migrate,
        "demo logins": partial(_demo_logins, options),
        "check logins": partial(_check_logins, options),
        "worker answers": worker_answers,
        "demo threads": _seed,
        "table": partial(_table, options),
    }


def _start(
    options: UpOptions, console: Console, supervisor: Supervisor, forked: ForkedCalls
) -> None:
    places = folders(options.data)
    postgres = None if options.database_url else Postgres(places)
    valkey = None if options.redis_url else Valkey(places)
    hot_store = None if options.hot_url else HotStore(places, report=console.complain)
    has_bank = options.demo and agents_folder() and not os.environ.get("GATEPOST_BANK_URL")
    bank = Bank(places) if has_bank else None
    web, worker = Web(options), Worker(options, gated=True)

    if postgres:
        with console.part("PostgreSQL"):
            # Both signals are clean; the second leaves the farewell checkpoint out.
            supervisor.start(
                postgres,
                stop_signal=signal.SIGINT,
                patience=SERVER_PATIENCE,
                last_signal=signal.SIGQUIT,
            )
            answers = partial(forked.call, "PostgreSQL answers")
            postgres.wait(check=supervisor.check, answers=answers)
            forked.call("create database")
    if valkey:
        with console.part("Valkey"):
            supervisor.start(valkey, stop_signal=signal.SIGTERM, patience=SERVER_PATIENCE)
            valkey.wait(check=supervisor.check)
    if hot_store:
        with console.part("hot store"):
            supervisor.start(hot_store, stop_signal=signal.SIGTERM, patience=SERVER_PATIENCE)
            again = partial(supervisor.start_again, hot_store)
            hot_store.wait(check=supervisor.check, again=again)
    if bank:
        supervisor.start(bank, stop_signal=signal.SIGTERM, patience=SERVER_PATIENCE)
    worker_process = supervisor.start(worker, stop_signal=signal.SIGTERM, patience=WORKER_PATIENCE)
    web_process = supervisor.start(web, stop_signal=signal.SIGTERM, patience=WEB_PATIENCE)

    with console.part("tables"):
        forked.call("migrate")
    supervisor.check()
    if options.demo:
        with console.part("demo logins"):
            forked.call("demo logins")
    forked.call("check logins")
    worker.open_gate()
    with console.part("web"):
        wait_for_web(web, web_process, supervisor.check)
    with console.part(f"worker with {options.workers} slot{'s' * (options.workers > 1)}"):
        answers = partial(forked.call, "worker answers", worker_process.pid)
        wait_for_worker(worker, worker_process, answers, supervisor.check)
    if bank:
        with console.part("test bank"):
            bank.wait(check=supervisor.check)
    if options.demo and agents_folder() is None:
        console.say(f"  {NO_AGENTS}: the demo starts no threads.")
    elif options.demo and (complaint := forked.call("demo threads")):
        console.complain(complaint)


def _migrate() -> None:
    import django
    from django.core.management import CommandError, call_command
    from django.db import OperationalError

    from dashboard.configuration.logs import masked

    django.setup()
    try:
        call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
    except OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        raise EmbeddedError(f"PostgreSQL refuses the connection: {masked(reason)}") from error
    except CommandError as error:
        raise EmbeddedError(str(error)) from error


def _demo_logins(options: UpOptions) -> None:
    from dashboard.operate.demo import demo

    demo.create_logins(options.logins_file)


def _check_logins(options: UpOptions) -> None:
    """A server of one's own may have demo logins too."""
    from dashboard.operate.demo import demo

    if not is_loopback(options.host) and demo.logins_exist():
        raise EmbeddedError(
            f"This database has demo logins and {options.host} is open to others: use "
            "--host 127.0.0.1, or a database without them."
        )


def _seed() -> str:
    """Start the demo's threads; a complaint where that fails."""
    from dashboard.errors import ActionError
    from dashboard.operate.demo import demo

    try:
        demo.seed()
    except ActionError as error:
        return f"The demo's threads were not started: {error}"
    return ""


def _fill(options: UpOptions, console: Console, supervisor: Supervisor) -> None:
    """Start the fleet; when its people have taken all steps, say so below the table."""
    filler = Filler(options)
    begins = filler.log.stat().st_size if filler.log.exists() else 0

    def ended(code: int) -> None:
        if code:
            console.complain(f"The demo fleet is not complete; its log says why: {filler.log}")
        else:
            text = filler.log.read_bytes()[begins:].decode(errors="replace").strip()
            console.say("\n" + "\n".join(f"  {line}".rstrip() for line in text.splitlines()))

    console.say("  The fleet is filling; the board shows it.")
    supervisor.start(filler, stop_signal=signal.SIGTERM, patience=WORKER_PATIENCE, ended=ended)


def _table(options: UpOptions) -> list[tuple[str, str]]:
    from django.db import connection

    from dashboard.operate.demo import demo, demo_guide

    shown = f"[{options.host}]" if ":" in options.host else options.host
    base = f"http://{shown}:{options.port}"
    rows = [("Dashboard", f"{base}/")]
    if options.fleet:
        rows = [*demo_guide.links(base), ("Passwords", str(options.logins_file))]
        rows += demo_guide.look_at(base)
        rows.append(("Mail", str(options.mail_folder)))
    elif options.demo:
        link = f"{base}{demo.login_path('operator')}"
        rows = [("Dashboard", f"{link}   (signs in once, as operator)")]
        others = ", ".join(name for name in demo.PEOPLE if name != "operator")
        rows.append(("More logins", f"{others}: {options.logins_file}"))
    elif not demo.anyone_exists():
        rows.append(("First user", f"{COMMAND} createsuperuser"))
    connection.close()
    store = folders(options.data).postgres.parent
    if store != options.data and not (
        options.database_url and options.redis_url and options.hot_url
    ):
        rows.append(("Databases", str(store)))  # outside of a closed home of root
    return [
        *rows,
        ("Admin", f"{base}/admin/"),
        ("API docs", f"{base}/api/docs/"),
        ("Data folder", str(options.data)),
        ("Logs", str(options.data / "logs")),
        ("Stop", "Ctrl-C; data are kept"),
    ]
