"""The key that signs logins and links: made once, kept in the data folder for its owner."""

import os
import secrets
import tempfile
from pathlib import Path


def secret_key(data: Path) -> str:
    """The data folder's key; made at the first call, also when several processes call at once."""
    path = data / "secret-key"
    if not path.exists():
        data.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=data, prefix=".secret-key-")  # 0600 from birth
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(scratch, path)  # fails when another process was quicker: then its key counts
        except FileExistsError:
            pass
        finally:
            os.unlink(scratch)
    return path.read_text().strip()
