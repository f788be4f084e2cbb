"""Checks for obstacles before anything starts."""

import errno
import ipaddress
import socket

from dashboard.configuration.import_path import agents_folder
from gatepost_command import COMMAND

from .arguments import UpOptions
from .process.folders import EmbeddedError

NO_AGENTS = "The package gatepost-agents is not installed"


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_agents(options: UpOptions) -> None:
    """Raises EmbeddedError for a fleet without the agents that ship."""
    if options.fleet and agents_folder() is None:
        raise EmbeddedError(
            f"A fleet is of the agents that ship. {NO_AGENTS}: install it, or leave out --fleet."
        )


def check_address(options: UpOptions) -> None:
    """Raises EmbeddedError when the port is taken or the address is not for demo logins."""
    if not is_loopback(options.host) and (options.demo or options.logins_file.exists()):
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
            raise EmbeddedError(_in_the_way(options, error)) from error


def _in_the_way(options: UpOptions, error: OSError) -> str:
    if error.errno in (errno.EADDRINUSE, errno.EACCES):
        why = "in use" if error.errno == errno.EADDRINUSE else "not allowed for this user"
        other = options.port + 1 if 1024 <= options.port < 65535 else 8000
        return (
            f"Port {options.port} is {why}: stop what runs there, or choose another, for example "
            f"`{COMMAND} up --port {other}`."
        )
    return f"The address {options.host} cannot be used here ({error.strerror}): try 127.0.0.1."
