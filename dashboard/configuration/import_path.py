"""The location of Gatepost: in a clone, or installed among an environment's packages."""

import os
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def is_installed() -> bool:
    """True if every Python of this environment can import Gatepost."""
    paths = sysconfig.get_paths()
    return ROOT in {Path(paths[name]).resolve() for name in ("purelib", "platlib")}


def python_path() -> str:
    """PYTHONPATH of a child process: that of this one, after the clone where there is one."""
    # Never a folder of packages: it would come before the standard library.
    clone = () if is_installed() else (str(ROOT), str(ROOT / "agents"))
    return os.pathsep.join(filter(None, (*clone, os.environ.get("PYTHONPATH", ""))))


def agents_folder() -> Path | None:
    """The folder that holds `gatepost_agents`, the agents that ship; None if not installed."""
    spec = find_spec("gatepost_agents")
    return Path(spec.origin).parents[1] if spec and spec.origin else None


def templates_folder() -> Path:
    """The templates: beside the packages in a clone, inside `dashboard` in a wheel."""
    inside = ROOT / "dashboard" / "templates"
    return inside if inside.is_dir() else ROOT / "templates"
