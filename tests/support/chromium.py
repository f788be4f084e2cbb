"""Where this machine keeps its Chromium."""

import os
import shutil
from functools import cache
from pathlib import Path

from playwright.sync_api import expect

PATIENCE = 40_000  # milliseconds: a step may take long on a machine that does much else
expect.set_options(timeout=PATIENCE)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The same engine without windows: browser tests take a quarter less processor time.
SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
# The last switch of a name counts, so these stand here again: what Playwright switches off itself.
_OF_PLAYWRIGHT = (
    "AimEnabled",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
# Two pages of the address bar that nobody sees: 0.7 s of a processor for each window.
_ADDRESS_BAR = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
# No container lets root have a sandbox, and nothing here may talk to anybody but the product.
FLAGS = (
    *(("--no-sandbox",) if os.geteuid() == 0 else ()),
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join((*_OF_PLAYWRIGHT, *_ADDRESS_BAR))}",
)
MAC = ("/Applications/Chromium.app/Contents/MacOS/Chromium",)


@cache
def find_chromium(*, windows: bool = False) -> str | None:
    """The path of a Chromium, from GATEPOST_CHROMIUM or the usual places; None without one.

    `windows`: for what its headless shell does not have, such as notifications.
    """
    named = os.environ.get("GATEPOST_CHROMIUM")
    names = NAMES if windows else (*SHELLS, *NAMES)
    result = (named, *map(shutil.which, names), *(path for path in MAC if Path(path).exists()))
    return next((path for path in result if path), None)
