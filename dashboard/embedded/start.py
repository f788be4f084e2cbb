"""What `up` does: check, start the parts in order, wait for real answers, show the table, stay."""

import errno
import http.client
import ipaddress
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from django.core.management import call_command
from django.db import OperationalError, connection

from dashboard.embedded import demo
from dashboard.embedded.arguments import UpOptions
from dashboard.embedded.console import Console
from dashboard.embedded.folders import EmbeddedError, folders, prepare
from dashboard.embedded.lock import DataLock
from dashboard.embedded.parts import Web, Worker
from dashboard.embedded.postgres import Postgres
from dashboard.embedded.supervisor import Stopped, Supervisor
from dashboard.embedded.valkey import Valkey
from dashboard.errors import ActionError
from dashboard.logs import masked

# A worker at rest ends in a second; one in a long activity is cut off, which the lease is made for.
WORKER_PATIENCE, WEB_PATIENCE, SERVER_PATIENCE = 2.0, 1.5, 4.0


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(options: UpOptions) -> None:
    """Raises EmbeddedError when the port is taken or the address is not for demo logins."""
    if not is_loopback(options.host) and (options.demo or demo.logins_file(options.data).exists()):
        raise EmbeddedError(
            f"Demo logins are for this machine only, {options.host} is open to others: use "
            "--host 127.0.0.1, or a fresh --data-dir with --no-demo."
        )
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((options.host, options.port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                why = "in use" if error.errno == errno.EADDRINUSE else "not allowed for this user"
                raise EmbeddedError(
                    f"Port {options.port} is {why}: stop what works there, or choose another, for "
                    f"example `make up PORT={options.port + 1 if options.port < 65535 else 8000}`."
                ) from error
            raise EmbeddedError(
                f"The address {options.host} cannot be used here ({error.strerror}): try 127.0.0.1."
            ) from error


def run(options: UpOptions, console: Console) -> None:
    """Start everything and stay until asked to stop.

    Raises EmbeddedError with one sentence when something is in the way.
    """
    began = time.monotonic()
    check_address(options)
    places = folders(options.data)
    prepare(places)
    lock = DataLock(options.data).take()
    supervisor = Supervisor(tell=console.complain, lock_handle=lock.handle)
    try:
        _start_all(options, console, supervisor)
        seconds = time.monotonic() - began
        console.say(f"\n  Ready in {seconds:.1f} s\n")
        console.table(_table(options))
        console.say()
        supervisor.keep()
    except Stopped:
        pass
    finally:
        asked = time.monotonic()
        console.say("\n  Stopping ...")
        supervisor.stop()
        lock.release()
        console.say(f"  Stopped in {time.monotonic() - asked:.1f} s. Data are kept.")


def _start_all(options: UpOptions, console: Console, supervisor: Supervisor) -> None:
    places = folders(options.data)
    if not options.database_url:
        with console.part("PostgreSQL"):
            postgres = Postgres(places)
            supervisor.start(postgres, stop_signal=signal.SIGINT, patience=SERVER_PATIENCE)
            postgres.wait(check=supervisor.check)
            postgres.create_database()
    if not options.redis_url:
        with console.part("Valkey"):
            valkey = Valkey(places)
            supervisor.start(valkey, stop_signal=signal.SIGTERM, patience=SERVER_PATIENCE)
            valkey.wait(check=supervisor.check)
    with console.part("tables"):
        try:
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        except OperationalError as error:
            reason = str(error).strip().splitlines()[0]
            raise EmbeddedError(f"PostgreSQL refuses the connection: {masked(reason)}") from error
    supervisor.check()
    if options.demo:
        with console.part("demo logins"):
            demo.create_logins(options.data)
    if not is_loopback(options.host) and demo.logins_exist():
        raise EmbeddedError(
            f"This database has demo logins and {options.host} is open to others: use "
            "--host 127.0.0.1, or a database without them."
        )
    connection.close()

    web, worker = Web(options), Worker(options)
    with console.part("web"):
        web_process = supervisor.start(web, stop_signal=signal.SIGTERM, patience=WEB_PATIENCE)
        worker_process = supervisor.start(
            worker, stop_signal=signal.SIGTERM, patience=WORKER_PATIENCE
        )
        _wait(
            lambda: _page_answers(options),
            ended=lambda: web_process.poll() is not None,
            name="The web server",
            log=web.log,
            supervisor=supervisor,
        )
    with console.part(f"worker with {options.workers} slot{'s' * (options.workers > 1)}"):
        _wait(
            lambda: bool(select.select([worker.ready], [], [], 0)[0]),
            ended=lambda: worker_process.poll() is not None,
            name="The worker",
            log=worker.log,
            supervisor=supervisor,
        )
        _wait(
            _worker_answers,
            ended=lambda: worker_process.poll() is not None,
            name="The worker",
            log=worker.log,
            supervisor=supervisor,
        )
    if options.demo:
        try:
            demo.seed()
        except ActionError as error:
            console.complain(f"The demo's threads were not started: {error}")
        connection.close()


def _wait(
    answers: Callable[[], bool],
    *,
    ended: Callable[[], bool],
    name: str,
    log: Path,
    supervisor: Supervisor,
    timeout: float = 60.0,
) -> None:
    deadline = time.monotonic() + timeout
    while True:
        supervisor.check()
        if ended():
            raise EmbeddedError(f"{name} ended while starting: {_last_line(log)} (log: {log})")
        if answers():
            return
        if time.monotonic() > deadline:
            raise EmbeddedError(f"{name} does not answer; its log says why: {log}")
        time.sleep(0.02)


def _last_line(log: Path) -> str:
    try:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "no log"
    return lines[-1].strip()[:300] if lines else "no reason given"


def _page_answers(options: UpOptions) -> bool:
    """Liveness first, then a page that people see, so that nobody meets a cold template."""
    host = options.host if is_loopback(options.host) else "127.0.0.1"
    for path in ("/healthz", "/login/"):
        page = http.client.HTTPConnection(host, options.port, timeout=10)
        try:
            page.request("GET", path, headers={"Host": f"localhost:{options.port}"})
            if page.getresponse().status != 200:
                return False
        except (OSError, http.client.HTTPException):
            return False
        finally:
            page.close()
    return True


def _worker_answers() -> bool:
    """One ping that returns with the first answer."""
    from workers.celery import app

    return bool(app.control.ping(timeout=1.0, limit=1))


def _table(options: UpOptions) -> list[tuple[str, str]]:
    shown = f"[{options.host}]" if ":" in options.host else options.host
    base = f"http://{shown}:{options.port}"
    rows = []
    if options.demo:
        rows.append(
            ("Dashboard", base + demo.login_path("operator") + "   (signs in once, as operator)")
        )
        rows.append(("More logins", f"manager, auditor: {demo.logins_file(options.data)}"))
    else:
        rows.append(("Dashboard", f"{base}/"))
        if not demo.anyone_exists():
            rows.append(("First user", f"{_manage()} createsuperuser"))
    connection.close()
    rows += [
        ("Admin", f"{base}/admin/"),
        ("API docs", f"{base}/api/docs/"),
        ("Data folder", str(options.data)),
        *_elsewhere(options),
        ("Logs", str(options.data / "logs")),
        ("Stop", "Ctrl-C; data are kept"),
    ]
    return rows


def _elsewhere(options: UpOptions) -> list[tuple[str, str]]:
    """Under a closed home of root the servers keep their files in a place of their own."""
    store = folders(options.data).postgres.parent
    embedded = not (options.database_url and options.redis_url)
    return [("Databases", str(store))] if embedded and store != options.data else []


def _manage() -> str:
    python = os.path.relpath(sys.executable)
    return f"{python if not python.startswith('..') else sys.executable} manage.py"
