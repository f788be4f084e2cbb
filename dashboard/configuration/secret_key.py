"""Keys that sign: made once, kept in the data folder for its owner."""

import os
import secrets
import tempfile
from pathlib import Path


def secret_key(data: Path) -> str:
    """The key that signs logins and links."""
    return kept_key(data, "secret-key")


def kept_key(data: Path, name: str) -> str:
    """A key of the data folder; made at the first call, even if several processes call together."""
    path = data / name
    if not path.exists():
        data.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=data, prefix=f".{name}-")  # 0600 from the start
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(scratch, path)  # fails when another process was quicker: then its key counts
        except FileExistsError:
            pass
        finally:
            os.unlink(scratch)
    return path.read_text().strip()
