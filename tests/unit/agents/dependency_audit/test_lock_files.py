"""Lock files of all tools name the same packages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost_agents.dependency_audit.lock_files import UnreadableLock, normal, packages_of

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
    results = {row["name"].lower(): row for row in packages_of(FORMS[name].encode(), name)[0]}
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
    rows = [(row["name"], row["version"]) for row in packages_of(SEVERAL[name].encode(), name)[0]]
    assert rows == [("numpy", "1.26.4"), ("numpy", "2.1.0"), ("wheelhouse", "1.0")]


# {a line: what is made of it; "" where it names no package}
LINES = {
    "-r base.txt": "unread", "-rbase.txt": "unread", "--requirement base.txt": "unread",
    "-c limits.txt": "unread", "-e .": "unread", "-e git+https://example.org/x.git#egg=x": "unread",
    "./wheels/x-1.0-py3-none-any.whl": "unread", "https://example.org/x-1.0.tar.gz": "unread",
    "git+https://example.org/x.git": "unread", "x 1.0": "unread", "x=1.0": "unread",
    "x==": "unread", "dependencies:": "unread", "  - numpy=1.26": "unread", "[packages]": "unread",
    "x = \"*\"": "unread", "<<<<<<< HEAD": "unread", "${X}==1.0": "unread",
    "# a comment": "", "": "", "--index-url https://example.org/simple": "", "--pre": "",
    "-i https://example.org/simple": "", "--find-links=wheels": "", "--no-binary :all:": "",
    "x==1.0": "1.0", "x[a,b]==1.0 ; python_version > '3'": "1.0", "x===1.0": "1.0",
    "x==1.0 --hash=sha256:00": "1.0", "x (==1.0)": "1.0", "x==1.*": "unpinned",
    "x>=1,<2": "unpinned", "x~=1.4": "unpinned", "x!=1.5": "unpinned", "x": "unpinned",
    "x @ https://example.org/x.whl": "sourced", "x@ git+https://example.org/x.git": "sourced",
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_each_line_of_requirements_is_read_or_named(line: str) -> None:
    raw = f"first==1\n# two\nopen\\\n==2\n{line}\nlast==3\n".encode()
    packages, unread = packages_of(raw, "requirements.txt")
    rows = {row["name"]: row for row in packages}
    assert {"first", "open", "last"} <= rows.keys()
    assert unread == ([f"line 5: {line.strip()}"] if LINES[line] == "unread" else [])
    assert ("x" in rows) == (LINES[line] not in ("", "unread"))
    if "x" in rows:
        one = rows["x"]
        kind = "sourced" if one["source"] else one["version"] or "unpinned"
        assert kind == LINES[line]
        assert one["pinned"] == (kind != "unpinned")


ENTRIES = {
    "uv.lock": ("""[[package]]
name = "a"
version = "1"
[[package]]
name = "mine"
source = { editable = "." }
[[package]]
name = "other"
source = { directory = "../other" }
[[package]]
version = "2"
""", ["package 3: other, a folder (../other)", 'package 4: {"version": "2"}']),
    "poetry.lock": ("""[[package]]
name = "a"
version = "1"
[[package]]
name = "other"
version = "1"
source = { type = "directory", url = "../other" }
""", ["package 2: other, a folder (../other)"]),
    "pylock.toml": ("""[[packages]]
name = "a"
version = "1"
[[packages]]
name = "other"
directory = { path = "../other" }
""", ["package 2: other, a folder (../other)"]),
    "Pipfile.lock": ("""{"_meta": {}, "default": {"a": {"version": "==1"}, "b": 3, "other":
{"path": "../other"}, "mine": {"path": "."}}, "docs": {"c": {"version": "==2"}}, "x": []}""",
        ["default: b: 3", "default: other, a folder (../other)", "x: []"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
def test_each_entry_of_a_lock_is_read_or_named(name: str) -> None:
    raw, expected = ENTRIES[name]
    packages, unread = packages_of(raw.encode(), name)
    assert unread == expected
    assert [row["name"] for row in packages] == (["a", "c"] if "Pipfile" in name else ["a"])


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("package-lock.json", '{"name": "x", "lockfileVersion": 3, "packages": {"": {}}}'),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["a==1"]\n'),
        ("base.txt", "-r other.txt\n"),
    ],
)
def test_a_file_without_a_package_is_refused(name: str, raw: str) -> None:
    with pytest.raises(UnreadableLock, match="names no package"):
        packages_of(raw.encode(), name)


@given(raw=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)),
       name=st.sampled_from([*FORMS, "x"]))  # fmt: skip
def test_any_bytes_are_read_or_refused(raw: bytes, name: str) -> None:
    try:
        results, unread = packages_of(raw, name)
    except UnreadableLock:
        return
    keys = [(normal(row["name"]), row["version"], row["source"]) for row in results]
    assert keys == sorted(set(keys))
    assert all(isinstance(line, str) for line in unread)
    assert all(set(row) == {"name", "version", "pinned", "source"} for row in results)
