"""The address of `up`, noted in the data folder for commands in other terminals."""

from pathlib import Path

NAME = "address"


def of(host: str, port: int) -> str:
    """The address of the dashboard; one that listens everywhere is reached here too."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
        host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def note(data: Path, host: str, port: int) -> None:
    """Remember it; two lines: the address to call, the host listened on."""
    (data / NAME).write_text(f"{of(host, port)}\n{host}\n")


def noted(data: Path) -> str:
    """The address of the `up` that worked here last, or nothing."""
    return _line(data, 0)


def noted_host(data: Path) -> str:
    """The host that it listened on, or nothing."""
    return _line(data, 1)


def forget(data: Path) -> None:
    """Nobody listens now."""
    (data / NAME).unlink(missing_ok=True)


def _line(data: Path, number: int) -> str:
    try:
        return (data / NAME).read_text().splitlines()[number]
    except (OSError, IndexError, UnicodeDecodeError):
        return ""
