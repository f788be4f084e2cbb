"""`python -m tests.contract.clients.frameworks.langgraph.suite` runs its tests on our saver."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    test = str(Path(__file__).with_name("test_suite.py"))
    sys.exit(pytest.main(["-q", "-s", "-p", "no:xdist", test]))
