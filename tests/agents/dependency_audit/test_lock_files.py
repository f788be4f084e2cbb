"""Lock files of all tools name the same packages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dependency_audit.lock_files import UnreadableLock, normal, packages_of

FORMS = {
    "requirements.txt": """
# locked
--index-url https://example.org/simple
Django==6.1.3 \\
    --hash=sha256:00
redis[hiredis]==8.1.0 ; python_version >= "3.9"  # why
open>=1.0
gitted @ git+https://example.org/x.git@abc
""",
    "uv.lock": """
version = 1
[[package]]
name = "django"
version = "6.1.3"
source = { registry = "https://example.org/simple" }
[[package]]
name = "redis"
version = "8.1.0"
[[package]]
name = "open"
[[package]]
name = "gitted"
version = "1.0"
source = { git = "https://example.org/x.git" }
[[package]]
name = "mine"
version = "0.1"
source = { editable = "." }
""",
    "pylock.toml": """
lock-version = "1.0"
[[packages]]
name = "django"
version = "6.1.3"
[[packages]]
name = "redis"
version = "8.1.0"
[[packages]]
name = "open"
[[packages]]
name = "gitted"
vcs = { type = "git", url = "https://example.org/x.git" }
""",
    "Pipfile.lock": """
{"default": {"django": {"version": "==6.1.3"}, "redis": {"version": "==8.1.0"},
 "gitted": {"git": "https://example.org/x.git"}}, "develop": {"open": {"version": "*"}}}
""",
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_names_packages_versions_and_sources(name: str) -> None:
    results = {row["name"].lower(): row for row in packages_of(FORMS[name].encode(), name)}
    assert list(results) == ["django", "gitted", "open", "redis"]
    assert results["django"]["version"] == "6.1.3"
    assert results["redis"]["version"] == "8.1.0"
    assert (results["open"]["version"], results["open"]["pinned"]) == ("", False)
    assert "example.org/x.git" in results["gitted"]["source"]
    assert results["gitted"]["pinned"]


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("empty.txt", b"", "names no package"),
        ("x.lock", b"[[package]\n", "not TOML"),
        ("Pipfile.lock", b"{", "not JSON"),
        ("image.png", b"\x89PNG\xff", "isn't a text file"),
        ("large.txt", b"a==1\n" * (2 << 20), "larger than"),
    ],
    ids=["empty", "toml", "json", "binary", "large"],
)
def test_what_is_no_lock_file_is_refused_with_a_cure(name: str, raw: bytes, reason: str) -> None:
    with pytest.raises(UnreadableLock, match=reason):
        packages_of(raw, name)


SEVERAL = {
    "uv.lock": """version = 1
[[package]]
name = "numpy"
version = "1.26.4"
resolution-markers = ["python_full_version < '3.10'"]
[[package]]
name = "numpy"
version = "2.1.0"
[[package]]
name = "wheelhouse"
version = "1.0"
""",
    "requirements.txt": """numpy==1.26.4 ; python_version < '3.10'
numpy==2.1.0
wheelhouse==1.0
Numpy
""",
}


@pytest.mark.parametrize("name", SEVERAL)
def test_each_version_of_a_package_is_listed(name: str) -> None:
    rows = [(row["name"], row["version"]) for row in packages_of(SEVERAL[name].encode(), name)]
    assert rows == [("numpy", "1.26.4"), ("numpy", "2.1.0"), ("wheelhouse", "1.0")]


@given(raw=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)),
       name=st.sampled_from([*FORMS, "x"]))  # fmt: skip
def test_any_bytes_are_read_or_refused(raw: bytes, name: str) -> None:
    try:
        results: list[dict[str, Any]] = packages_of(raw, name)
    except UnreadableLock:
        return
    keys = [(normal(row["name"]), row["version"], row["source"]) for row in results]
    assert keys == sorted(set(keys))
    assert all(set(row) == {"name", "version", "pinned", "source"} for row in results)
